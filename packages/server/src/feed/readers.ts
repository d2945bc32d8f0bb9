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
  /**
   * Counts a reader, or several for a stream of several topics, until the result is disposed. `address` is that of a caller without a credential. Throws
   * `too-many-readers` (with `retryAfter`) if a limit is reached.
   */
  take(actor: Actor, places?: number, address?: string): Disposable
}

const RETRY_AFTER_S = 5
/** Maximum number of open streams of the steps of one build. */
const PER_BUILD = 10
/** Maximum number of open streams of one address without a credential. All such addresses together have as many as one key. */
const PER_ADDRESS = 20
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
    take(actor, places = 1, address = '') {
      const key = actor.kind === 'nobody' ? 'nobody' : `${actor.kind}/${actor.id}`
      const own = counts.get(key) ?? 0
      const addressKey = `address/${address}`
      const ofAddress = counts.get(addressKey) ?? 0
      const limit = hasReserve(actor) ? limits.total : limits.total - Math.floor(limits.total * RESERVE)
      if (total + places > limit) throw tooMany(`The server already has ${total} open streams.`)
      if (own + places > (actor.kind === 'build' ? Math.min(PER_BUILD, limits.perKey) : limits.perKey))
        throw tooMany(`This key already has ${own} open streams.`)
      if (actor.kind === 'nobody' && ofAddress + places > PER_ADDRESS)
        throw tooMany(`This address already has ${ofAddress} open streams.`)
      const keys = actor.kind === 'nobody' ? [key, addressKey] : [key]
      total += places
      for (const one of keys) counts.set(one, (counts.get(one) ?? 0) + places)
      return {
        [Symbol.dispose]() {
          total -= places
          for (const one of keys) {
            const left = (counts.get(one) ?? places) - places
            if (left === 0) counts.delete(one)
            else counts.set(one, left)
          }
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
