/** The longest time limit that the language knows: a signed 32-bit number of milliseconds, about 24.8 days. */
export const LONGEST_DURATION_MS = 2_147_483_647

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const
const PATTERN = /^(\d+(?:\.\d*)?|\.\d+)([smh])$/

/**
 * Milliseconds of a duration such as `90s`, `1.5m` or `.5h` (pipeline language 3.9); undefined when the text is none.
 * `0s` gives 0, which means no limit. Longer than the longest is cut to it.
 */
export function parseDuration(text: string): number | undefined {
  const match = PATTERN.exec(text.trim())
  const unit = match?.[2]
  if (match === null || (unit !== 's' && unit !== 'm' && unit !== 'h')) return undefined
  return Math.min(Math.round(Number(match[1]) * UNIT_MS[unit]), LONGEST_DURATION_MS)
}

/** Text for a person: `350 ms`, `4.2 s`, `3 m 05 s`, `2 h 10 m`. `ms` is a whole number that is not negative. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, '0')} s`
  return `${Math.floor(seconds / 3_600)} h ${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')} m`
}
