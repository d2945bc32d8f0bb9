/** What the page keeps of a log: the newest lines, up to a limit, so that a log that runs for days does not fill the browser. */
import { visibleText } from '@windlass/ansi'
import type { LogGap, LogPart } from '@windlass/client/container-log'
import type { LogLine } from '@windlass/protocol'

/** Lines and characters that are kept. */
export const MOST_ROWS = 10_000
const MOST_CHARS = 5_000_000

export interface LogRow {
  /** Counts from 1, also lines that are not kept any more. */
  readonly number: number
  /** `hh:mm:ss` of the line; empty for a gap. */
  readonly time: string
  /** As a terminal shows it. */
  readonly text: string
  /** Lines may be missing here. */
  readonly gap?: LogGap
  /** As the runtime has sent it; undefined for a gap. */
  readonly line?: LogLine
}

export interface LogRows {
  readonly rows: readonly LogRow[]
  readonly chars: number
  /** Rows that were shown and are not kept any more. */
  readonly dropped: number
}

export const NO_ROWS: LogRows = { rows: [], chars: 0, dropped: 0 }

/** Adds a part at the end, and drops the oldest rows above the limits. */
export function addPart(before: LogRows, { lines, gap }: LogPart): LogRows {
  const parts: readonly (LogLine | LogGap)[] = gap === undefined ? lines : [gap, ...lines]
  const first = before.dropped + before.rows.length + 1
  const added = parts.map((part, index): LogRow => {
    const number = first + index
    if (typeof part === 'string') return { number, time: '', text: '', gap: part }
    return { number, time: timeOf(part.at), text: visibleText(part.text), line: part }
  })
  const rows = [...before.rows, ...added]
  let chars = before.chars + added.reduce((sum, { text }) => sum + text.length, 0)
  let from = Math.max(0, rows.length - MOST_ROWS)
  for (const { text } of rows.slice(0, from)) chars -= text.length
  for (; chars > MOST_CHARS && from < rows.length - 1; from += 1) chars -= rows[from]?.text.length ?? 0
  return { rows: from === 0 ? rows : rows.slice(from), chars, dropped: before.dropped + from }
}

/** The times of nodes are shown in the zone of the browser, like all times of the page. */
function timeOf(at: string | undefined): string {
  const time = at === undefined ? NaN : Date.parse(at)
  return Number.isNaN(time) ? '' : new Date(time).toLocaleTimeString('en-GB')
}

/** Returns the rows whose text has the words, in any case. Gaps stay, because they say where lines may be missing. */
export function filterRows(rows: readonly LogRow[], words: string): readonly LogRow[] {
  const wanted = words.trim().toLowerCase()
  return wanted === '' ? rows : rows.filter(({ text, gap }) => gap !== undefined || text.toLowerCase().includes(wanted))
}

export const GAPS: Readonly<Record<LogGap, string>> = {
  cut: 'Lines are missing here: more came at once than can be shown.',
  unsure: 'Lines may be missing here: the container was started again, or its log was rotated.',
}

/** Returns the kept lines as a file, with their times as the nodes wrote them. */
export function toFile({ rows, dropped }: LogRows, isCut: boolean): string {
  const head = isCut || dropped > 0 ? ['# Only the newest lines of the log are in this file.'] : []
  const lines = rows.map(({ line, gap }) =>
    line === undefined
      ? `# ${gap === undefined ? '' : GAPS[gap]}`
      : [line.at, line.text].filter((part) => part !== undefined).join(' '),
  )
  return [...head, ...lines, ''].join('\n')
}
