/** Calls that come in as streams of HTTP/2. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { INTERNAL } from '../protocol.ts'
import type { Exchange, Headers } from './exchange.ts'
import { crossing, crossingTrailers } from './headers.ts'

const { NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants

/** Returns the call of a stream. `flags` are those of its headers. */
export function fromHttp2(stream: ServerHttp2Stream, given: IncomingHttpHeaders, flags: number): Exchange {
  const headers = crossing(given)
  const upgrade = given[':method'] === 'CONNECT' ? given[':protocol'] : undefined
  const hasBody = upgrade === undefined && (flags & NGHTTP2_FLAG_END_STREAM) === 0
  let trailers: Headers = {}
  let ending: Headers = {}
  stream.once('trailers', (received: IncomingHttpHeaders) => {
    trailers = crossingTrailers(received)
  })
  // An error is followed by `close`, where the code says what happened.
  stream.on('error', () => undefined)
  stream.on('wantTrailers', () => stream.sendTrailers(ending))
  return {
    method: given[':method'] ?? 'GET',
    path: given[':path'] ?? '/',
    authority: given[':authority'] ?? '',
    headers,
    upgrade: upgrade === undefined ? undefined : String(upgrade),
    body: hasBody ? stream : undefined,
    trailers: () => trailers,
    continue() {
      if (!stream.closed && !stream.headersSent) stream.additionalHeaders({ ':status': 100 })
    },
    respond({ status, headers: answer, mayHaveTrailers }) {
      if (!stream.closed) stream.respond({ ...answer, ':status': status }, { waitForTrailers: mayHaveTrailers })
      return stream
    },
    accept(answer) {
      if (!stream.closed) stream.respond({ ...answer, ':status': 200, [INTERNAL.upgraded]: '1' })
      return stream
    },
    end(last) {
      ending = last
      if (!stream.writableEnded) stream.end()
      // The rest of a body that is not wanted would hold the stream open.
      stream.unpipe()
      stream.resume()
    },
    fail: () => stream.close(NGHTTP2_INTERNAL_ERROR),
    get isAnswered() {
      return stream.headersSent
    },
    onGone: (then) =>
      void stream.once('close', () => {
        if (stream.rstCode !== NGHTTP2_NO_ERROR || !stream.headersSent) then()
      }),
  }
}
