/** The log of a container, as the server of Argo CD streams it: a JSON object in each line. Only the newest lines are kept in memory. */
import { defined, fault } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { MAX_LOG_BYTES, MAX_LOG_LINE, type ContainerLog, type LogLine } from '@windlass/protocol'
import { z } from 'zod'

/** What a line costs besides its text: its time and the name of its pod. Bytes. */
const LINE_BYTES = 200
/** Bytes of a line of the answer. A longer one is cut, and is no JSON any more. */
const MAX_ENTRY_BYTES = 2_097_152

const optional = z
  .string()
  .nullish()
  .transform((value) => (value === null || value === '' ? undefined : value))

const LogEntry = z.object({
  result: z.object({ content: optional, timeStampStr: optional, podName: optional, last: z.boolean().nullish() }).optional(),
  error: z.object({ message: z.string() }).optional(),
})

export interface LogLimits {
  readonly pod: string
  /** Lines that were asked for. */
  readonly tail: number
}

/** Reads an answer to its end. Throws `argo-cd-refused` with the words of Argo CD. */
export async function readLog(body: AsyncIterable<Uint8Array>, { pod, tail }: LogLimits): Promise<ContainerLog> {
  const kept: LogLine[] = []
  let bytes = 0
  let first = 0
  let isCut = false
  for await (const entry of linesOf(body)) {
    const line = toLogLine(entry, pod)
    if (line === undefined) continue
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

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let isTooLong = false
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      yield isTooLong ? TOO_LONG : line
      isTooLong = false
    }
    if (rest.length > MAX_ENTRY_BYTES) {
      isTooLong = true
      rest = ''
    }
  }
  yield isTooLong ? TOO_LONG : rest
}

/** In the place of a line that is not kept. */
const TOO_LONG = JSON.stringify({ result: { content: '(a line of more than 2 MiB)' } })

function toLogLine(line: string, pod: string): LogLine | undefined {
  if (line === '') return undefined
  const entry = LogEntry.safeParse(parseJson(line))
  if (entry.data?.error !== undefined) throw fault('argo-cd-refused', { message: `Argo CD: ${entry.data.error.message}` })
  const result = entry.data?.result
  if (result === undefined || result.last === true) return undefined
  const { content = '', podName = pod, timeStampStr: at } = result
  const isCut = content.length > MAX_LOG_LINE
  return { pod: podName, text: isCut ? content.slice(0, MAX_LOG_LINE) : content, ...defined({ at }), ...(isCut && { isCut }) }
}
