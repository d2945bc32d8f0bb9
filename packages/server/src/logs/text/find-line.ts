/** The place of a line in the bytes of a stream. */
import type { App } from '../../app.ts'
import { findChunkAt, type StreamKey } from '../../store/builds/logs/streams.ts'
import type { StreamRow } from '../../store/schema/schema.ts'
import { expiredLog } from '../expired-log.ts'
import { findNewline } from './newlines.ts'

/** Returns the offset at which a line starts. The last line starts after the last line feed. Throws `not-found` if the log expires. */
export async function findLineStart({ store, logs }: Pick<App, 'store' | 'logs'>, row: StreamRow, line: number): Promise<number> {
  if (line <= 0) return 0
  if (line >= row.lines) return row.line_start
  const key: StreamKey = { buildId: row.build_id, attempt: row.attempt, stream: row.stream }
  // Bisects the chunks for the one with the line feed before the line.
  let [low, high] = [0, row.counted]
  for (;;) {
    const chunk = await findChunkAt(store.query, key, Math.floor((low + high) / 2))
    if (chunk === undefined || chunk.first_line === null || chunk.lines === null) throw expiredLog()
    if (chunk.first_line >= line) high = chunk.start
    else if (chunk.first_line + chunk.lines < line) low = chunk.start + chunk.bytes
    else {
      const pieces = logs.readParts([{ chunk, from: 0, bytes: chunk.bytes }])
      return chunk.start + (await findNewline(pieces, line - chunk.first_line)) + 1
    }
  }
}
