/** Times and durations as the page shows them. */

/** Formats a duration as `0.4 s`, `0:07`, `3:04` or `1:02:11`. Milliseconds. */
export function formatClock(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${Math.max(0.1, Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const rest = String(seconds % 60).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats a span in one unit, such as `40 s`, `6 min`, `3 h` or `8 days`. Milliseconds. */
export function formatSpan(ms: number): string {
  const span = Math.max(0, ms)
  if (span < MINUTE) return `${Math.floor(span / 1_000)} s`
  if (span < HOUR) return `${Math.floor(span / MINUTE)} min`
  if (span < DAY) return `${Math.floor(span / HOUR)} h`
  const days = Math.floor(span / DAY)
  return `${days} day${days === 1 ? '' : 's'}`
}

/** Formats a past time: `12 min ago` within a day, then its date. Epoch milliseconds. */
export function formatAgo(at: number, now: number): string {
  const span = now - at
  if (span < 10_000) return 'just now'
  return span < DAY ? `${formatSpan(span)} ago` : formatDate(at, now)
}

/** Formats a date as `3 May`, with the year if it is another one. */
export function formatDate(at: number, now: number): string {
  const date = new Date(at)
  const hasYear = date.getFullYear() !== new Date(now).getFullYear()
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...(hasYear && { year: 'numeric' }) })
}

/** Formats the time of day as `14:02`. */
export function formatHour(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

/** Formats a time as `14:02` on the day of `now`, and with its date on another day. Epoch milliseconds. */
export function formatMoment(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return isToday ? formatHour(at) : `${formatDate(at, now)}, ${formatHour(at)}`
}

/** Formats a time in full, in local time and UTC, for tooltips. */
export function formatExact(at: number): string {
  const date = new Date(at)
  return `${date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })} (${date.toISOString().slice(0, 19)}Z)`
}
