/** One engine against a server: claims its attempt, runs it, reports, and ends. */
import { fault, type Clock, type Logger } from '@windlass/kit'
import type { AttemptOutcome } from '@windlass/protocol'
import type { AttemptInput, LocalSource } from './attempt/input.ts'
import type { Docker } from './docker/docker.ts'
import type { Sink } from './report/sink.ts'

export interface EngineOptions {
  readonly serverUrl: string
  /** Credential for one exchange at `/v1/engine/claim`. */
  readonly bootstrap: string
  /** How to reach the daemon; without DOCKER_HOST, and with `askDockerHost`, the server is asked for its address. */
  readonly dockerEnv: Readonly<Record<string, string | undefined>>
  readonly askDockerHost?: boolean | undefined
  /** A folder of this engine alone; emptied when everything was acknowledged. */
  readonly spoolDir: string
  /** PEM file of further certificate authorities of the server. */
  readonly caFile?: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly toolsImage?: string | undefined
}

/** `reported`: the server has the outcome and all log bytes. `fenced`: another attempt took over. `stopped`: by `stop()`, nothing reported. */
export type EngineEnd =
  | { readonly end: 'reported'; readonly outcome: AttemptOutcome }
  | { readonly end: 'fenced' }
  | { readonly end: 'stopped' }

export interface RunningEngine {
  /** Resolves when the engine is done and holds nothing any more. Rejects with a fault when it could not begin (e.g. `claim-used`). */
  readonly ended: Promise<EngineEnd>
  /** Stops the containers of the attempt and reports nothing final; the server judges the attempt. Resolves when done. */
  stop(): Promise<void>
}

/** Starts an engine in this process; returns at once. */
export function startEngine(_options: EngineOptions): RunningEngine {
  throw fault('internal', { message: 'The engine is not there yet.' })
}

export interface LocalRunOptions {
  readonly input: AttemptInput
  readonly docker: Docker
  /** Takes events and frames; what it throws ends the run. */
  readonly sink: Sink
  readonly spoolDir: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborted by the person who started the run: the running step is stopped and the outcome is `terminated`. */
  readonly cancel: AbortSignal
  readonly source?: LocalSource | undefined
  readonly toolsImage?: string | undefined
}

/** Runs a plan without a server. Resolves when the sink has everything. */
export async function runLocally(_options: LocalRunOptions): Promise<AttemptOutcome> {
  throw fault('internal', { message: 'The engine is not there yet.' })
}
