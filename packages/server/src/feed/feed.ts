/** The feed of a build: events and log chunks in one order, without gaps. In an expired log, one item replaces each missing range. */
import { isFault } from '@windlass/kit'
import { isTerminalStream, type FeedItem } from '@windlass/protocol'
import type { App } from '../app.ts'
import { maskValues } from '../builds/create/build-secrets.ts'
import { PIECE_BYTES, type ChunkPart } from '../logs/objects/read-ahead.ts'
import type { BuildRow, ChunkRow } from '../store/schema/schema.ts'
import { findEventData, listChunks, listEvents, type EventHead } from '../store/builds/events.ts'
import type { Query } from '../store/store.ts'

export interface FeedRange {
  readonly after: number
  readonly limit: number
  /** True if the output of terminals is left empty, for a caller who may open none. */
  readonly hidesTerminals?: boolean
}

/** The build as read before its feed. Everything up to its `feed_position` is then visible. */
export type FeedState = Pick<BuildRow, 'id' | 'attempt' | 'feed_position' | 'logs_expired_at'>

/** An item of the feed before its log bytes or event data are read. */
export type FeedEntry =
  | { readonly position: number; readonly bytes: number; readonly item: FeedItem }
  | { readonly position: number; readonly bytes: number; readonly event: EventHead }
  | { readonly position: number; readonly bytes: number; readonly chunk: ChunkRow }

/** Maximum bytes of log and events in a page, unless a single item is larger. In base64 a page is smaller than 1 MiB. */
const MAX_PAGE_BYTES = 524_288

/** Reads the items after a position, in order. Returns fewer than `limit` if they are large. */
export async function readFeed(
  { store, logs }: Pick<App, 'store' | 'logs'>,
  build: FeedState,
  range: FeedRange,
): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  let bytes = 0
  const all = await listFeed(store.query, build, range)
  const end = all.findIndex((entry, index) => (bytes += entry.bytes) > MAX_PAGE_BYTES && index > 0)
  const entries = end < 0 ? all : all.slice(0, end)
  await using pieces = logs.readParts(chunkParts(entries))
  for (const entry of entries) {
    const item = 'chunk' in entry ? await toLogItem(pieces, entry.chunk) : await toItem(store.query, entry)
    // The log has expired in the meantime. The next page reports it.
    if (item === undefined) break
    items.push(item)
  }
  return items
}

/** Reads the events after a position, in order, without the log. Returns fewer than `limit` if they are large. */
export async function readEvents(
  { store: { query } }: Pick<App, 'store'>,
  build: FeedState,
  range: FeedRange,
): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  let bytes = 0
  for (const event of await listEvents(query, build.id, range)) {
    // Those before it may not be visible yet.
    if (event.position > build.feed_position) break
    bytes += event.length
    if (bytes > MAX_PAGE_BYTES && items.length > 0) break
    const item = await toItem(query, { position: event.position, bytes: event.length, event })
    if (item !== undefined) items.push(item)
  }
  return items
}

/** Returns what must be read of the log for the entries. */
export function chunkParts(entries: readonly FeedEntry[]): ChunkPart[] {
  return entries.flatMap((entry) => ('chunk' in entry ? [{ chunk: entry.chunk, from: 0, bytes: entry.bytes }] : []))
}

/** Reads the item of an entry that is not a log chunk. Returns undefined if its event has been deleted. */
export async function toItem(query: Query, entry: Exclude<FeedEntry, { chunk: ChunkRow }>): Promise<FeedItem | undefined> {
  if ('item' in entry) return entry.item
  const data = entry.event.data ?? (await findEventData(query, entry.event))
  return data === undefined ? undefined : toEventItem(entry.event, data)
}

/** Lists the entries after a position, in order. */
export async function listFeed(query: Query, build: FeedState, range: FeedRange): Promise<FeedEntry[]> {
  const [events, chunks] = await Promise.all([listEvents(query, build.id, range), listChunks(query, build.id, range)])
  const rows = [...events, ...chunks].toSorted((a, b) => a.position - b.position).slice(0, range.limit)
  const entries: FeedEntry[] = []
  let expected = range.after + 1
  const expiredAt = build.logs_expired_at ?? undefined
  /** Skips a gap in an expired log. Without expiry, a gap means that one of the two queries has not seen the newest rows, and the page ends there. */
  const skipGap = (to: number): boolean => {
    if (to < expected || expiredAt === undefined) return to < expected
    const item = toExpiredItem({ from: expected, to, at: expiredAt, attempt: build.attempt })
    entries.push({ position: to, bytes: 0, item })
    expected = to + 1
    return entries.length < range.limit
  }
  for (const row of rows) {
    if (!skipGap(row.position - 1)) return entries
    const { position } = row
    if (!('object' in row)) entries.push({ position, bytes: row.length, event: row })
    else if (range.hidesTerminals === true && isTerminalStream(row.stream))
      entries.push({ position, bytes: 0, item: { ...toLogHead(row), bytes: '' } })
    else entries.push({ position, bytes: row.bytes, chunk: row })
    expected += 1
  }
  if (rows.length < range.limit && expiredAt !== undefined) skipGap(build.feed_position)
  return entries
}

interface Expired {
  readonly from: number
  readonly to: number
  readonly at: number
  readonly attempt: number
}

/** Returns the item that replaces the positions `from` to `to`. A follower continues after the last one. */
function toExpiredItem({ from, to, at, attempt }: Expired): FeedItem {
  return { kind: 'event', position: to, attempt, source: 'server', at, type: 'log.expired', data: { from, to } }
}

/** Reads the next chunk. Returns undefined if it has expired. */
async function toLogItem(pieces: AsyncIterator<Buffer>, row: ChunkRow): Promise<FeedItem | undefined> {
  try {
    const parts = await Array.fromAsync(piecesOf(pieces, row.bytes))
    return { ...toLogHead(row), bytes: Buffer.concat(parts).toString('base64') }
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    throw error
  }
}

/** Yields the pieces of the next chunk, which has `bytes` bytes. */
export async function* piecesOf(pieces: AsyncIterator<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    const next = await pieces.next()
    if (next.done === true) return
    yield next.value
  }
}

/** Converts a chunk to a feed item without its bytes. */
export function toLogHead(row: ChunkRow): Omit<Extract<FeedItem, { kind: 'log' }>, 'bytes'> {
  return { kind: 'log', position: row.position, attempt: row.attempt, at: row.at, stream: row.stream, offset: row.start }
}

function toEventItem(row: EventHead, json: string): FeedItem {
  const data: unknown = JSON.parse(json)
  return {
    kind: 'event',
    position: row.position,
    attempt: row.attempt,
    source: row.source,
    at: row.at,
    type: row.type,
    data: maskValues(typeof data === 'object' && data !== null ? { ...data } : {}),
  }
}
