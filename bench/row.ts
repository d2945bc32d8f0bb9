/** One line of the bench: a figure of Windlass beside the least that this machine allows, measured in the same run. */

/** Milliseconds, MiB or a rate; the unit says which. */
export interface Spread {
  readonly n: number
  readonly median: number
  readonly min: number
  readonly max: number
  readonly p99?: number
}

export interface Row {
  readonly name: string
  /** What is measured, from what to what. */
  readonly figure: string
  readonly unit: 'ms' | 's' | 'MiB' | '1/s'
  readonly value: Spread
  /** Runs thrown away before the first that counts. */
  readonly warmUp: number
  /** What the floor is, and how long it took. */
  readonly floor?: { readonly what: string; readonly value: Spread }
  /** Median that is aimed at; for rates the least, else the most. */
  readonly goal?: number
  readonly goalP99?: number
  readonly note?: string
}

/** A module of `lines/`: measures one or several related rows. `needs` says what must be there; without it the line is skipped loudly. */
export interface Line {
  readonly name: string
  readonly measure: () => Promise<readonly Row[]>
}

/** Thrown by a line whose real part is missing; says which. */
export class MissingPartError extends Error {}

/** Median, range and 99th percentile of samples. Throws on none. */
export function spread(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  if (sorted.length === 0) throw new Error('nothing was measured')
  const middle = sorted.length / 2
  const median = sorted.length % 2 === 0 ? ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2 : at(0.5)
  const shown = { n: sorted.length, median, min: at(0), max: sorted.at(-1) ?? 0 }
  return sorted.length >= 50 ? { ...shown, p99: at(0.99) } : shown
}

/** A single value, such as a rate of one long run. */
export function single(value: number): Spread {
  return { n: 1, median: value, min: value, max: value }
}

/** Runs `work` a few times for nothing and `n` times for its milliseconds (its own number when it returns one). */
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

/** Whether the row reaches its goal; undefined when it has none. */
export function reachesGoal(row: Row): boolean | undefined {
  if (row.goal === undefined) return undefined
  const median = row.unit === '1/s' ? row.value.median >= row.goal : row.value.median <= row.goal
  const tail = row.goalP99 === undefined || row.value.p99 === undefined || row.value.p99 <= row.goalP99
  return median && tail
}
