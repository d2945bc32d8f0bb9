/** The phases of something that starts and ends: a build, a step or a container. Times in epoch milliseconds. */
import type { PhaseStart } from '@windlass/protocol'

export interface Phase {
  readonly phase: string
  readonly from: number
  /** Undefined for the current phase. */
  readonly to: number | undefined
}

export class Span {
  startedAt: number | undefined
  endedAt: number | undefined
  phase = ''
  #phases: { readonly phase: string; readonly at: number }[] = []

  /** Starts, or starts again: a repeated step keeps its first start. */
  start(phase: string, at: number): void {
    this.startedAt ??= at
    this.endedAt = undefined
    this.phase = phase
    if (this.#phases.length === 0) this.enter(phase, at)
  }

  enter(phase: string, at: number): void {
    this.phase = phase
    this.#phases = [...this.#phases.filter((one) => one.phase !== phase), { phase, at }]
  }

  /** Ends. `phases` replaces those that were entered, because it is complete. */
  end(phase: string, at: number, phases?: readonly PhaseStart[]): void {
    this.phase = phase
    this.endedAt = at
    if (phases !== undefined) this.#phases = [...new Map(phases.map((one) => [one.phase, one])).values()]
  }

  /** Returns the phases in the order in which they were entered, each phase once. */
  phases(): Phase[] {
    return this.#phases.map(({ phase, at }, index) => ({ phase, from: at, to: this.#phases[index + 1]?.at ?? this.endedAt }))
  }
}
