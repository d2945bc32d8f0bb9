/** Line feeds in bytes. */

export const NEWLINE = 0x0a

export function countNewlines(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte === NEWLINE) count += 1
  return count
}

export async function countNewlinesIn(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0
  for await (const piece of pieces) count += countNewlines(piece)
  return count
}

/** Returns the offset of the newline with this number, which must exist. The first one has number 1. */
export async function findNewline(pieces: AsyncIterable<Buffer>, number: number): Promise<number> {
  let rest = number
  let start = 0
  for await (const piece of pieces) {
    for (let at = -1; (at = piece.indexOf(NEWLINE, at + 1)) >= 0;) {
      rest -= 1
      if (rest === 0) return start + at
    }
    start += piece.length
  }
  throw new Error('the log changed while it was read')
}
