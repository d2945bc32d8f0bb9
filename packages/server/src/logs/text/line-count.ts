/** The number of lines in the row of a stream. */
import type { StreamRow } from '../../store/schema/schema.ts'
import { NEWLINE } from './newlines.ts'

/** Returns the row after these bytes, which follow the counted ones and have `lines` line feeds. */
export function countChunk(row: StreamRow, bytes: Uint8Array, lines: number): StreamRow {
  return {
    ...row,
    counted: row.counted + bytes.byteLength,
    lines: row.lines + lines,
    line_start: lines === 0 ? row.line_start : row.counted + bytes.lastIndexOf(NEWLINE) + 1,
  }
}

/** Returns the number of lines, with the last one if it is unfinished. */
export function totalLines({ counted, lines, line_start: start }: StreamRow): number {
  return lines + (counted > start ? 1 : 0)
}
