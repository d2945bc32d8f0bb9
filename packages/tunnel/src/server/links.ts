/** The connections of this server: one of each runtime gets calls, and earlier ones end theirs. */
import type { Logger } from '@windlass/kit'
import type { Link } from './link.ts'
import type { SessionEnd, TunnelRegistry } from './registry.ts'
import type { Standbys } from './standbys.ts'

/** Delay of a client that lost its place, unless it was told otherwise. Milliseconds. */
const AWAY_MS = 60_000

export class Links {
  readonly #registry: TunnelRegistry
  readonly #log: Logger
  readonly #standbys: Standbys
  readonly #open = new Set<Link>()
  /** Prefix and id of a runtime -> its connection. */
  readonly #byPrefix = new Map<string, Link>()
  readonly #byRuntime = new Map<string, Link>()
  /** Ends of connections that are being noted. */
  readonly #releasing = new Set<Promise<void>>()

  constructor(registry: TunnelRegistry, log: Logger, standbys: Standbys) {
    this.#registry = registry
    this.#log = log
    this.#standbys = standbys
  }

  all(): Link[] {
    return [...this.#open]
  }

  /** Returns the connection that takes calls to a host. */
  at(prefix: string): Link | undefined {
    const link = this.#byPrefix.get(prefix)
    return link?.isOpen === true ? link : undefined
  }

  /** Adds a connection. It gets calls once it is ready; the one before it gets them until then. */
  add(link: Link, onEnd: () => void): void {
    this.#open.add(link)
    void link.ready.then((isReady) => {
      if (isReady) void this.#activate(link)
    })
    const end = (): void => {
      this.#open.delete(link)
      const { runtimeId, prefix } = link.session
      if (this.#byRuntime.get(runtimeId) === link) this.#byRuntime.delete(runtimeId)
      if (this.#byPrefix.get(prefix) === link) this.#byPrefix.delete(prefix)
      this.#release(link)
      onEnd()
    }
    if (link.closed.aborted) end()
    else link.closed.addEventListener('abort', end, { once: true })
  }

  /** Frees the place of a client that stops, so that another one need not wait for its calls. */
  stop(link: Link): void {
    this.#release(link)
  }

  /** Notes that the client has answered, and ends its connection if the registry says so. */
  beat(link: Link): Promise<void> {
    return this.#endIf(link, () => this.#registry.beat(link.session))
  }

  /** Lets the registry decide again about the connections of a runtime. */
  async recheck(runtimeId: string): Promise<void> {
    const own = this.all().filter(({ session }) => session.runtimeId === runtimeId)
    await Promise.all(own.map((link) => this.#endIf(link, () => this.#registry.check(link.session))))
  }

  async #endIf(link: Link, ask: () => Promise<SessionEnd | undefined>): Promise<void> {
    try {
      const end = await ask()
      if (end !== undefined) link.leave(end.reason, end.isOwn === true ? 0 : AWAY_MS)
    } catch (error) {
      // The database is away: the connection still works.
      this.#log.warn({ err: error, runtime: link.session.runtime }, 'heartbeat of a tunnel not noted')
    }
  }

  /** Resolves when all ends are noted. */
  async settled(): Promise<void> {
    while (this.#releasing.size > 0) await Promise.all(this.#releasing)
  }

  async #activate(link: Link): Promise<void> {
    const { runtimeId, clientId } = link.session
    if (this.#byRuntime.get(runtimeId)?.isOpen !== true) this.#use(link)
    // It has its place before the earlier connection ends, so that other servers find one of them at any time.
    await this.beat(link)
    if (!link.isOpen) return
    const earlier = this.#byRuntime.get(runtimeId)
    this.#use(link)
    if (earlier === undefined || earlier === link) return
    // The same process has connected again, and waits for the end of its earlier connection.
    earlier.leave('replaced', earlier.session.clientId === clientId ? 0 : AWAY_MS)
  }

  /** Sends calls over this connection from now on. */
  #use(link: Link): void {
    const { runtimeId, prefix } = link.session
    this.#byRuntime.set(runtimeId, link)
    this.#byPrefix.set(prefix, link)
  }

  #release({ session }: Link): void {
    this.#standbys.left(session)
    const released = this.#registry
      .release(session)
      .then(() => this.#standbys.wake(session.runtimeId))
      .catch((error: unknown) => this.#log.warn({ err: error, runtime: session.runtime }, 'end of a tunnel not noted'))
    this.#releasing.add(released)
    void released.finally(() => this.#releasing.delete(released))
  }
}
