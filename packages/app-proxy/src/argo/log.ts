/** The log of a container, as the server of Argo CD streams it: a JSON object in each line. */
import { defined, fault } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { MAX_LOG_LINE, type ContainerLog, type LogLine } from '@windlass/protocol'
import { z } from 'zod'
import { linesOf, newestLines } from '../log/newest-lines.ts'

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
export function readLog(body: AsyncIterable<Uint8Array>, { pod, tail }: LogLimits): Promise<ContainerLog> {
  return newestLines(entriesOf(body, pod), tail)
}

async function* entriesOf(body: AsyncIterable<Uint8Array>, pod: string): AsyncGenerator<LogLine> {
  for await (const entry of linesOf(body, TOO_LONG)) {
    const line = toLogLine(entry, pod)
    if (line !== undefined) yield line
  }
}

/** In the place of a line that is not kept: cut, it is no JSON any more. */
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
