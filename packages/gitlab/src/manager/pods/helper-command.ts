/** Runs a command in the helper of a job until it succeeds. */
import { retry, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'

export interface HelperCommand {
  readonly kube: Pick<Kube, 'exec'>
  readonly pod: ObjectRef
  readonly command: readonly string[]
  /** What cannot be done when the command fails, for the log: `cancel the job`. */
  readonly what: string
  /** Maximum number of tries. Default: until the job has ended. */
  readonly tries?: number
  readonly jobId: number
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly signal: AbortSignal
}

/** Waits between tries. Milliseconds. */
const PAUSES = { baseMs: 500, maxMs: 10_000 } as const
/** Longest time of one try. Milliseconds. */
const TRY_MS = 10_000
/** Number of failures that are worth a warning. A helper that has not started yet has some. */
const WARN_AFTER = 6

/** Resolves to true when the command has succeeded, and to false after the last try, or when the signal is aborted before. Never rejects. */
export async function runInHelper({ kube, pod, command, what, tries, ...options }: HelperCommand): Promise<boolean> {
  const { jobId: job, clock, log, signal } = options
  let failures = 0
  const onRetry = (error: unknown): void => {
    failures += 1
    const text = `cannot ${what} in its pod; trying again`
    if (failures === WARN_AFTER) log.warn({ err: error, job }, text)
    else log.debug({ err: error, job }, text)
  }
  try {
    await retry({ ...PAUSES, ...(tries !== undefined && { tries }), clock, signal, onRetry }, async () => {
      const until = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)])
      const { stdout, stderr, exit } = await kube.exec(pod, { container: 'helper', command, signal: until })
      stdout.resume()
      stderr.resume()
      const code = await exit
      if (code !== 0) throw new Error(`${command[0]} ended with code ${code}`)
    })
    return true
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, job }, `cannot ${what} in its pod; gave up`)
    return false
  }
}
