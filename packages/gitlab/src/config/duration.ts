/** Durations in the notation of Go, in which GitLab runners are configured: `90s`, `1h30m`, `1.5h`. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
const WHOLE = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g

/** Parses a duration. Returns milliseconds, which can be negative, or undefined if the text is not a duration. `0` needs no unit. */
export function parseGoDuration(text: string): number | undefined {
  const trimmed = text.trim()
  if (/^[+-]?0$/.test(trimmed)) return 0
  if (!WHOLE.test(trimmed)) return undefined
  let ms = 0
  for (const [, count, unit] of trimmed.matchAll(PART)) ms += Number(count) * (UNIT_MS[unit ?? ''] ?? 0)
  return trimmed.startsWith('-') ? -ms : ms
}
