/** The longest supported time limit: a signed 32-bit number of milliseconds, about 24.8 days. */
export const LONGEST_DURATION_MS = 2_147_483_647

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const
const PATTERN = /^(\d+(?:\.\d*)?|\.\d+)([smh])$/

/**
 * Parses a duration such as `90s`, `1.5m` or `.5h`. Returns milliseconds, capped at `LONGEST_DURATION_MS`, or undefined if the text is not a
 * duration. `0s` gives 0, which means no limit.
 */
export function parseDuration(text: string): number | undefined {
  const match = PATTERN.exec(text.trim())
  const unit = match?.[2]
  if (match === null || (unit !== 's' && unit !== 'm' && unit !== 'h')) return undefined
  return Math.min(Math.round(Number(match[1]) * UNIT_MS[unit]), LONGEST_DURATION_MS)
}

/** Formats a duration: `350 ms`, `4.2 s`, `3 m 05 s`, `2 h 10 m`. `ms` must be a non-negative integer. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, '0')} s`
  return `${Math.floor(seconds / 3_600)} h ${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')} m`
}

/** Times of two builds differ clearly if one is longer by a fifth and by a second. */
const LONGER = 1.2
const LONGER_MS = 1_000

/** Returns true if two times differ clearly. False if one is unknown. Milliseconds. */
export function isLonger(one: number | undefined, other: number | undefined): boolean {
  if (one === undefined || other === undefined) return false
  const [less, more] = [Math.min(one, other), Math.max(one, other)]
  return more - less >= LONGER_MS && more >= less * LONGER
}
