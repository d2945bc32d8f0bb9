/** The calls of an engine. */
import {
  CommandList,
  CommandQuery,
  DockerAddress,
  DockerQuery,
  EngineClaim,
  EngineClaimed,
  EngineDocument,
  EngineDocumentAnswer,
  EngineWait,
  EngineWaited,
  EventAck,
  EventBatch,
  FrameAck,
  GitAccess,
  GitAccessQuery,
  Heartbeat,
  HeartbeatAnswer,
  IdToken,
  IdTokenQuery,
  TerminalOutput,
  TerminalOutputAck,
  TerminalQuery,
  type Client,
} from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

export const ENGINE_ROUTES = {
  /** Exchanges the bootstrap credential for the plan and a token. May be repeated with the same `claimKey` if the response was lost. */
  claim: route('POST', '/v1/engine/claim', { body: EngineClaim, answer: EngineClaimed }),
  /** Waits for a build as the engine of a warm pair. */
  wait: route('POST', '/v1/engine/wait', { body: EngineWait, answer: EngineWaited }),
  /** Sends the document of a plan whose steps are in a repository. May be repeated. */
  sendDocument: route('POST', '/v1/engine/document', { body: EngineDocument, answer: EngineDocumentAnswer }),
  sendEvents: route('POST', '/v1/engine/events', { body: EventBatch, answer: EventAck }),
  /** Sends a frame of log; its `FrameHead` is in the headers `x-windlass-*`. Returns the new end of the stored stream. */
  sendFrame: route('POST', '/v1/engine/logs', { body: 'bytes', answer: FrameAck }),
  heartbeat: route('POST', '/v1/engine/heartbeat', { body: Heartbeat, answer: HeartbeatAnswer }),
  /** Issues an ID token for the build of the engine. */
  idToken: route('GET', '/v1/oidc/token', { query: IdTokenQuery, answer: IdToken }),
  /** Returns the access of a Git context whose password the server renews. */
  gitAccess: route('GET', '/v1/engine/git', { query: GitAccessQuery, answer: GitAccess }),
  /** Waits for commands after a number. */
  commands: route('GET', '/v1/engine/commands', { query: CommandQuery, answer: CommandList }),
  /** Waits for the address of the Docker daemon of the attempt. */
  docker: route('GET', '/v1/engine/docker', { query: DockerQuery, answer: DockerAddress }),
  /** Follows the input of a terminal: `input` with a `TerminalPart` and a number as id, and `end`. */
  followTerminal: route('GET', '/v1/engine/terminals/{terminal}/input', { query: TerminalQuery, answer: 'events' }),
  /** Sends output of a terminal, acknowledges its input, or reports its end. */
  sendOutput: route('POST', '/v1/engine/terminals/{terminal}/output', { body: TerminalOutput, answer: TerminalOutputAck }),
}

export type EngineCalls = Calls<typeof ENGINE_ROUTES>

/** Returns the calls of the engine whose credential the client has. */
export function engineCalls(client: Client): EngineCalls {
  return bindCalls(client, ENGINE_ROUTES)
}
