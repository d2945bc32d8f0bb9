/** Masks a text that is shown elsewhere than in the trace of a job, by the rules of the trace. */
import { openTraceFormat, STREAMS, type TraceFormatOptions } from './trace-format.ts'

export type Masks = Pick<TraceFormatOptions, 'masked' | 'tokenPrefixes' | 'masksAllTokens'>

/** Longest text. Bytes. */
const MAX_TEXT = 4_096

/** Masks a text as the trace of the job. */
export function maskText(text: string, masks: Masks): string {
  const format = openTraceFormat({ ...masks, hasTimes: false, limit: MAX_TEXT })
  const bytes = format.write({ stream: STREAMS.executor, at: 0, bytes: Buffer.from(text) })
  return Buffer.concat([bytes, format.end()]).toString('utf8')
}
