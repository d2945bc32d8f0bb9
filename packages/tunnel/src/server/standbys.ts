/**
 * Clients that wait for the place of another client of their runtime: a runtime with several pods has one tunnel. The next client gets the place when it is free, and calls wait
 * for it for a moment.
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import { STANDBY_MS } from '../protocol.ts'
import { Recent } from './recent.ts'
import type { Session } from './registry.ts'

/** How often the registry is asked without a reason: the place may have been freed at another server. Milliseconds. */
const ASK_MS = 2_000
/** Time in which calls wait for the successor of a connection that has just ended. Milliseconds. */
const HANDOVER_MS = 3_000
/** How often they look for it. Milliseconds. */
const LOOK_MS = 20
/** Clients that wait, of all runtimes. */
const MAX_WAITING = 1_000

interface Waiter {
  readonly session: Session
  wake: () => void
}

export interface Candidate {
  readonly session: Session
  /** Lets the session in. Throws `tunnel-taken`. */
  readonly claim: () => Promise<void>
  /** True once the client has left. */
  readonly isGone: () => boolean
}

export class Standbys {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiter>()
  /** Prefixes whose connection has just ended. */
  readonly #left: Recent<true>
  /** Prefix -> id of the session of a client that had waited and has just got the place. */
  readonly #taken: Recent<string>
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#left = new Recent(clock, HANDOVER_MS)
    this.#taken = new Recent(clock, HANDOVER_MS)
  }

  /** Claims the place of a runtime as soon as it is free. Throws `tunnel-taken` after `STANDBY_MS`; then the client asks again. */
  async claim({ session, claim, isGone }: Candidate): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) throw fault('unavailable', { message: 'Too many clients wait for their place.' })
    const until = this.#clock.monotonic() + STANDBY_MS
    const waiter: Waiter = { session, wake: () => undefined }
    this.#waiting.add(waiter)
    try {
      for (;;) {
        const woken = Promise.withResolvers<void>()
        waiter.wake = woken.resolve
        try {
          await claim()
          this.#taken.note(session.prefix, session.id)
          return
        } catch (error) {
          if (!isFault(error, 'tunnel-taken') || this.#clock.monotonic() >= until) throw error
        }
        await this.#pause(woken.promise)
        if (this.#isClosed || isGone()) throw fault('unavailable', { message: 'The client or the server stops.', retryAfter: 1 })
      }
    } finally {
      this.#waiting.delete(waiter)
    }
  }

  async #pause(woken: Promise<void>): Promise<void> {
    const over = new AbortController()
    await Promise.race([woken, this.#clock.sleep(ASK_MS, over.signal).catch(() => undefined)])
    over.abort()
  }

  /** Notes that the connection of a runtime gets no more calls. */
  left({ prefix, id }: Session): void {
    this.#left.note(prefix, true)
    if (this.#taken.get(prefix) === id) this.#taken.delete(prefix)
  }

  /** Lets the clients of a runtime ask again: its place may be free. */
  wake(runtimeId: string): void {
    for (const { session, wake } of this.#waiting) if (session.runtimeId === runtimeId) wake()
  }

  /** Waits for the successor of a connection that has just ended, if a client waits for its place. Resolves to undefined if there is none. */
  async successor<T>(prefix: string, find: () => T | undefined): Promise<T | undefined> {
    while (this.#isExpected(prefix)) {
      await this.#clock.sleep(LOOK_MS)
      const found = find()
      if (found !== undefined) return found
    }
    return undefined
  }

  #isExpected(prefix: string): boolean {
    if (this.#left.get(prefix) === undefined) return false
    return this.#taken.get(prefix) !== undefined || [...this.#waiting].some(({ session }) => session.prefix === prefix)
  }

  close(): void {
    this.#isClosed = true
    for (const { wake } of this.#waiting) wake()
  }
}
