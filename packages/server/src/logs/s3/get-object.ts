/** Reading of objects. */
import { S3Error, type S3, type S3Answer } from './client.ts'

/** Bytes of an error that are read at least. */
const ERROR_BYTES = 65_536

/**
 * Reads a range of an object. Returns undefined if the object does not exist, and an answer without bytes if the range starts at its end or behind it. Each
 * call has a range, by which an answer of the store differs from that of a proxy (`answers.ts`).
 */
export async function getObject(
  s3: S3,
  key: string,
  { start, bytes }: { readonly start: number; readonly bytes: number },
): Promise<S3Answer | undefined> {
  const answer = await s3.call({
    action: 'GetObject',
    method: 'GET',
    key,
    headers: { range: `bytes=${start}-${start + bytes - 1}` },
    accepts: ['NoSuchKey', 'InvalidRange'],
    maxBytes: Math.max(bytes, ERROR_BYTES),
  })
  if (answer.code === 'NoSuchKey') return undefined
  return { ...answer, body: answer.code === 'InvalidRange' ? Buffer.alloc(0) : answer.body.subarray(0, bytes) }
}

/**
 * Returns the size of an object in bytes, or undefined if it does not exist. Reads one byte instead of calling HeadObject, whose answers have no body and
 * therefore do not show whether the store or a proxy says 404.
 */
export async function sizeOf(s3: S3, key: string): Promise<number | undefined> {
  const answer = await getObject(s3, key, { start: 0, bytes: 1 })
  if (answer === undefined) return undefined
  if (answer.code === 'InvalidRange') return 0
  const total = /^bytes 0-0\/(\d+)$/.exec(answer.headers['content-range'] ?? '')?.[1]
  if (total === undefined) throw new S3Error('S3 GetObject: no size in Content-Range', { status: 0, code: 'NoAnswer' })
  return Number(total)
}
