import { fault } from '@windlass/kit/faults'
import { parseDuration } from '@windlass/plan'

const DAY_MS = 86_400_000

/** Reads a point in time: a date such as `2026-03-01` or `2026-03-01T12:00:00Z`, or how long ago it was: `90m`, `12h`, `7d`. Throws `usage`. */
export function parseTime(text: string, now: number): number {
  const days = /^(\d{1,5})d$/.exec(text.trim())?.[1]
  const ago = days === undefined ? parseDuration(text) : Number(days) * DAY_MS
  if (ago !== undefined) return Math.max(0, now - ago)
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at < 0)
    throw fault('usage', {
      message: `"${text}" is not a time.`,
      hint: 'Use a date such as 2026-03-01, or a time ago such as 12h or 7d.',
    })
  return at
}
