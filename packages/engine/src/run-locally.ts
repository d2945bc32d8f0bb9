/** A plan on this machine's Docker without a server. */
import { join } from 'node:path'
import { openJournal } from '@windlass/journal'
import type { Clock, Logger } from '@windlass/kit'
import { EngineEvent, type AttemptOutcome, type Command } from '@windlass/protocol'
import type { AttemptInput, LocalSource } from './attempt/input.ts'
import { runAttempt } from './attempt/run.ts'
import type { DebugLink } from './debug/debugger.ts'
import type { Docker } from './docker/docker.ts'
import { startDrain } from './report/drain.ts'
import type { Sink } from './report/sink.ts'

export interface LocalRunOptions {
  readonly input: AttemptInput
  readonly docker: Docker
  /** Takes events and frames; what it throws ends the run. */
  readonly sink: Sink
  /** A folder of this run alone; what is in it is removed. */
  readonly spoolDir: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborted by the person who started the run: the running step is stopped and the outcome is `terminated`. */
  readonly cancel: AbortSignal
  readonly debug?: DebugLink | undefined
  readonly source?: LocalSource | undefined
  /** Run these steps alone; leave these out. */
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  readonly toolsImage?: string | undefined
}

const SPOOL_BYTES = 1024 ** 3

/** Runs a plan. Resolves when the sink has everything; rejects with what the sink threw. */
export async function runLocally(options: LocalRunOptions): Promise<AttemptOutcome> {
  const { clock, log, input, docker, debug, source, only, skip, toolsImage } = options
  const end = new AbortController()
  const journal = await openJournal<EngineEvent>({
    dir: join(options.spoolDir, 'journal'),
    clock,
    limitBytes: SPOOL_BYTES,
    decode: (value) => EngineEvent.parse(value),
  })
  const drain = startDrain({ journal, sink: options.sink, clock, log, signal: end.signal })
  const broken = new AbortController()
  drain.failed.catch((error: unknown) => broken.abort(error))
  const commands = cancelCommand(options.cancel, { clock, signal: end.signal })
  try {
    const outcome = await runAttempt({
      input,
      docker,
      journal,
      clock,
      log,
      signal: broken.signal,
      commands,
      debug,
      source,
      only,
      skip,
      hostFiles: true,
      toolsImage,
    })
    await drain.finish()
    // Without an outcome the drain has failed, and `finish` has thrown.
    return outcome ?? { status: 'terminated', reason: 'cancelled' }
  } finally {
    end.abort()
    await journal.remove()
  }
}

async function* cancelCommand(
  cancel: AbortSignal,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<Command> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const either of [cancel, signal]) {
    either.addEventListener('abort', () => resolve(), { once: true })
    if (either.aborted) resolve()
  }
  await promise
  if (cancel.aborted) yield { id: 1, type: 'terminate', reason: 'cancelled', at: clock.now() }
}
