/** Numbers, sizes and times of a log. */

/** Formats a number with separators. */
export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Which time is beside a line: that of the day, since the first line, or since the line before. */
export const TIMES = ['none', 'clock', 'start', 'step'] as const
export type Times = (typeof TIMES)[number]

/** Formats the time of a line. An empty text if it does not differ from the line before, with `step`. Epoch milliseconds. */
export function formatTime(
  times: Times,
  at: number | undefined,
  { start, before }: { start: number | undefined; before: number | undefined },
): string {
  if (at === undefined || times === 'none') return ''
  if (times === 'clock') return new Date(at).toLocaleTimeString('en-GB')
  if (times === 'start') return start === undefined ? '' : formatSeconds(at - start)
  return before === undefined || at <= before ? '' : `+${((at - before) / 1_000).toFixed(1)} s`
}

function formatSeconds(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000
  const minutes = Math.floor(seconds / 60)
  return `${minutes}:${(seconds - minutes * 60).toFixed(1).padStart(4, '0')}`
}
