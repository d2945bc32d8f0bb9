/** The time of groups: their limits, and the pauses before a failed one runs again. Times by a clock that never jumps. */
import type { Clock } from '@windlass/kit'
import type { Decision } from '@windlass/plan'

export type GroupRestart = Extract<Decision, { type: 'restart' }>

export interface GroupClockOptions {
  readonly clock: Clock
  /** Aborted when the attempt is over. */
  readonly end: AbortSignal
  /** The time of a group is over. */
  readonly onExpired: (group: string, limitMs: number) => void
  /** The pause before a further try is over. */
  readonly onRestart: (restart: GroupRestart) => void
}

export class GroupClock {
  /** Groups whose time is over. */
  readonly expired = new Set<string>()
  readonly #options: GroupClockOptions
  readonly #limits = new Map<string, AbortController>()
  readonly #pauses = new Map<string, AbortController>()

  constructor(options: GroupClockOptions) {
    this.#options = options
  }

  /** Begins a try of a group; without `limitMs` it may take as long as it likes. */
  begin(group: string, limitMs: number | undefined): void {
    this.end(group)
    if (limitMs === undefined) return
    this.#after(this.#limits, group, limitMs, () => {
      this.expired.add(group)
      this.#options.onExpired(group, limitMs)
    })
  }

  /** The try is over. */
  end(group: string): void {
    this.#limits.get(group)?.abort()
    this.#limits.delete(group)
    this.expired.delete(group)
  }

  /** What is decided now: pauses begin for groups that are new in it, and end for those that are not in it any more. True for the new ones. */
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
