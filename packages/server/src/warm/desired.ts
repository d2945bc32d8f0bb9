/** How many pairs are wanted for whom, from the starts of the last minutes. Pure. */
import type { Start } from '../store/warm-pairs.ts'

/** Starts older than this say nothing of what comes. */
export const DEMAND_MS = 15 * 60_000
/** As many pairs as builds started within so long: what is used up is made again in that time. */
const WINDOW_MS = 60_000

export interface Bounds {
  readonly min: number
  readonly max: number
}

export interface Wanted {
  readonly count: number
  /** The newest start of its kind: whose disk and labels the pairs get. */
  readonly like: Start
}

/**
 * Pairs by the key of those whom they fit (`keyOf`). Each key gets as many as started in its busiest minute, the busiest key first, up to
 * `max` in all; below `min` the busiest key gets the rest. Nothing before the first build: nobody knows for whom.
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
