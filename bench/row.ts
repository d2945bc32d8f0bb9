/** One line of the bench: a figure of Windlass and its floor, the minimum that this machine allows, measured in the same run. */

/** Milliseconds, MiB or a rate, as the unit says. */
export interface Spread {
  readonly n: number
  readonly median: number
  readonly min: number
  readonly max: number
  readonly p99?: number
}

export interface Row {
  readonly name: string
  /** What is measured, from which event to which. */
  readonly figure: string
  readonly unit: 'ms' | 's' | 'MiB' | '1/s'
  readonly value: Spread
  /** Discarded runs before the first counted one. */
  readonly warmUp: number
  /** What the floor is, and how long it took. */
  readonly floor?: { readonly what: string; readonly value: Spread }
  /** Target for the median: a minimum for rates, otherwise a maximum. */
  readonly goal?: number
  readonly goalP99?: number
  /** Maximum of the median as a multiple of the median of the floor. It holds on a fast and a slow machine, an absolute goal does not. */
  readonly goalRatio?: number
  readonly note?: string
}

/**
 * A module of `lines/` that measures one or several related rows. `measure` throws `MissingPartError` if the line cannot run; the bench then reports
 * it as not measured.
 */
export interface Line {
  readonly name: string
  readonly measure: () => Promise<readonly Row[]>
}

/** Thrown by a line whose real part is missing. The message names the part. */
export class MissingPartError extends Error {}

/** Returns median, range and 99th percentile of samples. Throws on an empty list. */
export function spread(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  if (sorted.length === 0) throw new Error('nothing was measured')
  const middle = sorted.length / 2
  const median = sorted.length % 2 === 0 ? ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2 : at(0.5)
  const shown = { n: sorted.length, median, min: at(0), max: sorted.at(-1) ?? 0 }
  return sorted.length >= 50 ? { ...shown, p99: at(0.99) } : shown
}

/** Returns a single value, such as a rate of one long run. */
export function single(value: number): Spread {
  return { n: 1, median: value, min: value, max: value }
}

/** Runs `work` a few times as warm-up and then `n` times. Each sample is the number that `work` returns, or its duration in milliseconds. */
export async function sample(n: number, warmUp: number, work: (round: number) => Promise<number | void>): Promise<Spread> {
  const samples: number[] = []
  for (let round = -warmUp; round < n; round += 1) {
    const startedAt = performance.now()
    const own = await work(round)
    const took = performance.now() - startedAt
    if (round >= 0) samples.push(own ?? took)
  }
  return spread(samples)
}

/** Returns the median as a multiple of the median of the floor. Undefined for rates and rows without a floor. */
export function ratioOf({ unit, value, floor }: Row): number | undefined {
  return unit === '1/s' || floor === undefined ? undefined : value.median / floor.value.median
}

/** Whether the row reaches all its goals. Undefined if it has none. */
export function reachesGoal(row: Row): boolean | undefined {
  const { unit, value, goal, goalP99, goalRatio } = row
  const ratio = ratioOf(row)
  const checks = [
    goal === undefined ? undefined : unit === '1/s' ? value.median >= goal : value.median <= goal,
    goalP99 === undefined || value.p99 === undefined ? undefined : value.p99 <= goalP99,
    goalRatio === undefined || ratio === undefined ? undefined : ratio <= goalRatio,
  ].filter((check) => check !== undefined)
  return checks.length === 0 ? undefined : checks.every(Boolean)
}
