/** Runs a command in the helper of a job until it succeeds. */
import { isAbort, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'

export interface HelperCommand {
  readonly kube: Pick<Kube, 'exec'>
  readonly pod: ObjectRef
  readonly command: readonly string[]
  /** What cannot be done when the command fails, for the log: `cancel the job`. */
  readonly what: string
  readonly jobId: number
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly signal: AbortSignal
}

/** Wait before another try. Milliseconds. */
const AGAIN_MS = 500

/** Resolves to true when the command has succeeded, and to false when the signal is aborted before. Never rejects. */
export async function runInHelper({ kube, pod, command, what, jobId, clock, log, signal }: HelperCommand): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const { stdout, stderr, exit } = await kube.exec(pod, { container: 'helper', command, signal })
      stdout.resume()
      stderr.resume()
      if ((await exit) === 0) return true
    } catch (error) {
      if (isAbort(error)) return false
      log.debug({ err: error, job: jobId }, `cannot ${what} in its pod; trying again`)
    }
    await clock.sleep(AGAIN_MS, signal).catch(() => undefined)
  }
  return false
}
