/** A log as bytes: one stream by range, or all streams of a build in the order of its feed. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { fault } from '@windlass/kit'
import { isTerminalStream, type LogQuery } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { listChunks } from '../store/events.ts'
import { listStreams, type StreamKey } from '../store/streams.ts'

type Query = z.output<typeof LogQuery>

export interface LogRequest {
  readonly buildId: string
  readonly query: Query
  /** The Range header: `bytes=…` of one stream. */
  readonly range: string | undefined
  readonly reply: FastifyReply
  readonly signal: AbortSignal
}

interface Part {
  readonly from: number
  readonly to: number
  readonly total: number
  readonly isPartial: boolean
}

const CHUNKS_PER_PAGE = 100
const TAIL_STEP_BYTES = 65_536

/** Writes the answer. Without a stream the range counts the bytes of all streams together, in feed order. Throws `request-invalid` for a range that is not there. */
export async function serveLog(app: App, request: LogRequest): Promise<void> {
  const { buildId, query, signal } = request
  const streams = await listStreams(app.store.query, buildId)
  if (query.stream === undefined) {
    const total = streams
      .filter(({ stream, attempt }) => isOfLog(stream) && (query.attempt === undefined || attempt === query.attempt))
      .reduce((sum, { bytes }) => sum + bytes, 0)
    const read = (from: number, to: number): AsyncGenerator<Buffer> => readAll(app, buildId, { from, to, attempt: query.attempt })
    return write(request, await choosePart(request, total, read), read)
  }
  const row = streams.findLast(
    ({ stream, attempt }) => stream === query.stream && (query.attempt === undefined || attempt === query.attempt),
  )
  const key: StreamKey = { buildId, attempt: row?.attempt ?? 0, stream: query.stream }
  const read = (from: number, to: number): AsyncGenerator<Buffer> => app.logs.read(key, { from, to })
  if (signal.aborted) return
  await write(request, await choosePart(request, row?.bytes ?? 0, read), read)
}

type Read = (from: number, to: number) => AsyncGenerator<Buffer>

async function choosePart({ query, range }: LogRequest, total: number, read: Read): Promise<Part> {
  if (query.tail !== undefined) return { from: await tailStart(total, query.tail, read), to: total, total, isPartial: false }
  if (range !== undefined) return parseRange(range, total)
  const from = Math.min(query.offset ?? 0, total)
  return { from, to: Math.min(total, from + (query.limit ?? Infinity)), total, isPartial: false }
}

/** One range of RFC 9110 14.1; the whole when it is not of that form. */
function parseRange(header: string, total: number): Part {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim())
  const [, first = '', last = ''] = match ?? []
  if (first === '' && last === '') return { from: 0, to: total, total, isPartial: false }
  const from = first === '' ? Math.max(0, total - Number(last)) : Number(first)
  const to = first === '' || last === '' ? total : Math.min(total, Number(last) + 1)
  if (from >= to) throw fault('request-invalid', { message: `The log has ${total} bytes; ${header} is not among them.` })
  return { from, to, total, isPartial: true }
}

/** Where the last `lines` lines begin; read backwards in growing steps. */
async function tailStart(total: number, lines: number, read: Read): Promise<number> {
  let to = total
  let rest = lines
  for (let step = TAIL_STEP_BYTES; to > 0; step *= 2) {
    const from = Math.max(0, to - step)
    const parts: Buffer[] = []
    for await (const part of read(from, to)) parts.push(part)
    const bytes = Buffer.concat(parts)
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      if (bytes[at] !== 0x0a || from + at === total - 1) continue
      rest -= 1
      if (rest === 0) return from + at + 1
    }
    to = from
  }
  return 0
}

/** What terminals of the debugger have shown is read by the name of its stream only. */
function isOfLog(stream: string): boolean {
  return !isTerminalStream(stream)
}

async function* readAll(
  app: App,
  buildId: string,
  range: { from: number; to: number; attempt: number | undefined },
): AsyncGenerator<Buffer> {
  let passed = 0
  let after = 0
  for (;;) {
    const chunks = await listChunks(app.store.query, buildId, { after, limit: CHUNKS_PER_PAGE })
    for (const chunk of chunks) {
      after = chunk.position
      if (!isOfLog(chunk.stream) || (range.attempt !== undefined && chunk.attempt !== range.attempt)) continue
      const start = Math.max(0, range.from - passed)
      const bytes = Math.min(chunk.bytes, range.to - passed) - start
      passed += chunk.bytes
      if (bytes > 0 && start < chunk.bytes)
        yield await app.logs.objects.get(chunk.object, { start: chunk.object_start + start, bytes })
      if (passed >= range.to) return
    }
    if (chunks.length < CHUNKS_PER_PAGE) return
  }
}

async function write({ reply, signal }: LogRequest, part: Part, read: Read): Promise<void> {
  reply.hijack()
  const { raw } = reply
  const id = reply.getHeader('x-request-id')
  raw.writeHead(part.isPartial ? 206 : 200, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(part.to - part.from),
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-windlass-total': String(part.total),
    ...(part.isPartial && { 'content-range': `bytes ${part.from}-${part.to - 1}/${part.total}` }),
    ...(typeof id === 'string' && { 'x-request-id': id }),
  })
  if (part.to === part.from) return void raw.end()
  await pipeline(Readable.from(read(part.from, part.to)), raw, { signal }).catch(() => raw.destroy())
}
