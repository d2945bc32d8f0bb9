/** Where events and log bytes of an attempt go: a server, or a callback on this machine. The spool is drained into it. */
import type { EngineEvent } from '@windlass/protocol'

/** A piece of one log stream, already masked. */
export interface LogFrame {
  /** `system` or `step/<name>`. */
  readonly stream: string
  /** Where `bytes` begins in the stream. */
  readonly offset: number
  readonly bytes: Uint8Array
  /** Hex SHA-256 of `bytes`. */
  readonly sha256: string
  /** When the first byte was written, epoch milliseconds; the last is at most 100 ms younger. */
  readonly at: number
}

/**
 * Contract: `events` and `frame` are called one at a time each, in order per stream; both may be called again with what was taken before
 * (after an error), which must be harmless. An error that is a retryable fault is met with back-off and another call, for ever;
 * `attempt-stale` and other faults end the drain.
 */
export interface Sink {
  /** Takes events in order; answers the sequence up to which all are kept. */
  events(events: readonly EngineEvent[], signal: AbortSignal): Promise<number>
  /** Takes a frame; answers the offset at which the kept stream ends now. Its bytes are the sink's until then and not longer. */
  frame(frame: LogFrame, signal: AbortSignal): Promise<number>
}
