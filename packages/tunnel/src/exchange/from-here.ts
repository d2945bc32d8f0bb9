/** Calls that this process makes itself. */
import { PassThrough, Readable } from 'node:stream'
import type { CallHead, Exchange, Headers } from './exchange.ts'

/** The answer to an own call. The body breaks with an error if the answer ends early. Destroying it gives the call up. */
export interface OwnAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readable
}

export interface OwnCall {
  readonly exchange: Exchange
  /** Resolves once the answer has begun. Never rejects: `callOver…` says why there is none. */
  readonly answer: Promise<OwnAnswer>
  /** Gives the call up, at any time. */
  leave(): void
}

/** Returns a call with a complete body, or none. */
export function fromHere(head: CallHead, body: Uint8Array | undefined): OwnCall {
  const { promise, resolve } = Promise.withResolvers<OwnAnswer>()
  const received = new PassThrough()
  // Whoever reads it is told too. Nobody may have begun.
  received.on('error', () => undefined)
  let isAnswered = false
  return {
    answer: promise,
    leave: () => void received.destroy(),
    exchange: {
      ...head,
      headers: { ...head.headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
      upgrade: undefined,
      body: body && Readable.from([body]),
      trailers: () => ({}),
      continue: () => undefined,
      respond({ status, headers }) {
        isAnswered = true
        resolve({ status, headers, body: received })
        return received
      },
      accept: () => {
        throw new Error('the call asked for no other protocol')
      },
      end: () => void received.end(),
      fail: () => void received.destroy(new Error('the answer ended early')),
      get isAnswered() {
        return isAnswered
      },
      onGone(then) {
        const tell = (): void => {
          if (!received.writableFinished) then()
        }
        if (received.destroyed) tell()
        else received.once('close', tell)
      },
    },
  }
}
