/**
 * Lines of a stream that the same stream of another build lacks, by their normal form. The other log becomes a set of hashes, so that memory depends on the
 * number of different lines: at most 64 MB.
 */
import { randomBytes } from 'node:crypto'
import { fault } from '@windlass/kit'
import { NormalForm, type HashKey } from '@windlass/plan'
import type { LogNew } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { StreamRow } from '../../store/schema/schema.ts'
import { NEWLINE } from '../text/newlines.ts'
import { openPause, type Pause } from '../objects/pause.ts'
import { visibleText } from '@windlass/ansi'
import { wholeLines } from '../text/whole-lines.ts'
import { HashSet } from './hash-set.ts'

/** Maximum lines of each log that are compared. */
const MAX_COMPARED = 2_000_000
/** Time after which comparing stops. Milliseconds. */
const COMPARE_MS = 20_000
const MAX_TEXT = 1_000
/** Maximum number of concurrent comparisons of a server. Each may use 64 MB and all of a processor. */
const MAX_COMPARISONS = 4
/** Lines after which the time is read. Lines of more than 4,096 characters cost no more. */
const LINES_PER_LOOK = 32
/** The key of the hashes of this process. */
const KEY: HashKey = [randomBytes(4).readUInt32LE(), randomBytes(4).readUInt32LE()]

export type Comparison = Pick<LogNew, 'count' | 'lines' | 'complete'>

export type CompareLogs = typeof findNewLines

/** Returns `findNewLines` for the callers of a server. It throws `rate-limited` if too many of them compare logs. */
export function limitComparisons(): CompareLogs {
  let count = 0
  return async (...given) => {
    if (count >= MAX_COMPARISONS)
      throw fault('rate-limited', {
        message: `The server is already comparing ${count} logs.`,
        hint: 'Retry after a few seconds.',
        retryAfter: 5,
      })
    count += 1
    try {
      return await findNewLines(...given)
    } finally {
      count -= 1
    }
  }
}

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
    form.hash(KEY)
    known.add(form.high, form.low)
  })
  const lines: LogNew['lines'] = []
  let count = 0
  const hasOwn = await eachLine(app, own, pause, (text, { line, start, end }) => {
    form.read(text, start, end)
    if (form.isEmpty) return
    form.hash(KEY)
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
  let looked = 0
  let isInLine = false
  for await (const block of wholeLines(logs.read(key, { from: 0, to: row.counted }))) {
    const text = visibleText(block.toString())
    for (let start = 0; start < text.length;) {
      const newline = text.indexOf('\n', start)
      const end = newline < 0 ? text.length : newline
      if (!isInLine) take(text, { line, start, end })
      looked += 1
      if (looked % LINES_PER_LOOK === 0 && pause.isDue() && (await pause())) return false
      isInLine = newline < 0
      if (!isInLine) line += 1
      start = end + 1
    }
    if (line >= MAX_COMPARED || (await pause()))
      return line >= row.lines && block.at(-1) === NEWLINE && row.counted === row.line_start
  }
  return true
}
