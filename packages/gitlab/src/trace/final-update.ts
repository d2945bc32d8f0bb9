/** The end of a trace: what is left of it, and the final state with its checksum, until the server has both. */
import { defined, type Clock, type Logger } from '@windlass/kit'
import type { Coordinator } from '../coordinator/client.ts'
import type { FailureReason } from '../coordinator/failure-reasons.ts'
import type { JobReply } from '../coordinator/job-update.ts'
import type { TraceDelivery } from './trace-delivery.ts'
import type { TraceSpool } from './trace-spool.ts'

export interface FinalState {
  readonly state: 'success' | 'failed'
  readonly failureReason: FailureReason | undefined
  readonly exitCode: number | undefined
}

export interface FinalOptions {
  readonly coordinator: Pick<Coordinator, 'updateJob'>
  readonly delivery: TraceDelivery
  readonly spool: TraceSpool
  readonly jobId: number
  readonly jobToken: string
  readonly final: FinalState
  /** Number of retries after a failure, and separately of times that the server asks for the trace again. */
  readonly retries: number
  readonly intervalMs: () => number
  readonly onReply: (reply: JobReply) => void
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

export type Delivery =
  | { readonly type: 'delivered' }
  /** The server does not want the job anymore, or the sender was closed. */
  | { readonly type: 'aborted'; readonly reason: string }
  /** All tries failed. The server will fail the job by itself. */
  | { readonly type: 'given-up'; readonly reason: string }

/** Longest time that the server may check the trace. Milliseconds. */
const MAX_PENDING_MS = 60 * 60_000
/** Number of times in a row that the server may name another start of the next patch. */
const MAX_MOVES = 10
const MAX_DELAY_MS = 60 * 60_000

/** Returns the delay before retry `n` (1 = first retry) of the final update, milliseconds. It has no jitter that shortens it: ten retries must last. */
export function finalDelayMs(n: number): number {
  return Math.min(1000 * 2 ** (n - 1), MAX_DELAY_MS)
}

type Step = Delivery | { readonly type: 'repeat' } | { readonly type: 'failed'; readonly reason: string }

/** Sends what is left of the trace and then the final state. Rejects if the signal is aborted. */
export async function deliverFinal(options: FinalOptions): Promise<Delivery> {
  const { clock, log, jobId, retries, signal } = options
  const sequence = new FinalSequence(options)
  for (let failures = 0; ;) {
    const step = await sequence.step()
    if (step.type === 'repeat') {
      failures = 0
      continue
    }
    if (step.type !== 'failed') return step
    failures += 1
    if (failures > retries) {
      log.error({ job: jobId, reason: step.reason, failures }, 'GitLab did not accept the final state of the job')
      return { type: 'given-up', reason: step.reason }
    }
    const delayMs = finalDelayMs(failures)
    log.warn({ job: jobId, reason: step.reason, failures, delayMs }, 'the final state of the job is not delivered yet')
    await clock.sleep(delayMs, signal)
  }
}

class FinalSequence {
  readonly #options: FinalOptions
  /** Number of times that the server did not have the trace that the final state describes. */
  #resends = 0
  /** True if the server may have carried out an update whose answer was lost. */
  #isUnclear = false
  /** True if the server does not take the trace anymore. */
  #isTraceGone = false
  /** True if the spool cannot be read, so the server cannot compare its trace with ours. */
  #isUnreadable = false
  #moves = 0
  #pendingSince: number | undefined

  constructor(options: FinalOptions) {
    this.#options = options
  }

  /** Sends one patch, or the final state if no bytes wait. */
  async step(): Promise<Step> {
    const { delivery } = this.#options
    return delivery.waiting > 0 && !this.#isTraceGone ? this.#patch() : this.#update()
  }

  async #patch(): Promise<Step> {
    const { delivery, signal } = this.#options
    const outcome = await delivery.next(signal)
    if (outcome.type === 'moved') {
      this.#moves += 1
      if (this.#moves > MAX_MOVES) return { type: 'failed', reason: 'the server names a different size of the trace each time' }
      await this.#wait()
    } else this.#moves = 0
    if (outcome.type === 'gone' || outcome.type === 'unreadable') this.#isTraceGone = true
    if (outcome.type === 'unreadable') this.#isUnreadable = true
    if (outcome.type === 'abort') return this.#ended(outcome.reason)
    return outcome.type === 'failed' ? outcome : { type: 'repeat' }
  }

  async #update(): Promise<Step> {
    const { coordinator, spool, jobId, jobToken, final, delivery, retries, onReply, clock, signal } = this.#options
    const output = this.#isUnreadable ? undefined : { checksum: spool.checksum, bytes: spool.size }
    const result = await coordinator.updateJob({ jobId, jobToken, ...final, ...defined({ output }), signal })
    onReply(result)
    switch (result.type) {
      case 'done':
        return { type: 'delivered' }
      case 'pending':
        this.#pendingSince ??= clock.monotonic()
        if (clock.monotonic() - this.#pendingSince > MAX_PENDING_MS)
          return { type: 'given-up', reason: 'the server checks the trace for too long' }
        await this.#wait()
        return { type: 'repeat' }
      case 'resend':
        this.#resends += 1
        if (this.#resends > retries) return { type: 'given-up', reason: 'the server does not accept the checksum of the trace' }
        delivery.restart()
        await this.#wait()
        return { type: 'repeat' }
      case 'abort':
        if (result.isRepeated) this.#isUnclear = true
        return this.#ended(result.reason)
      case 'failed':
        if (result.isUnclear) this.#isUnclear = true
        return result
    }
  }

  /**
   * A job that has ended refuses its token. After an update whose answer was lost this means that the update arrived.
   */
  #ended(reason: string): Delivery {
    return this.#isUnclear ? { type: 'delivered' } : { type: 'aborted', reason }
  }

  #wait(): Promise<void> {
    const { clock, intervalMs, signal } = this.#options
    return clock.sleep(intervalMs(), signal)
  }
}
