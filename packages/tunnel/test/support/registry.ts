/** A registry in memory, which the servers of a test share as those of a control plane share a database. */
import { fault } from '@windlass/kit'
import type { Session, SessionEnd, TunnelRegistry } from '../../src/server/index.ts'

interface Held {
  readonly session: Session
  readonly server: string
  readonly seenAt: number
}

export class MemoryRegistry {
  /** Token -> name of its runtime. */
  readonly tokens = new Map<string, string>()
  readonly held = new Map<string, Held>()
  /** Ids of sessions that take the place of an earlier one with their first beat. */
  readonly #waiting = new Set<string>()
  /** Base URL of each server. */
  readonly urls = new Map<string, string>()
  lateMs = 30_000

  /** Returns the registry as one server sees it. */
  of(server: string): TunnelRegistry {
    const end = (session: Session): SessionEnd | undefined => {
      if (!this.tokens.has(session.tokenId)) return { reason: 'revoked' }
      const now = this.held.get(session.runtimeId)
      if (now?.session.id === session.id || this.#waiting.has(session.id)) return undefined
      return { reason: 'replaced', isOwn: now?.session.clientId === session.clientId }
    }
    return {
      authenticate: async ({ token, runtime }) => {
        const of = this.tokens.get(token)
        if (of === undefined) throw fault('unauthenticated')
        if (of !== runtime) throw fault('forbidden')
        return { runtimeId: `id-of-${runtime}`, runtime, prefix: `a-${runtime}`, tokenId: token }
      },
      claim: async (session) => {
        const before = this.held.get(session.runtimeId)
        const lateInMs = before === undefined ? 0 : before.seenAt + this.lateMs - performance.now()
        if (before !== undefined && before.session.clientId !== session.clientId && lateInMs > 0)
          throw fault('tunnel-taken', { retryAfter: Math.ceil(lateInMs / 1000) })
        if (lateInMs > 0) this.#waiting.add(session.id)
        else this.held.set(session.runtimeId, { session, server, seenAt: performance.now() })
      },
      beat: async (session) => {
        const now = this.held.get(session.runtimeId)
        if (this.#waiting.delete(session.id) || now?.session.id === session.id)
          this.held.set(session.runtimeId, { session, server, seenAt: performance.now() })
        return end(session)
      },
      check: async (session) => end(session),
      release: async (session) => {
        this.#waiting.delete(session.id)
        if (this.held.get(session.runtimeId)?.session.id === session.id) this.held.delete(session.runtimeId)
      },
      connected: async ({ runtimeId }) => {
        const session = this.held.get(runtimeId)?.session
        return session === undefined ? undefined : { address: session.address, version: session.clientVersion }
      },
      find: async (prefix) => {
        const runtime = prefix.slice(2)
        if (![...this.tokens.values()].includes(runtime)) return undefined
        const at = this.held.get(`id-of-${runtime}`)?.server
        const peer = at === undefined || at === server ? undefined : this.urls.get(at)
        return peer === undefined ? {} : { peer }
      },
    }
  }
}
