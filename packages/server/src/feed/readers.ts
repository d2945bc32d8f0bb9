/** Limits for concurrent readers of streams, in total and per caller. A reader uses resources even if it does not read. */
import { fault } from '@windlass/kit'
import { isAllowed, type Actor } from '../identity/actor.ts'

export interface ReaderLimits {
  /** Maximum number of readers of this server: followers, log downloads, terminals, topics of event streams. */
  readonly total: number
  /** Maximum number of readers with one credential. */
  readonly perKey: number
  /** Time after which a reader that accepts no data is disconnected. Milliseconds. */
  readonly stallMs: number
  /** Maximum age of an event stream. It then ends without `end`, and the reader must reconnect with a valid credential. Milliseconds. */
  readonly lifeMs: number
}

export const READER_LIMITS: ReaderLimits = { total: 1000, perKey: 200, stallMs: 60_000, lifeMs: 3_600_000 }

export interface Readers {
  readonly limits: ReaderLimits
  /** Current number of readers. */
  readonly count: number
  /** Counts a reader, or several for a stream of several topics, until the result is disposed. Throws `too-many-readers` (with `retryAfter`) if a limit is reached. */
  take(actor: Actor, places?: number): Disposable
}

const RETRY_AFTER_S = 5
/** Maximum number of open streams of the steps of one build. */
const PER_BUILD = 10
/** Share of all streams that is reserved for the keys of users and admins. */
const RESERVE = 0.1

export function openReaders(limits: ReaderLimits): Readers {
  const counts = new Map<string, number>()
  let total = 0
  return {
    limits,
    get count() {
      return total
    },
    take(actor, places = 1) {
      const key = actor.kind === 'nobody' ? 'nobody' : `${actor.kind}/${actor.id}`
      const own = counts.get(key) ?? 0
      const limit = hasReserve(actor) ? limits.total : limits.total - Math.floor(limits.total * RESERVE)
      if (total + places > limit) throw tooMany(`The server already has ${total} open streams.`)
      if (own + places > (actor.kind === 'build' ? Math.min(PER_BUILD, limits.perKey) : limits.perKey))
        throw tooMany(`This key already has ${own} open streams.`)
      total += places
      counts.set(key, own + places)
      return {
        [Symbol.dispose]() {
          total -= places
          const left = (counts.get(key) ?? places) - places
          if (left === 0) counts.delete(key)
          else counts.set(key, left)
        },
      }
    },
  }
}

function hasReserve(actor: Actor): boolean {
  return isAllowed(actor, 'start-builds')
}

function tooMany(message: string): Error {
  return fault('too-many-readers', { message, retryAfter: RETRY_AFTER_S })
}
