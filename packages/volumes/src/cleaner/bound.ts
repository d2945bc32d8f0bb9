/** A wrong clock or a wrong setting must not remove everything at once: the next run goes on. */
const SHARE = 0.2
const LEAST = 5

/** How many of `total` may go in one run. */
export function mostRemovals(total: number): number {
  return Math.max(LEAST, Math.floor(total * SHARE))
}
