/** Compresses answers for callers that accept it. Streams of events and bodies that are compressed already stay as they are. */
import { constants, createGzip, type Gzip } from 'node:zlib'
import type { AnswerHead, Exchange, Headers } from '@windlass/tunnel/exchange'

const TYPES: ReadonlySet<string> = new Set(['text/plain', 'application/xml', 'application/json'])
/** Shorter bodies do not get smaller. Bytes. */
const MIN_BYTES = 1_000
/** Each part is sent at once, because a body without a length may be a stream of lines. */
const SETTINGS = { level: 6, flush: constants.Z_SYNC_FLUSH }
/** Without a body, or with a part of one. */
const WITHOUT: ReadonlySet<number> = new Set([204, 205, 206, 304])

/** Returns the call with answers that are compressed if that is worth it. */
export function withGzip(exchange: Exchange): Exchange {
  if (exchange.method === 'HEAD' || exchange.upgrade !== undefined) return exchange
  const isAccepted = acceptsGzip(exchange.headers['accept-encoding'])
  let gzip: Gzip | undefined
  return {
    ...exchange,
    get isAnswered() {
      return exchange.isAnswered
    },
    respond(answer) {
      if (!isCompressible(answer)) return exchange.respond(answer)
      const headers = { ...answer.headers, vary: withEncoding(answer.headers['vary']) }
      if (!isAccepted) return exchange.respond({ ...answer, headers })
      const to = exchange.respond({ ...answer, headers: compressed(headers) })
      gzip = createGzip(SETTINGS)
      gzip.pipe(to, { end: false })
      to.once('close', () => gzip?.destroy())
      return gzip
    },
    end(trailers) {
      if (gzip === undefined) return exchange.end(trailers)
      gzip.once('end', () => exchange.end(trailers))
      return void gzip.end()
    },
    fail() {
      gzip?.destroy()
      exchange.fail()
    },
  }
}

/** Returns true if `Accept-Encoding` names gzip, and not with a weight of 0 (RFC 9110, 12.5.3). */
export function acceptsGzip(given: string | string[] | undefined): boolean {
  const weights = new Map<string, number>()
  for (const item of [given ?? []].flat().join(',').toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** Returns true for an answer whose body gets smaller. One without a length may be long. */
export function isCompressible({ status, headers }: AnswerHead): boolean {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  if (!TYPES.has(type.trim().toLowerCase()) || WITHOUT.has(status)) return false
  if (headers['content-encoding'] !== undefined || headers['content-range'] !== undefined) return false
  if (/(?:^|[\s,])no-transform\b/i.test(String(headers['cache-control'] ?? ''))) return false
  const length = headers['content-length']
  return length === undefined || Number(length) >= MIN_BYTES
}

/** Returns the headers of the compressed body. Its bytes are others, so a strong tag becomes a weak one, and no part of it can be asked for. */
function compressed({ 'content-length': _length, 'accept-ranges': _ranges, ...headers }: Headers): Headers {
  const { etag } = headers
  const tag = typeof etag === 'string' && etag.startsWith('"') ? { etag: `W/${etag}` } : {}
  return { ...headers, ...tag, 'content-encoding': 'gzip' }
}

/** Tells caches that the answer depends on what the caller accepts. */
function withEncoding(vary: string | string[] | undefined): string {
  const names = [vary ?? []].flat().join(', ')
  if (/(?:^|[\s,])(?:\*|accept-encoding)(?:$|[\s,])/i.test(names)) return names
  return names === '' ? 'accept-encoding' : `${names}, accept-encoding`
}
