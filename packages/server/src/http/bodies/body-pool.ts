/** Binary request bodies. They are read into reused buffers, because a new buffer for each log frame would keep the garbage collector busy. */
import type { FastifyRequest } from 'fastify'
import { fault } from '@windlass/kit'

/** Sizes of reused buffers. A body gets one of the next size, so that a small one does not hold a large buffer. Larger bodies get a new buffer. */
const POOLED_BYTES = [65_536, 1_048_576]
/** Free buffers of each size. */
const MAX_FREE = 4

const free = new Map<number, Buffer[]>(POOLED_BYTES.map((bytes) => [bytes, []]))
const inUse = new WeakMap<FastifyRequest, Buffer>()

/** Reads the body of a request. Throws `payload-too-large`. The caller must call `releaseBody` afterwards. */
export async function readBody(request: FastifyRequest, body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (length > limit) throw fault('payload-too-large')
  const size = POOLED_BYTES.find((bytes) => length <= bytes)
  if (!Number.isSafeInteger(length) || size === undefined) return gather(body, limit)
  const memory = free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size)
  inUse.set(request, memory)
  let end = 0
  for await (const chunk of body) {
    if (end + chunk.length > length)
      throw fault('request-invalid', {
        message: 'The body is longer than its Content-Length.',
        hint: 'Send the length of the body as Content-Length, or omit the header.',
      })
    memory.set(chunk, end)
    end += chunk.length
    releaseMemory(chunk)
  }
  return memory.subarray(0, end)
}

/**
 * Frees the memory of a copied chunk, which Node allocated for it alone. The garbage collector would free it later, and would run a full collection for
 * each 16 to 40 MB of such memory.
 */
function releaseMemory({ buffer, length }: Buffer): void {
  // Small buffers share a slab with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
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

/** Returns the buffer of an answered request to the pool. */
export function releaseBody(request: FastifyRequest): void {
  const memory = inUse.get(request)
  if (memory === undefined) return
  inUse.delete(request)
  const others = free.get(memory.length)
  if (others !== undefined && others.length < MAX_FREE) others.push(memory)
}
