/** Sends calls over an HTTP/2 connection. */
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { FAILURES, INTERNAL } from '../protocol.ts'
import { withOwnCookies } from './cookies.ts'
import type { Exchange, Headers, Meter, Outcome } from './exchange.ts'
import { crossing, crossingTrailers } from './headers.ts'
import { join, pump } from './pump.ts'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants

export interface OverHttp2 {
  readonly session: ClientHttp2Session
  /** Host of the call in lower case, without a port. Cookies of the answer are for it alone. */
  readonly host: string
  /** Time without any bytes after which the call ends. Milliseconds. */
  readonly idleMs: number
  readonly meter: Meter
}

/** Passes a call on. Resolves when it is over. If the caller has no answer then (`isAnswered`), the outcome says why. */
export async function callOverHttp2(exchange: Exchange, { session, host, idleMs, meter }: OverHttp2): Promise<Outcome> {
  const { body, upgrade } = exchange
  let stream: ClientHttp2Stream
  try {
    stream = session.request(requestHeaders(exchange), {
      endStream: body === undefined && upgrade === undefined,
      waitForTrailers: body !== undefined,
    })
  } catch {
    // The connection has ended since it was chosen.
    return 'lost'
  }
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  let trailers: Headers = {}
  let hasAnswer = false
  const cancel = (outcome: Outcome): void => {
    resolve(outcome)
    stream.close(NGHTTP2_CANCEL)
  }
  exchange.onGone(() => cancel('gone'))
  stream.setTimeout(idleMs, () => cancel('idle'))
  stream.on('error', () => undefined)
  stream.once('close', () => {
    // What has arrived of an answer may still be on its way to the caller.
    if (!hasAnswer) resolve(isRefused(stream) ? 'lost' : 'broken')
  })
  stream.on('wantTrailers', () => stream.sendTrailers(exchange.trailers()))
  stream.on('continue', () => exchange.continue())
  stream.once('trailers', (received) => {
    trailers = crossingTrailers(received)
  })
  const breakOff = (): void => {
    exchange.fail()
    cancel('broken')
  }
  const answerWith = (headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void => {
    const failure = FAILURES.find((one) => one === headers[INTERNAL.failure])
    if (failure !== undefined) return cancel(failure)
    hasAnswer = true
    const answer = withOwnCookies(crossing(headers), host)
    if (upgrade !== undefined && headers[INTERNAL.upgraded] !== undefined) {
      const bytes = { onRead: meter.received, onWrite: meter.sent }
      return void join(stream, exchange.accept(answer), bytes).then(() => resolve('answered'))
    }
    // HTTP/2 does not say whether trailers follow, and HTTP/1.1 allows them after a body without a length.
    const mayHave = headers['content-length'] === undefined
    const to = exchange.respond({ status: Number(headers[':status'] ?? 502), headers: answer, mayHaveTrailers: mayHave })
    const end = (): void => {
      // A reset stream ends like a complete one.
      if (stream.rstCode !== NGHTTP2_NO_ERROR) return breakOff()
      exchange.end(trailers)
      // The rest of a body that is not wanted stays at the caller.
      body?.unpipe()
      if (!stream.writableEnded) stream.close(NGHTTP2_NO_ERROR)
      return resolve('answered')
    }
    return void pump(stream, to, { onBytes: meter.received, pauseFor: meter.pauseReceived }).then(end).catch(breakOff)
  }
  stream.once('response', (headers) => {
    try {
      answerWith(headers)
    } catch {
      // HTTP/1.1 does not allow this status or a header. It must not end this process.
      breakOff()
    }
  })
  if (body !== undefined)
    void pump(body, stream, { onBytes: meter.sent, pauseFor: meter.pauseSent }).then(
      () => stream.end(),
      // The caller left, or the answer came before the end of the body.
      () => undefined,
    )
  return promise
}

/** True if the other end has not begun with the call (RFC 9113, 8.7), as when it is full or stops. */
function isRefused({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode === constants.NGHTTP2_REFUSED_STREAM
}

function requestHeaders({ method, path, authority, headers, upgrade }: Exchange): Headers {
  const pseudo = { ':path': path, ':authority': authority, ':scheme': 'https' }
  // Extended CONNECT, RFC 8441.
  if (upgrade !== undefined) return { ...headers, ...pseudo, ':method': 'CONNECT', ':protocol': upgrade }
  return { ...headers, ...pseudo, ':method': method }
}
