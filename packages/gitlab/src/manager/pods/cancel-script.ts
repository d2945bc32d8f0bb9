/** Ends the script of a job in its pod. The stages that always run still run. */
import { isAbort, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'
import { FILES } from '../../helper/shell-loop.ts'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'

export interface CancelOptions {
  readonly kube: Pick<Kube, 'exec'>
  readonly pod: ObjectRef
  readonly jobId: number
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly signal: AbortSignal
}

/** Wait before another try. Milliseconds. */
const AGAIN_MS = 500

/** Tries until the helper knows of the cancellation, or the job has ended. */
export async function cancelScript({ kube, pod, jobId, clock, log, signal }: CancelOptions): Promise<void> {
  const command = ['touch', `${EXCHANGE_FOLDER}/${FILES.canceled}`]
  while (!signal.aborted) {
    try {
      const { stdout, stderr, exit } = await kube.exec(pod, { container: 'helper', command, signal })
      stdout.resume()
      stderr.resume()
      if ((await exit) === 0) return
    } catch (error) {
      if (isAbort(error)) return
      log.debug({ err: error, job: jobId }, 'cannot cancel the job in its pod; trying again')
    }
    await clock.sleep(AGAIN_MS, signal).catch(() => undefined)
  }
}
