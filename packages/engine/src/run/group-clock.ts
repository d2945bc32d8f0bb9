/** Timeouts of groups, and the delays before a failed group restarts. Uses the monotonic clock. */
import type { Clock } from '@windlass/kit'
import type { Decision } from '@windlass/plan'

export type GroupRestart = Extract<Decision, { type: 'restart' }>

export interface GroupClockOptions {
  readonly clock: Clock
  /** Aborted at the end of the attempt. */
  readonly end: AbortSignal
  /** Called when a group times out. */
  readonly onExpired: (group: string, limitMs: number) => void
  /** Called when the delay before a further try is over. */
  readonly onRestart: (restart: GroupRestart) => void
}

export class GroupClock {
  /** Groups that timed out. */
  readonly expired = new Set<string>()
  readonly #options: GroupClockOptions
  readonly #limits = new Map<string, AbortController>()
  readonly #pauses = new Map<string, AbortController>()

  constructor(options: GroupClockOptions) {
    this.#options = options
  }

  /** Starts the timeout of a try. There is no timeout without `limitMs`. */
  begin(group: string, limitMs: number | undefined): void {
    this.end(group)
    if (limitMs === undefined) return
    this.#after(this.#limits, group, limitMs, () => {
      this.expired.add(group)
      this.#options.onExpired(group, limitMs)
    })
  }

  /** Cancels the timeout when the try is over. */
  end(group: string): void {
    this.#limits.get(group)?.abort()
    this.#limits.delete(group)
    this.expired.delete(group)
  }

  /** Starts a delay for each new restart and cancels the delays that are no longer in the list. Returns the new restarts. */
  await(restarts: readonly GroupRestart[]): GroupRestart[] {
    for (const [group, pause] of this.#pauses) if (!restarts.some(({ step }) => step === group)) this.#stop(group, pause)
    const fresh = restarts.filter(({ step }) => !this.#pauses.has(step))
    for (const restart of fresh) {
      this.#limits.get(restart.step)?.abort()
      this.#after(this.#pauses, restart.step, restart.delayMs, () => {
        this.#pauses.delete(restart.step)
        this.#options.onRestart(restart)
      })
    }
    return fresh
  }

  #stop(group: string, pause: AbortController): void {
    pause.abort()
    this.#pauses.delete(group)
  }

  #after(timers: Map<string, AbortController>, group: string, ms: number, act: () => void): void {
    const controller = new AbortController()
    timers.set(group, controller)
    const signal = AbortSignal.any([controller.signal, this.#options.end])
    this.#options.clock.sleep(ms, signal).then(act, () => undefined)
  }
}
