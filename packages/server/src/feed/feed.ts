/** The feed of a build: events and chunks of log in one order, without gaps. */
import type { FeedItem } from '@windlass/protocol'
import { maskExports } from '../builds/build-secrets.ts'
import type { LogStore } from '../logs/log-store.ts'
import type { ChunkRow, EventRow } from '../store/schema.ts'
import { listChunks, listEvents } from '../store/events.ts'
import type { Store } from '../store/store.ts'

export interface FeedRange {
  readonly after: number
  readonly limit: number
}

/** Log bytes in one page, at least one chunk. */
const MAX_PAGE_BYTES = 1_048_576

/** The items after a position, in order; fewer than `limit` when their log is long. */
export async function readFeed(store: Store, logs: LogStore, buildId: string, range: FeedRange): Promise<FeedItem[]> {
  const [events, chunks] = await Promise.all([listEvents(store.query, buildId, range), listChunks(store.query, buildId, range)])
  const rows = [...events, ...chunks].toSorted((a, b) => a.position - b.position).slice(0, range.limit)
  const items: FeedItem[] = []
  let expected = range.after
  let bytes = 0
  for (const row of rows) {
    expected += 1
    if (row.position !== expected) break
    if ('object' in row) bytes += row.bytes
    if (bytes > MAX_PAGE_BYTES && items.length > 0) break
    items.push('object' in row ? await toLogItem(logs, row) : toEventItem(row))
  }
  return items
}

async function toLogItem(logs: LogStore, row: ChunkRow): Promise<FeedItem> {
  const bytes = await logs.readChunk(row)
  return {
    kind: 'log',
    position: row.position,
    attempt: row.attempt,
    at: row.at,
    stream: row.stream,
    offset: row.start,
    bytes: bytes.toString('base64'),
  }
}

function toEventItem(row: EventRow): FeedItem {
  const data: unknown = JSON.parse(row.data)
  return {
    kind: 'event',
    position: row.position,
    attempt: row.attempt,
    source: row.source,
    at: row.at,
    type: row.type,
    data: maskExports(typeof data === 'object' && data !== null ? { ...data } : {}),
  }
}
