/**
 * Counts the lines of streams whose chunks were stored by a server that did not count them: an earlier version, also while servers are replaced one by
 * one. Each step stores its result, so that a long log is counted once, even if the server stops or two readers count at the same time.
 */
import { isFault } from '@windlass/kit'
import { piecesOf } from '../../feed/feed.ts'
import { lockBuild } from '../../store/builds/builds.ts'
import { findStream, listStreamChunks, putStream, setChunkLines, type StreamKey } from '../../store/builds/logs/streams.ts'
import type { ChunkRow, StreamRow } from '../../store/schema/schema.ts'
import type { App } from '../../app.ts'
import { countChunk } from './line-count.ts'
import { countNewlines } from './newlines.ts'

const CHUNKS_PER_STEP = 200

type Deps = Pick<App, 'store' | 'logs'>

/** Returns the stream with all lines counted that are stored at the time of the call; undefined if it does not exist or has expired. */
export async function findCountedStream(app: Deps, key: StreamKey): Promise<StreamRow | undefined> {
  let row = await findStream(app.store.query, key)
  const end = row?.bytes ?? 0
  while (row !== undefined && row.counted < end) {
    if (!(await countNext(app, key, row))) return undefined
    row = await findStream(app.store.query, key)
  }
  return row
}

/** Counts the next chunks. Returns false if they have expired. */
async function countNext({ store, logs }: Deps, key: StreamKey, row: StreamRow): Promise<boolean> {
  const range = { from: row.counted, to: row.bytes, limit: CHUNKS_PER_STEP }
  const chunks = await listStreamChunks(store.query, key, range)
  if (chunks.length === 0) return false
  const counted: { chunk: ChunkRow; before: StreamRow; after: StreamRow }[] = []
  let before = { ...row, first_at: row.first_at ?? chunks[0]?.at ?? null }
  try {
    await using pieces = logs.readParts(chunks.map((chunk) => ({ chunk, from: 0, bytes: chunk.bytes })))
    for (const chunk of chunks) {
      let after = before
      for await (const piece of piecesOf(pieces, chunk.bytes)) after = countChunk(after, piece, countNewlines(piece))
      counted.push({ chunk, before, after })
      before = after
    }
  } catch (error) {
    if (isFault(error, 'not-found')) return false
    throw error
  }
  await store.write(async (tx) => {
    if ((await lockBuild(tx, key.buildId)) === undefined) return
    const now = await findStream(tx.query, key)
    // Another reader was faster.
    if (now?.counted !== row.counted) return
    for (const {
      chunk,
      before: { lines: first },
      after,
    } of counted)
      await setChunkLines(tx, chunk, { first_line: first, lines: after.lines - first })
    const { counted: end, lines, line_start, first_at } = before
    const last_at = end === now.bytes ? (chunks.at(-1)?.at ?? now.last_at) : now.last_at
    await putStream(tx, { ...now, counted: end, lines, line_start, first_at, last_at })
  })
  return true
}
