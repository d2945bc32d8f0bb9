import { charBoundary } from '@windlass/ansi'
import { NEWLINE } from './newlines.ts'

/** Minimum size of a block, except the last one. Bytes. */
const BLOCK_BYTES = 65_536
/** Longer lines are split into parts. Bytes. */
const LONGEST_LINE_BYTES = 262_144

/** Joins pieces to blocks that end with a line feed, except the last one, and parts of very long lines. */
export async function* wholeLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const piece of pieces) {
    held.push(piece)
    bytes += piece.length
    if (bytes < BLOCK_BYTES) continue
    const all = held.length === 1 ? piece : Buffer.concat(held, bytes)
    const end = endOfLines(all)
    if (end > 0) yield all.subarray(0, end)
    held = end < bytes ? [all.subarray(end)] : []
    bytes -= end
  }
  if (bytes > 0) yield Buffer.concat(held, bytes)
}

function endOfLines(bytes: Buffer): number {
  const end = bytes.lastIndexOf(NEWLINE) + 1
  return end > 0 || bytes.length < LONGEST_LINE_BYTES ? end : charBoundary(bytes, bytes.length - 1)
}
