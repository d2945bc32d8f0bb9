/** Runs a plan on the local Docker daemon without a server. */
import { join } from 'node:path'
import { openJournal } from '@windlass/journal'
import { aborted, type Clock, type Logger } from '@windlass/kit'
import type { AttemptOutcome, Command, EngineEvent } from '@windlass/protocol'
import type { AttemptInput, LocalSource } from './attempt/input.ts'
import { runAttempt } from './run/run.ts'
import type { Docker } from './docker/docker.ts'
import { startDrain } from './report/drain.ts'
import { readSpooled } from './report/refused.ts'
import type { Sink } from './report/sink.ts'
import type { DebugLink } from './debug/link.ts'

export interface LocalRunOptions {
  readonly input: AttemptInput
  readonly docker: Docker
  /** Takes events and frames. An error from it ends the run. */
  readonly sink: Sink
  /** A folder for this run only. Its contents are removed. */
  readonly spoolDir: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborted by the user: the running step is stopped and the outcome is `terminated`. */
  readonly cancel: AbortSignal
  readonly debug?: DebugLink | undefined
  readonly source?: LocalSource | undefined
  /** Run only these steps; skip these. */
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  readonly toolsImage?: string | undefined
}

const SPOOL_BYTES = 1024 ** 3

/** Runs a plan. Resolves when the sink has everything. Rejects with the error of the sink. */
export async function runLocally(options: LocalRunOptions): Promise<AttemptOutcome> {
  const { clock, log, input, docker, debug, source, only, skip, toolsImage } = options
  const end = new AbortController()
  const journal = await openJournal<EngineEvent>({
    dir: join(options.spoolDir, 'journal'),
    clock,
    limitBytes: SPOOL_BYTES,
    decode: readSpooled,
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
    // Without an outcome the drain has failed, so `finish` has thrown already.
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
  await aborted(AbortSignal.any([cancel, signal]))
  if (cancel.aborted) yield { id: 1, type: 'terminate', reason: 'cancelled', at: clock.now() }
}
