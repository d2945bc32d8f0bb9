/** Reads streams of logs, of which only the newest lines are kept in memory. */
import { MAX_LOG_BYTES, type ContainerLog, type LogLine } from '@windlass/protocol'

/** What a line costs besides its text: its time and the name of its pod. Bytes. */
const LINE_BYTES = 200
/** Bytes of a line of the stream. A longer one is not kept. */
const MAX_LINE_BYTES = 2_097_152

/** Returns the last `tail` lines, as far as one answer has room for them. */
export async function newestLines(lines: AsyncIterable<LogLine>, tail: number): Promise<ContainerLog> {
  const kept: LogLine[] = []
  let bytes = 0
  let first = 0
  let isCut = false
  for await (const line of lines) {
    kept.push(line)
    bytes += sizeOf(line)
    for (; bytes > MAX_LOG_BYTES && first < kept.length - 1; first += 1) {
      bytes -= sizeOf(kept[first])
      isCut = true
    }
    // Now and then, because it moves all others.
    if (first > tail) kept.splice(0, first)
    if (first > tail) first = 0
  }
  const items = kept.slice(first)
  return { items, ...((isCut || items.length >= tail) && { isCut: true }) }
}

function sizeOf(line: LogLine | undefined): number {
  return line === undefined ? 0 : Buffer.byteLength(line.text) + LINE_BYTES
}

/** Splits a stream at its line feeds. `tooLong` is in the place of a line that is not kept. */
export async function* linesOf(body: AsyncIterable<Uint8Array>, tooLong: string): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let isTooLong = false
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      yield isTooLong ? tooLong : line
      isTooLong = false
    }
    if (rest.length > MAX_LINE_BYTES) {
      isTooLong = true
      rest = ''
    }
  }
  yield isTooLong ? tooLong : rest
}
