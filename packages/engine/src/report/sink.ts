/** The target for events and log bytes of an attempt: a server or a local callback. The spool is drained into it. */
import type { Fault } from '@windlass/kit'
import type { EngineEvent } from '@windlass/protocol'

/** A part of one log stream, masked. */
export interface LogFrame {
  /** `system` or `step/<name>`. */
  readonly stream: string
  /** Offset of `bytes` in the stream. */
  readonly offset: number
  readonly bytes: Uint8Array
  /** Hex SHA-256 of `bytes`. */
  readonly sha256: string
  /** Write time of the first byte, epoch milliseconds. The last byte is later by at most the flush interval. */
  readonly at: number
  /** True if an earlier frame of the stream is still in flight. */
  readonly isAhead?: boolean
}

/**
 * Contract: `events` is called one at a time. `frame` is called in order per stream, up to `inFlight` times before the first call has resolved. After
 * an error, both may be called again with data that was accepted before, which must be harmless. After a fault the call is retried with backoff
 * forever unless `isFinal` returns true; any other error ends the drain. Events that are rejected for their content (`request-invalid`,
 * `payload-too-large`) are sent with less.
 */
export interface Sink {
  /** Takes events in order. Returns the sequence number up to which all are stored. */
  events(events: readonly EngineEvent[], signal: AbortSignal): Promise<number>
  /** Takes a frame. Returns the end offset of the stored stream. The sink may use the bytes only until then. */
  frame(frame: LogFrame, signal: AbortSignal): Promise<number>
  /** The flush interval of small output as last requested by the server. Milliseconds. Default 100. */
  flushMs?(): number | undefined
  /** Number of calls of `frame` that may be in progress, as last requested by the server. Default 1. */
  inFlight?(): number | undefined
  /** Returns true for a fault after which the sink accepts nothing more. */
  isFinal(error: Fault): boolean
}
