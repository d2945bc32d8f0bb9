/** What the sources of an event stream have in common: each follows one topic. */
import type { StreamEventData, StreamEventName } from '@windlass/protocol'

/** Sends an event with the cursor over all topics. Resolves when the reader can accept more. */
export type Send = <N extends StreamEventName>(event: N, data: StreamEventData<N>) => Promise<void>

export interface Source {
  /** The topic without its position. */
  readonly key: string
  /** Topics that wake the source. It has no turn because of others. */
  readonly wakes: readonly string[]
  /** Minimum time between two turns, unless there is more to send. Milliseconds. */
  readonly restMs: number
  /** The position after which the topic continues; undefined for `account`. */
  readonly position: () => number | undefined
  /** Sends what is there, up to a limit, so that other topics have their turn. */
  next(send: Send): Promise<Progress>
}

/** `more`: the source has more to send at once. `end`: nothing follows. A number: the source waits to be woken, or for at most this many milliseconds. */
export type Progress = 'more' | 'end' | number

/** How long a source waits that only a wake-up concerns. Milliseconds. */
export const UNTIL_WOKEN = Number.POSITIVE_INFINITY
