/** Routes of engines. The shapes are documented in `protocol/engine/engine.ts`. */
import { fault } from '@windlass/kit'
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
  FrameHead,
  GitAccess,
  GitAccessQuery,
  Heartbeat,
  HeartbeatAnswer,
  MAX_FRAME_BYTES,
} from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../../app.ts'
import { awaitCommands, awaitDockerHost, heartbeat } from '../../../builds/engine/engine-link.ts'
import { claimAttempt } from '../../../builds/engine/engine-claim.ts'
import { applyEvents } from '../../../builds/engine/events.ts'
import { requireGitAccess } from '../../../contexts/git-login.ts'
import { takeDocument } from '../../../documents/take-document.ts'
import type { Actor } from '../../../identity/actor.ts'
import type { Frame } from '../../../logs/log-store.ts'
import { attemptOfPair, awaitBuild } from '../../../warm/pairs.ts'
import { ok, route, type Route } from '../../route.ts'
import type { AttemptKey } from '../../../store/builds/attempts.ts'

const MAX_BATCH_BYTES = 16_777_216
/** How long engines collect output while the build is followed. Milliseconds. */
const FOLLOWED_FLUSH_MS = 100
/** Frames that an engine may send before the answer to the first. The server receives them while it stores earlier ones, and stores them together. */
const FRAMES_IN_FLIGHT = 4
/** Frames of an attempt that the server takes at once. An engine repeats its frames if their connection breaks, while the server still has the first ones. */
const MAX_FRAMES = 2 * FRAMES_IN_FLIGHT

function attemptOf(actor: Actor): AttemptKey {
  if (actor.kind !== 'attempt' && actor.kind !== 'bootstrap') throw fault('forbidden')
  return { buildId: actor.buildId, attempt: actor.attempt }
}

export function engineRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/engine/claim', {
      summary: 'Exchange a bootstrap credential for the plan and an attempt token',
      allow: 'bootstrap',
      scope: 'none',
      body: EngineClaim,
      replies: { 200: EngineClaimed },
      handle: async ({ body, actor }) =>
        ok(await claimAttempt(app, await attemptOfPair(app.store.query, attemptOf(actor)), body)),
    }),
    route('POST', '/v1/engine/wait', {
      summary: 'Wait for a build as the engine of a warm pair',
      allow: 'bootstrap',
      scope: 'none',
      body: EngineWait,
      replies: { 200: EngineWaited },
      isHeld: true,
      handle: async ({ body: { waitMs }, actor, signal }) =>
        ok({ assigned: await awaitBuild(app, attemptOf(actor).buildId, { waitMs, signal }) }),
    }),
    route('POST', '/v1/engine/document', {
      summary: 'Send the document of a plan whose steps are in a repository; returns the plan',
      allow: 'attempt',
      scope: 'none',
      readsDocument: true,
      body: EngineDocument,
      maxBodyBytes: 2 * 1_048_576 + 1024,
      replies: { 200: EngineDocumentAnswer },
      handle: async ({ body, actor }) => ok(await takeDocument(app, attemptOf(actor), body.text)),
    }),
    route('POST', '/v1/engine/events', {
      summary: 'Report events of an attempt',
      // The response to the last event may have been lost. Other events of an ended attempt are refused.
      allow: 'any-attempt',
      scope: 'none',
      body: EventBatch,
      maxBodyBytes: MAX_BATCH_BYTES,
      replies: { 200: EventAck },
      handle: async ({ body, actor }) => ok({ ackSeq: await applyEvents(app, attemptOf(actor), body.events) }),
    }),
    route('POST', '/v1/engine/logs', {
      summary: 'Send a frame of log',
      allow: 'attempt',
      scope: 'none',
      rawBody: ['application/octet-stream'],
      maxBodyBytes: MAX_FRAME_BYTES,
      callsAtOnce: MAX_FRAMES,
      replies: { 200: FrameAck },
      handle: async ({ rawBody, headers, actor, signal }) => {
        const { ahead, ...head } = readHead(headers)
        const frame = { ...attemptOf(actor), ...head, bytes: rawBody }
        return ok(await takeFrame(app, frame, ahead === undefined ? undefined : signal))
      },
    }),
    route('POST', '/v1/engine/heartbeat', {
      summary: 'Send a heartbeat of an attempt',
      allow: 'attempt',
      scope: 'none',
      body: Heartbeat,
      replies: { 200: HeartbeatAnswer },
      handle: async ({ body, actor }) => ok({ leaseMs: await heartbeat(app, attemptOf(actor), body) }),
    }),
    route('GET', '/v1/engine/commands', {
      summary: 'Wait for commands for an attempt',
      allow: 'attempt',
      scope: 'none',
      query: CommandQuery,
      replies: { 200: CommandList },
      isHeld: true,
      handle: async ({ query, actor, signal }) =>
        ok({ commands: await awaitCommands(app, attemptOf(actor), { ...query, signal }) }),
    }),
    route('GET', '/v1/engine/git', {
      summary: 'Show the access of a Git context, with a token that has not expired',
      allow: 'attempt',
      scope: 'none',
      query: GitAccessQuery,
      replies: { 200: GitAccess },
      handle: async ({ query }) => ok(await requireGitAccess(app, query.context)),
    }),
    route('GET', '/v1/engine/docker', {
      summary: 'Wait for the address of the Docker daemon of an attempt',
      allow: 'attempt',
      scope: 'none',
      query: DockerQuery,
      replies: { 200: DockerAddress },
      isHeld: true,
      handle: async ({ query, actor, signal }) => {
        const host = await awaitDockerHost(app, attemptOf(actor), { ...query, signal })
        return ok(host === undefined ? {} : { host })
      },
    }),
  ]
}

async function takeFrame(app: App, frame: Frame, ahead: AbortSignal | undefined): Promise<z.input<typeof FrameAck>> {
  const { end, isFollowed } = await app.logs.append(frame, ahead)
  return { offset: end, flushMs: isFollowed ? FOLLOWED_FLUSH_MS : app.logFlushMs, inFlight: FRAMES_IN_FLIGHT }
}

function readHead(headers: Readonly<Record<string, string | string[] | undefined>>): FrameHead {
  const head = FrameHead.safeParse({
    stream: decode(headers['x-windlass-stream']),
    offset: headers['x-windlass-offset'],
    sha256: headers['x-windlass-sha256'],
    at: headers['x-windlass-at'],
    ahead: headers['x-windlass-ahead'],
  })
  if (head.success) return head.data
  const problems = head.error.issues.map(({ path, message }) => ({ path: `x-windlass-${path.join('.')}`, message }))
  throw fault('request-invalid', {
    message: `The headers of the frame are invalid: ${problems[0]?.path} ${problems[0]?.message}.`,
    problems,
  })
}

/** Decodes a percent-encoded header value. Step names may contain any character, header values may not. */
function decode(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
