/** A wrong clock or setting must not remove everything at once; the next run continues. */
const SHARE = 0.2
const MINIMUM = 5

/** Returns the maximum number of removals of `total` objects in one run. */
export function maxRemovals(total: number): number {
  return Math.max(MINIMUM, Math.floor(total * SHARE))
}
