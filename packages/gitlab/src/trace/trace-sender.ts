/**
 * Sends the trace and the final state of one job. Rules of the runner API of GitLab: the trace is sent in contiguous patches at an interval that the
 * server may change, a silent job sends its state now and then, and the final state carries the checksum of the trace, which the server compares.
 * A server that is down only delays the trace.
 */
import { defined, type Clock, type Logger } from '@windlass/kit'
import type { Coordinator } from '../coordinator/client.ts'
import { reportedReason, type FailureReason } from '../coordinator/failure-reasons.ts'
import { deliverFinal, type Delivery, type FinalState } from './final-update.ts'
import type { JobReply } from '../coordinator/job-update.ts'
import { openTraceDelivery, PATCH_BYTES } from './trace-delivery.ts'
import { openTraceSpool } from './trace-spool.ts'

export interface TraceSenderOptions {
  readonly coordinator: Pick<Coordinator, 'patchTrace' | 'updateJob'>
  readonly jobId: number
  readonly jobToken: string
  /** Folder for the spool file, which holds the whole trace. */
  readonly folder: string
  /** `features.failure_reasons` of the job. */
  readonly supportedReasons: readonly string[]
  /** True if the job runs with debug output. Default: false. */
  readonly debug?: boolean
  /** Number of times that the final update is tried again. Default: 10, which is at least 17 minutes. */
  readonly finalRetryLimit?: number
  readonly clock: Clock
  readonly log: Logger
  /** Called once, if the job is being canceled: its script must end, and `after_script` still runs. */
  readonly onCanceling: () => void
  /** Called once, if everything must end at once. Nothing is sent afterwards. */
  readonly onAbort: (reason: string) => void
}

export type JobEnd =
  | { readonly state: 'success'; readonly exitCode?: number | undefined }
  | { readonly state: 'failed'; readonly failureReason?: FailureReason | undefined; readonly exitCode?: number | undefined }

export interface TraceSender {
  /** Number of bytes of the trace. */
  readonly size: number
  append(bytes: Uint8Array): void
  /** Sends what is left and the final state. Nothing may be appended afterwards. Never rejects. */
  finish(end: JobEnd): Promise<Delivery>
  /** Stops without a final state, for a job that another manager continues. */
  close(): Promise<void>
}

/** Time between two patches, unless the server asks for another one. Milliseconds. */
export const INTERVAL_MS = 3_000
/** Silence after which the state of the job is sent. Milliseconds. */
const KEEP_ALIVE_MS = 30_000
const FINAL_RETRY_LIMIT = 10

/** Opens the sender of a job and its spool. Throws if the folder does not allow files. */
export function openTraceSender(options: TraceSenderOptions): TraceSender {
  const { coordinator, jobId, jobToken, clock, log, debug = false, finalRetryLimit = FINAL_RETRY_LIMIT } = options
  const spool = openTraceSpool(options.folder, log)
  const stop = new AbortController()
  const delivery = openTraceDelivery({ patchTrace: coordinator.patchTrace, spool, jobId, jobToken, debug, onReply })
  let intervalMs = INTERVAL_MS
  let lastSentAt = clock.monotonic()
  let isCanceling = false
  let isFailing = false
  let hasMoved = false
  /** True if the spool cannot be read: only the state of the job is sent. */
  let isUnreadable = false
  let aborted: string | undefined
  let final: FinalState | undefined
  let isOver = false
  let wake = (): void => undefined

  function onReply(reply: JobReply): void {
    if (reply.updateIntervalMs !== undefined) intervalMs = reply.updateIntervalMs
    if (!reply.canceling || isCanceling || final !== undefined) return
    isCanceling = true
    options.onCanceling()
  }

  function abort(reason: string): void {
    if (aborted !== undefined) return
    aborted = reason
    log.info({ job: jobId, reason }, 'GitLab ended the job')
    if (final === undefined) options.onAbort(reason)
  }

  /** Sends one patch, or the state of a silent job. Resolves to whether it succeeded. */
  async function tick(): Promise<boolean> {
    const isSilent = delivery.waiting <= 0 || isUnreadable
    if (isSilent) return clock.monotonic() - lastSentAt < KEEP_ALIVE_MS || (await sendState())
    const outcome = await delivery.next(stop.signal)
    if (outcome.type === 'ok') lastSentAt = clock.monotonic()
    else if (outcome.type === 'abort') abort(outcome.reason)
    else if (outcome.type === 'unreadable') {
      isUnreadable = true
      log.error(
        { job: jobId, reason: outcome.reason },
        'cannot read the spool of the trace; the job continues without its trace. Check the disk of the manager',
      )
    }
    // Only the state says whether the whole job is gone.
    else if (outcome.type === 'gone') await sendState()
    // The first patch after a move is sent at once. A server that moves again has to wait, or it could ask for the same bytes for ever.
    const isFirstMove = outcome.type === 'moved' && !hasMoved
    hasMoved = outcome.type === 'moved'
    return outcome.type === 'ok' || outcome.type === 'unreadable' || isFirstMove
  }

  async function sendState(): Promise<boolean> {
    const output = isUnreadable ? undefined : { checksum: spool.checksum, bytes: spool.size }
    const result = await coordinator.updateJob({ jobId, jobToken, state: 'running', ...defined({ output }), signal: stop.signal })
    onReply(result)
    if (result.type === 'abort') abort(result.reason)
    if (result.type === 'resend') delivery.restart()
    if (result.type === 'failed') return false
    lastSentAt = clock.monotonic()
    return true
  }

  /** Waits for the next tick. Does not wait if a whole patch is waiting and the server takes patches. */
  async function pause(): Promise<void> {
    if (final !== undefined || (!isFailing && !isUnreadable && delivery.waiting >= PATCH_BYTES)) return
    const woken = new AbortController()
    wake = () => woken.abort()
    await clock.sleep(intervalMs, AbortSignal.any([stop.signal, woken.signal])).catch(() => undefined)
    wake = () => undefined
  }

  async function run(): Promise<Delivery> {
    for (;;) {
      await pause()
      if (stop.signal.aborted) return { type: 'aborted', reason: 'closed' }
      if (aborted !== undefined) return { type: 'aborted', reason: aborted }
      if (final !== undefined) {
        intervalMs = INTERVAL_MS
        return deliverFinal({
          coordinator,
          delivery,
          spool,
          jobId,
          jobToken,
          clock,
          log,
          final,
          onReply,
          intervalMs: () => intervalMs,
          retries: finalRetryLimit,
          signal: stop.signal,
        })
      }
      isFailing = !(await tick())
    }
  }

  const running = run()
    .catch((error: unknown): Delivery => {
      if (stop.signal.aborted) return { type: 'aborted', reason: 'closed' }
      log.error({ err: error, job: jobId }, 'the trace cannot be sent')
      return { type: 'given-up', reason: error instanceof Error ? error.message : String(error) }
    })
    .finally(() => {
      isOver = true
      return spool.close()
    })

  return {
    get size() {
      return spool.size
    },
    append(bytes) {
      if (isOver || aborted !== undefined || stop.signal.aborted || bytes.length === 0) return
      if (final !== undefined) throw new Error('the trace has ended')
      spool.append(bytes)
      if (!isFailing && delivery.waiting >= PATCH_BYTES) wake()
    },
    async finish(end) {
      final ??= {
        state: end.state,
        exitCode: end.exitCode,
        failureReason: end.state === 'failed' ? reportedReason(end.failureReason, options.supportedReasons) : undefined,
      }
      wake()
      return running
    },
    async close() {
      stop.abort()
      await running
    },
  }
}
