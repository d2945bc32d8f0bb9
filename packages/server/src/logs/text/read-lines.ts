/** Lines of a stream by number, for pages that show a part of a log of any size. */
import { colorsAfter } from '@windlass/ansi'
import { MAX_LINE_BYTES, MAX_LINES_BYTES, type LogLines } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listStreamChunks, type StreamKey } from '../../store/builds/logs/streams.ts'
import type { StreamRow } from '../../store/schema/schema.ts'
import { totalLines } from './line-count.ts'
import { expiredLog } from '../expired-log.ts'
import { findLineStart } from './find-line.ts'
import { LineBlock } from './line-block.ts'
import { NEWLINE } from './newlines.ts'

/** How far the colors at the first line are looked for. Bytes. */
const COLORS_BACK_BYTES = 65_536
const CHUNKS_PER_PAGE = 500

type Deps = Pick<App, 'store' | 'logs'>

/** Reads `count` lines from a counted stream. A negative `from` counts from the end. Throws `not-found` if the log expires. */
export async function readLines(app: Deps, row: StreamRow, range: { from: number; count: number }): Promise<LogLines> {
  const total = totalLines(row)
  const from = range.from < 0 ? Math.max(0, total + range.from) : Math.min(range.from, total)
  const startByte = from === total ? row.counted : await findLineStart(app, row, from)
  const block = new LineBlock({
    start: startByte,
    maxLines: range.count,
    maxBytes: MAX_LINES_BYTES,
    maxLineBytes: MAX_LINE_BYTES,
  })
  await fill(app, row, { block, from })
  block.end()
  return {
    attempt: row.attempt,
    stream: row.stream,
    from,
    lines: block.lines,
    total,
    complete: block.isFull && block.endsLine,
    startByte,
    bytes: block.endByte - startByte,
    sgr: await readColors(app, row, startByte),
    times: await readTimes(app, row, { from, block }),
    cut: block.cut.map(([line, bytes]) => [from + line, bytes]),
    text: block.text,
  }
}

/** Reads until the block is full or the stream ends. Skips the end of a line that is cut. */
async function fill(app: Deps, row: StreamRow, { block, from }: { block: LineBlock; from: number }): Promise<void> {
  const key = keyOf(row)
  while (!block.isFull && block.at < row.counted) {
    const { at } = block
    await fillUntilCut(app.logs.read(key, { from: at, to: row.counted }), block)
    if (block.at === at && !block.isFull) throw expiredLog()
    if (!block.isCutting) continue
    const line = from + block.lines
    const hasEnd = line < row.lines
    const end = hasEnd ? await findLineStart(app, row, line + 1) : row.counted
    block.skipTo(end, { hasEnd, tail: block.isRedrawing ? await readTail(app, row, end - (hasEnd ? 1 : 0)) : undefined })
  }
}

/** Reads the end of a long line. */
async function readTail({ logs }: Deps, row: StreamRow, end: number): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(logs.read(keyOf(row), { from: end - MAX_LINE_BYTES, to: end })))
}

/** Adds pieces until the block is full or the rest of a cut line is not in the piece. */
async function fillUntilCut(pieces: AsyncIterable<Buffer>, block: LineBlock): Promise<void> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length && !block.isFull;) {
      const newline = piece.indexOf(NEWLINE, at)
      const next = newline < 0 ? piece.length : newline + 1
      block.add(piece.subarray(at, next))
      at = next
    }
    if (block.isFull || block.isCutting) return
  }
}

async function readColors({ logs }: Deps, row: StreamRow, at: number): Promise<string> {
  const range = { from: Math.max(0, at - COLORS_BACK_BYTES), to: at }
  const pieces = await Array.fromAsync(logs.read(keyOf(row), range))
  return colorsAfter(Buffer.concat(pieces).toString('latin1'))
}

/** Returns the time of each line whose time differs from the line before: that of the chunk with its first byte. */
async function readTimes(
  { store }: Deps,
  row: StreamRow,
  { from, block }: { from: number; block: LineBlock },
): Promise<[number, number][]> {
  const { starts, endByte } = block
  const times: [number, number][] = []
  for (let index = 0; index < starts.length;) {
    const range = { from: starts[index] ?? 0, to: endByte, limit: CHUNKS_PER_PAGE }
    const chunks = await listStreamChunks(store.query, keyOf(row), range)
    if (chunks.length === 0) break
    for (const { start, bytes, at } of chunks) {
      const first = index
      while (index < starts.length && (starts[index] ?? 0) < start + bytes) index += 1
      if (index > first && times.at(-1)?.[1] !== at) times.push([from + first, at])
    }
  }
  return times
}

function keyOf({ build_id: buildId, attempt, stream }: StreamRow): StreamKey {
  return { buildId, attempt, stream }
}
