/** Reads the form with which a runner uploads artifacts. */
import type { RecordedRequest } from './fake-routes.ts'

export interface Upload {
  readonly fileName: string
  readonly bytes: Buffer
  /** Parameters of the query, such as `artifact_type`. */
  readonly query: Readonly<Record<string, string>>
}

/** Returns the file of a form with one part named `file`. Undefined for anything else. */
export function parseUpload({ headers, bytes, query }: Pick<RecordedRequest, 'headers' | 'bytes' | 'query'>): Upload | undefined {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)"?/i.exec(headers['content-type'] ?? '')?.[1]
  if (boundary === undefined) return undefined
  const first = `--${boundary}\r\n`
  const last = `\r\n--${boundary}--`
  const [start, end, headEnd] = [bytes.indexOf(first), bytes.lastIndexOf(last), bytes.indexOf('\r\n\r\n')]
  if (start < 0 || end < 0 || headEnd < 0) return undefined
  const head = bytes.subarray(start + first.length, headEnd).toString('utf8')
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1] ?? ''
  const content = bytes.subarray(headEnd + 4, end)
  if (!/[ ;]name="file"/.test(disposition) || content.includes(`\r\n--${boundary}\r\n`)) return undefined
  return {
    fileName: /filename="([^"]*)"/.exec(disposition)?.[1] ?? '',
    bytes: Buffer.from(content),
    query: Object.fromEntries(query),
  }
}
