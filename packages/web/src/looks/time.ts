/** Times and durations as the page shows them. */

/** Formats a duration as `0.4 s`, `0:07`, `3:04` or `1:02:11`. Milliseconds. */
export function formatClock(ms: number): string {
  if (ms > 0 && ms < 950) return `${Math.max(0.1, Math.round(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.max(0, ms < 1_000 ? Math.round(ms / 1_000) : Math.floor(ms / 1_000))
  const rest = String(seconds % 60).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`
}

/** Returns a function that formats epoch milliseconds. Making a formatter takes longer than rendering a row, so it is made once. */
function formatterOf(options: Intl.DateTimeFormatOptions): (at: number) => string {
  let formatter: Intl.DateTimeFormat | undefined
  return (at) => (formatter ??= new Intl.DateTimeFormat('en-GB', options)).format(at)
}

const day = formatterOf({ day: 'numeric', month: 'short' })
const dayOfYear = formatterOf({ day: 'numeric', month: 'short', year: 'numeric' })
const hour = formatterOf({ hour: '2-digit', minute: '2-digit' })
const second = formatterOf({ dateStyle: 'medium', timeStyle: 'medium' })

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
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  return isThisYear ? day(at) : dayOfYear(at)
}

/** Formats the time of day as `14:02`. */
export function formatHour(at: number): string {
  return hour(at)
}

/** Formats a time as `14:02` on the day of `now`, and with its date on another day. Epoch milliseconds. */
export function formatMoment(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return isToday ? formatHour(at) : `${formatDate(at, now)}, ${formatHour(at)}`
}

/** Formats a time in full, in local time and UTC, for tooltips. */
export function formatExact(at: number): string {
  return `${second(at)} (${new Date(at).toISOString().slice(0, 19)}Z)`
}
