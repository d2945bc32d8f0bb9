/** Computes how many pairs are wanted for which kind of build from the recent starts. Pure. */
import type { Start } from '../store/runtimes/warm-pairs.ts'

/** Age up to which starts count as demand. Milliseconds. */
export const DEMAND_MS = 15 * 60_000
/** Window in which starts are counted. A used pair is replaced within this time. Milliseconds. */
const WINDOW_MS = 60_000

export interface Bounds {
  readonly min: number
  readonly max: number
}

export interface Wanted {
  readonly count: number
  /** Newest start of this kind. The pairs get its disk and labels. */
  readonly like: Start
}

/**
 * Returns the wanted pairs per key (`keyOf`). Each key gets as many pairs as builds started in its busiest minute, the busiest key first, up to `max`
 * in total. If the total is below `min`, the busiest key gets the rest. Returns nothing before the first build, because its kind is unknown.
 */
export function wantedPairs(starts: readonly Start[], bounds: Bounds, keyOf: (start: Start) => string): Map<string, Wanted> {
  const byKey = Map.groupBy(starts, keyOf)
  const peaks = [...byKey]
    .map(([key, of]) => ({ key, peak: busiestWindow(of), like: newest(of) }))
    .toSorted((a, b) => b.peak - a.peak || b.like.at - a.like.at)
  const wanted = new Map<string, Wanted>()
  let left = bounds.max
  for (const { key, peak, like } of peaks) {
    const count = Math.min(peak, left)
    if (count > 0) wanted.set(key, { count, like })
    left -= count
  }
  const [first] = peaks
  const missing = Math.min(bounds.min, bounds.max) - (bounds.max - left)
  if (first !== undefined && missing > 0)
    wanted.set(first.key, { count: (wanted.get(first.key)?.count ?? 0) + missing, like: first.like })
  return wanted
}

function newest(starts: readonly Start[]): Start {
  return starts.reduce((best, start) => (start.at > best.at ? start : best))
}

function busiestWindow(starts: readonly Start[]): number {
  const times = starts.map(({ at }) => at).toSorted((a, b) => a - b)
  let from = 0
  let most = 0
  for (const [index, at] of times.entries()) {
    while (at - (times[from] ?? at) > WINDOW_MS) from += 1
    most = Math.max(most, index - from + 1)
  }
  return most
}
