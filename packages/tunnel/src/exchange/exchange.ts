/**
 * One call that comes in, with the means to answer it. HTTP/1.1 and HTTP/2 have a source each (`from-http1.ts`, `from-http2.ts`) and a target each
 * (`over-http1.ts`, `over-http2.ts`), so that a call passes from any source to any target: from callers into the tunnel, out of it to the router, and from one
 * server to another.
 */
import type { Duplex, Readable, Writable } from 'node:stream'

/** Names in lower case. */
export type Headers = Record<string, string | string[]>

/** The first part of a call. */
export interface CallHead {
  readonly method: string
  /** Path with query. */
  readonly path: string
  /** Host with port, as the caller named it. */
  readonly authority: string
  /** Without those that belong to one connection. */
  readonly headers: Headers
}

/** The first part of an answer. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Headers
  /** True if trailers may follow the body. */
  readonly mayHaveTrailers: boolean
}

export interface Exchange extends CallHead {
  /** Protocol to which the caller wants to switch, such as `websocket`. */
  readonly upgrade: string | undefined
  /** Undefined for a call without a body, and for one that switches protocols. */
  readonly body: Readable | undefined
  /** Returns what followed the body, once that has ended. */
  trailers(): Headers
  /** Tells a caller that expects it (`expect: 100-continue`) to send the body. */
  continue(): void
  /** Sends the first part of the answer, at once. Returns where its body goes. */
  respond(answer: AnswerHead): Writable
  /** Switches protocols. Returns both directions of the connection. */
  accept(headers: Headers): Duplex
  /** Ends the answer after its body. */
  end(trailers: Headers): void
  /** Breaks the answer off, so that the caller cannot take it for a complete one. */
  fail(): void
  /** True once `respond` or `accept` was called. */
  readonly isAnswered: boolean
  /** Calls `then` if the caller leaves before the answer has ended. */
  onGone(then: () => void): void
}

/** How a call ended. `gone`: its caller left. `idle`: nothing moved for too long. `lost`: no connection took it. The others: see `FAILURES`. */
export type Outcome = 'answered' | 'gone' | 'idle' | 'lost' | 'path' | 'unreachable' | 'broken'

/** Counts and limits what a call moves. */
export interface Meter {
  /** Called for bytes of a body in the direction of the router. */
  sent(bytes: number): void
  /** Called for bytes of an answer. */
  received(bytes: number): void
  /** Milliseconds to wait before more bytes may follow in the direction of the router. Absent: no limit. */
  pauseSent?(bytes: number): number
  /** The same for bytes of answers. */
  pauseReceived?(bytes: number): number
}

export const NO_METER: Meter = { sent: () => undefined, received: () => undefined }
