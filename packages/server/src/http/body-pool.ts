/** Bodies that are bytes: read into memory that is used again, because new memory for each frame of a loud log keeps the garbage collector busy. */
import type { FastifyRequest } from 'fastify'
import { fault } from '@windlass/kit'

/** Larger bodies get memory of their own. */
const POOLED_BYTES = 1_048_576
const MOST_KEPT = 4

const free: Buffer[] = []
const lent = new WeakMap<FastifyRequest, Buffer>()

/** Reads the body of a request. Throws `payload-too-large`; `release` takes its memory back. */
export async function readBody(request: FastifyRequest, body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (length > limit) throw fault('payload-too-large')
  if (!Number.isSafeInteger(length) || length > POOLED_BYTES) return gather(body, limit)
  const memory = free.pop() ?? Buffer.allocUnsafeSlow(POOLED_BYTES)
  lent.set(request, memory)
  let end = 0
  for await (const chunk of body) {
    if (end + chunk.length > length) throw fault('request-invalid', { message: 'The body is longer than it says.' })
    memory.set(chunk, end)
    end += chunk.length
  }
  return memory.subarray(0, end)
}

async function gather(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > limit) throw fault('payload-too-large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The request is answered: nobody looks at its body any more. */
export function releaseBody(request: FastifyRequest): void {
  const memory = lent.get(request)
  if (memory === undefined) return
  lent.delete(request)
  if (free.length < MOST_KEPT) free.push(memory)
}
