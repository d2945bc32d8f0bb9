/** Download of a log: one stream by range, or all streams of a build in the order of its feed. As it was written, or as a file in other forms. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { visibleText } from '@windlass/ansi'
import type { FastifyReply } from 'fastify'
import { fault } from '@windlass/kit'
import { isTerminalStream, type LogQuery } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { openOutlet } from '../feed/event-stream.ts'
import { countNewlinesIn, findNewline } from './text/newlines.ts'
import type { ChunkPart } from './objects/read-ahead.ts'
import { listChunks } from '../store/builds/events.ts'
import { listStreams, type StreamKey } from '../store/builds/logs/streams.ts'
import type { BuildRow } from '../store/schema/schema.ts'
import { wholeLines } from './text/whole-lines.ts'

type Query = z.output<typeof LogQuery>

export interface LogRequest {
  readonly build: Pick<BuildRow, 'id' | 'number'>
  readonly query: Query
  /** The Range header: `bytes=…`. */
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

const CHUNKS_PER_PAGE = 200
const TAIL_STEP_BYTES = 65_536
const TAIL_MAX_STEP_BYTES = 262_144

/** Writes the response. Without a stream the range counts the bytes of all streams in feed order. Throws `request-invalid` for a range outside the log. */
export async function serveLog(app: App, request: LogRequest): Promise<void> {
  const { query, signal } = request
  const { id: buildId } = request.build
  if (query.gzip && query.download === undefined)
    throw fault('request-invalid', { message: '`gzip` needs `download`.', hint: 'Set `download` to raw or text.' })
  const streams = await listStreams(app.store.query, buildId)
  if (query.stream === undefined) {
    const total = streams
      .filter(({ stream, attempt }) => isOfLog(stream) && (query.attempt === undefined || attempt === query.attempt))
      .reduce((sum, { bytes }) => sum + bytes, 0)
    const read = openReadAll(app, buildId, query.attempt)
    return write(app, request, await choosePart(request, total, read), read)
  }
  const row = streams.findLast(
    ({ stream, attempt }) => stream === query.stream && (query.attempt === undefined || attempt === query.attempt),
  )
  const key: StreamKey = { buildId, attempt: row?.attempt ?? 0, stream: query.stream }
  const read = (from: number, to: number): AsyncGenerator<Buffer> => app.logs.read(key, { from, to })
  if (signal.aborted) return
  await write(app, request, await choosePart(request, row?.bytes ?? 0, read), read)
}

type Read = (from: number, to: number) => AsyncGenerator<Buffer>

async function choosePart({ query, range }: LogRequest, total: number, read: Read): Promise<Part> {
  if (query.tail !== undefined) return { from: await tailStart(total, query.tail, read), to: total, total, isPartial: false }
  if (range !== undefined && !isConverted(query)) return parseRange(range, total)
  const from = Math.min(query.offset ?? 0, total)
  return { from, to: Math.min(total, from + (query.limit ?? Infinity)), total, isPartial: false }
}

/** Parses a single range of RFC 9110 14.1. Returns the whole log if the header has another form. */
function parseRange(header: string, total: number): Part {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim())
  const [, first = '', last = ''] = match ?? []
  if (first === '' && last === '') return { from: 0, to: total, total, isPartial: false }
  const from = first === '' ? Math.max(0, total - Number(last)) : Number(first)
  const to = first === '' || last === '' ? total : Math.min(total, Number(last) + 1)
  if (from >= to)
    throw fault('request-invalid', {
      message: `The range "${header}" is outside the log, which has ${total} bytes.`,
      hint: 'Start the range before the end of the log.',
    })
  return { from, to, total, isPartial: true }
}

/** Returns the offset of the last `lines` lines. Reads backwards in growing steps, keeps one piece in memory, and reads the step of the result twice. */
export async function tailStart(total: number, lines: number, read: Read): Promise<number> {
  // A newline at the end of the log ends the last line and does not start another one.
  const end = total - 1
  let to = end
  let rest = lines
  for (let step = TAIL_STEP_BYTES; to > 0; step = Math.min(2 * step, TAIL_MAX_STEP_BYTES)) {
    const from = Math.max(0, to - step)
    const count = await countNewlinesIn(read(from, to))
    if (count >= rest) return from + (await findNewline(read(from, to), count - rest + 1)) + 1
    rest -= count
    to = from
  }
  return 0
}

/** False for the output of debug terminals, which is only served by stream name. */
function isOfLog(stream: string): boolean {
  return !isTerminalStream(stream)
}

/** Returns a function that reads the streams of a build in feed order. It remembers where each page of chunks starts, so that none is listed again. */
function openReadAll(app: App, buildId: string, attempt: number | undefined): Read {
  const pages = [{ passed: 0, after: 0 }]
  return async function* (from, to) {
    let { passed, after } = pages.findLast((page) => page.passed <= from) ?? { passed: 0, after: 0 }
    for (;;) {
      const chunks = await listChunks(app.store.query, buildId, { after, limit: CHUNKS_PER_PAGE })
      const parts: ChunkPart[] = []
      for (const chunk of chunks) {
        after = chunk.position
        if (!isOfLog(chunk.stream) || (attempt !== undefined && chunk.attempt !== attempt)) continue
        const start = Math.max(0, from - passed)
        const bytes = Math.min(chunk.bytes, to - passed) - start
        passed += chunk.bytes
        if (bytes > 0 && start < chunk.bytes) parts.push({ chunk, from: start, bytes })
      }
      if (after > (pages.at(-1)?.after ?? 0)) pages.push({ passed, after })
      yield* app.logs.readParts(parts)
      if (passed >= to || chunks.length < CHUNKS_PER_PAGE) return
    }
  }
}

/** True if the response has other bytes than the log, so their number is not known before. */
function isConverted({ download, gzip }: Query): boolean {
  return download === 'text' || gzip
}

async function write(app: App, request: LogRequest, part: Part, read: Read): Promise<void> {
  const { query, reply, signal } = request
  const headers = {
    'content-type': query.gzip ? 'application/gzip' : 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-windlass-total': String(part.total),
    ...(query.download !== undefined && { 'content-disposition': `attachment; filename="${fileName(request)}"` }),
    ...(!isConverted(query) && { 'content-length': String(part.to - part.from), 'accept-ranges': 'bytes' }),
    ...(part.isPartial && { 'content-range': `bytes ${part.from}-${part.to - 1}/${part.total}` }),
  }
  const out = openOutlet(app, reply, { status: part.isPartial ? 206 : 200, headers, signal })
  try {
    for await (const piece of convert(read(part.from, part.to), query)) {
      if (signal.aborted) throw signal.reason
      await out.write(piece)
    }
    out.end()
  } catch (error) {
    // Fewer bytes were sent than announced, so the connection must fail visibly.
    reply.raw.destroy()
    if (!signal.aborted) app.log.warn({ err: error }, 'log download aborted')
  }
}

function convert(pieces: AsyncIterable<Buffer>, { download, gzip }: Query): AsyncIterable<Uint8Array> {
  const plain = download === 'text' ? toText(pieces) : pieces
  return gzip ? compress(plain) : plain
}

async function* toText(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const block of wholeLines(pieces)) yield Buffer.from(visibleText(block.toString()))
}

async function* compress(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const gzip = createGzip()
  const written = pipeline(Readable.from(pieces, { objectMode: true }), gzip)
  // The loop below throws the same error.
  written.catch(() => undefined)
  for await (const piece of gzip) yield piece as Buffer
  await written
}

/** Returns a file name such as `build-42-unit_tests-attempt-2.log`. */
function fileName({ build, query }: LogRequest): string {
  const step = query.stream?.replace(/^step\//, '').replaceAll(/[^\w.-]+/g, '_')
  const attempt = query.attempt === undefined ? undefined : `attempt-${query.attempt}`
  return `${['build', build.number, step, attempt].filter((part) => part !== undefined).join('-')}.log${query.gzip ? '.gz' : ''}`
}
