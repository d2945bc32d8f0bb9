/**
 * Lines of a stream that the same stream of another build lacks, by their normal form. The other log becomes a set of hashes, so that memory depends on the
 * number of different lines: at most 64 MB.
 */
import { NormalForm } from '@windlass/plan'
import type { LogNew } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { StreamRow } from '../../store/schema.ts'
import { NEWLINE } from '../newlines.ts'
import { openPause, type Pause } from '../pause.ts'
import { visibleText } from '@windlass/ansi'
import { wholeLines } from '../text/whole-lines.ts'
import { HashSet } from './hash-set.ts'

/** Maximum lines of each log that are compared. */
const MAX_COMPARED = 2_000_000
/** Time after which comparing stops. Milliseconds. */
const COMPARE_MS = 20_000
const MAX_TEXT = 1_000

export type Comparison = Pick<LogNew, 'count' | 'lines' | 'complete'>

/** Compares two counted streams. Throws `not-found` if a log expires. */
export async function findNewLines(
  app: App,
  { own, other }: { readonly own: StreamRow; readonly other: StreamRow },
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<Comparison> {
  const pause = openPause(app, { limitMs: COMPARE_MS, signal })
  const form = new NormalForm()
  const known = new HashSet()
  const hasOther = await eachLine(app, other, pause, (text, { start, end }) => {
    form.read(text, start, end)
    if (form.isEmpty) return
    form.hash()
    known.add(form.high, form.low)
  })
  const lines: LogNew['lines'] = []
  let count = 0
  const hasOwn = await eachLine(app, own, pause, (text, { line, start, end }) => {
    form.read(text, start, end)
    if (form.isEmpty) return
    form.hash()
    if (known.has(form.high, form.low)) return
    count += 1
    if (lines.length < limit) lines.push({ line, text: text.slice(start, Math.min(end, start + MAX_TEXT)) })
  })
  return { count, lines, complete: hasOther && hasOwn }
}

type Take = (text: string, place: { readonly line: number; readonly start: number; readonly end: number }) => void

/** Passes each line of the visible text to `take`; of a very long line only its first part. Returns false if it stopped before the end. */
async function eachLine({ logs }: App, row: StreamRow, pause: Pause, take: Take): Promise<boolean> {
  const key = { buildId: row.build_id, attempt: row.attempt, stream: row.stream }
  let line = 0
  let isInLine = false
  for await (const block of wholeLines(logs.read(key, { from: 0, to: row.counted }))) {
    const text = visibleText(block.toString())
    for (let start = 0; start < text.length;) {
      const newline = text.indexOf('\n', start)
      const end = newline < 0 ? text.length : newline
      if (!isInLine) take(text, { line, start, end })
      isInLine = newline < 0
      if (!isInLine) line += 1
      start = end + 1
    }
    if (line >= MAX_COMPARED || (await pause()))
      return line >= row.lines && block.at(-1) === NEWLINE && row.counted === row.line_start
  }
  return true
}
