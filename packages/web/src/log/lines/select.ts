/** Lines as text: for the clipboard, and as a part of the address. */
import { visibleText } from '@windlass/ansi'
import type { LoadLines } from './source.ts'

/** Maximum number of lines, and of UTF-16 units, that are copied. Larger ranges are downloaded. */
export const MAX_COPIED_LINES = 20_000
const MAX_COPIED_CHARS = 4 * 1024 * 1024
const LINES_PER_CALL = 5_000

/** Reads the visible text of lines, first to last from 0. Returns undefined if it is too long to copy, or if a line is cut. */
export async function readText(
  load: LoadLines,
  [first, last]: readonly [number, number],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (last - first >= MAX_COPIED_LINES) return undefined
  const parts: string[] = []
  let chars = 0
  for (let from = first; from <= last;) {
    const answer = await load({ from, count: Math.min(LINES_PER_CALL, last - from + 1) }, signal)
    if (answer.lines === 0) break
    if (answer.cut.length > 0) return undefined
    const text = visibleText(answer.text)
    parts.push(text)
    chars += text.length
    if (chars > MAX_COPIED_CHARS) return undefined
    from += answer.lines
  }
  return parts.join('')
}

/** Returns the range with a further line, from the line where it began. */
export function extended(range: readonly [number, number] | undefined, line: number): readonly [number, number] {
  if (range === undefined) return [line, line]
  return line < range[0] ? [line, range[1]] : [range[0], line]
}

/** Returns the part of an address that marks lines, such as `#L120-140`. Lines are numbered from 0, and from 1 in the address. */
export function toHash(range: readonly [number, number] | undefined): string {
  if (range === undefined) return ''
  return range[0] === range[1] ? `#L${range[0] + 1}` : `#L${range[0] + 1}-${range[1] + 1}`
}
