/** Lines of logs of pods, from the bytes of Kubernetes, which have times, or from those of the archive, which have none. */
import { MAX_LOG_LINE, type LogLine } from '@windlass/protocol'
import { linesOf } from '../log/newest-lines.ts'

const LINE_FEED = 0x0a
/** More bytes than a line that is not cut can have. */
const MAX_LINE_BYTES = 4 * MAX_LOG_LINE
const TOO_LONG = '(a line of more than 2 MiB)'

/** Yields the lines of a log of Kubernetes. */
export async function* timedLines(body: AsyncIterable<Uint8Array>, pod: string): AsyncGenerator<LogLine> {
  for await (const line of linesOf(body, TOO_LONG)) {
    if (line === '') continue
    const [, at, text = line] = /^(\d{4}-\d\d-\d\dT\S+(?:Z|[+-]\d\d:\d\d)) (.*)$/s.exec(line) ?? []
    yield { ...toLine(pod, text), ...(at !== undefined && { at }) }
  }
}

export interface PlainLog {
  readonly pod: string
  /** True if the bytes begin in the middle of a line, which is left out. */
  readonly isPart: boolean
  readonly tail: number
}

/** Returns the last lines of an archived log, also empty ones. Looks at them only: others may be millions. */
export function lastLines(bytes: Buffer, { pod, isPart, tail }: PlainLog): LogLine[] {
  const lines: LogLine[] = []
  // What follows the last line feed is a line only if it is not empty.
  let end = bytes.at(-1) === LINE_FEED ? bytes.length - 1 : bytes.length
  while (bytes.length > 0 && lines.length < tail) {
    const begin = end === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, end - 1) + 1
    if (begin === 0 && isPart) break
    lines.push(toLine(pod, bytes.toString('utf8', begin, Math.min(end, begin + MAX_LINE_BYTES))))
    if (begin === 0) break
    end = begin - 1
  }
  return lines.toReversed()
}

export async function* inOrder(lines: readonly LogLine[]): AsyncGenerator<LogLine> {
  yield* lines
}

function toLine(pod: string, text: string): LogLine {
  const isCut = text.length > MAX_LOG_LINE
  return { pod, text: isCut ? text.slice(0, MAX_LOG_LINE) : text, ...(isCut && { isCut }) }
}
