/**
 * Search in the log of a build, on the text that a terminal shows. It reads the log in small blocks, lets other calls run between them, and stops after a
 * second. The caller continues with the cursor.
 */
import { defined, fault } from '@windlass/kit'
import { isTerminalStream, type LogMatches, type LogSearch, type LogSearchQuery } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { findLastStream, findStream, listStreamPage } from '../../store/builds/logs/streams.ts'
import type { StreamRow } from '../../store/schema/schema.ts'
import { findCountedStream } from '../text/count-stream.ts'
import { findLineStart } from '../text/find-line.ts'
import { openPause, type Pause } from '../objects/pause.ts'
import { wholeLines } from '../text/whole-lines.ts'
import { openFinder } from './finder.ts'
import { StreamSearch, type Matches } from './stream-search.ts'

type Query = z.output<typeof LogSearchQuery>

/** Time after which a search stops. Milliseconds. */
const SEARCH_MS = 1_000
const STREAMS_PER_PAGE = 200

/** Where a search starts in a stream. */
interface Start {
  readonly attempt: number
  readonly stream: string
  readonly line: number
}

/** Searches until the limit, the end of the log or the end of the time. Throws `request-invalid` for a pattern that cannot be used. */
export async function searchLog(app: App, buildId: string, query: Query, signal: AbortSignal): Promise<LogSearch> {
  const found: Matches = { find: openFinder(query), limit: query.limit, hasText: query.text, count: 0 }
  const pause = openPause(app, { limitMs: SEARCH_MS, signal })
  const streams: LogMatches[] = []
  const answer = (next?: string): LogSearch => ({ streams, count: found.count, ...defined({ next }) })
  for await (const { row, line } of listTargets(app, buildId, query)) {
    const stopAt = (at: number): string => `${row.attempt} ${at} ${row.stream}`
    if (found.count >= found.limit || (await pause())) return answer(stopAt(line))
    const counted = await findCountedStream(app, { buildId, attempt: row.attempt, stream: row.stream })
    if (counted === undefined) continue
    const search = new StreamSearch(found, line)
    const isStopped = await searchStream(app, counted, { search, pause })
    const { matches, texts } = search
    if (matches.length > 0) streams.push({ attempt: row.attempt, stream: row.stream, matches, ...(query.text && { texts }) })
    if (isStopped) return answer(stopAt(search.next))
  }
  return answer()
}

/** Searches a stream. Returns true if the search stopped before its end. */
async function searchStream(
  app: App,
  row: StreamRow,
  { search, pause }: { search: StreamSearch; pause: Pause },
): Promise<boolean> {
  const key = { buildId: row.build_id, attempt: row.attempt, stream: row.stream }
  const from = search.next > row.lines ? row.counted : await findLineStart(app, row, search.next)
  for await (const block of wholeLines(app.logs.read(key, { from, to: row.counted }))) {
    for (const _ of search.take(block)) if (await pause()) return true
    if (search.isFull) return true
    if ((await pause()) && search.isAtLineStart) return true
  }
  return false
}

/** Yields the streams to search, each with its first line. */
async function* listTargets(
  { store }: App,
  buildId: string,
  { stream, attempt, after }: Query,
): AsyncGenerator<{ row: StreamRow; line: number }> {
  const start = after === undefined ? undefined : readCursor(after)
  // A search of all streams leaves the terminals out.
  const own = stream ?? (start !== undefined && isTerminalStream(start.stream) ? undefined : start?.stream)
  if (start !== undefined && (own !== start.stream || (attempt ?? start.attempt) !== start.attempt))
    throw fault('request-invalid', {
      message: 'The cursor `after` belongs to another stream.',
      hint: 'Use `next` of the previous answer with the same stream and attempt.',
    })
  if (start !== undefined) {
    const row = await findStream(store.query, { buildId, attempt: start.attempt, stream: start.stream })
    if (row !== undefined) yield { row, line: start.line }
  }
  if (stream !== undefined) {
    if (start !== undefined) return
    const row =
      attempt === undefined
        ? await findLastStream(store.query, buildId, stream)
        : await findStream(store.query, { buildId, attempt, stream })
    if (row !== undefined) yield { row, line: 0 }
    return
  }
  for (let last: Pick<StreamRow, 'attempt' | 'stream'> | undefined = start; ;) {
    const page = await listStreamPage(store.query, buildId, { attempt, after: last, limit: STREAMS_PER_PAGE })
    for (const row of page) yield { row, line: 0 }
    if (page.length < STREAMS_PER_PAGE) return
    last = page.at(-1)
  }
}

function readCursor(cursor: string): Start {
  const [attempt = '', line = '', ...rest] = cursor.split(' ')
  return { attempt: Number(attempt), line: Number(line), stream: rest.join(' ') }
}
