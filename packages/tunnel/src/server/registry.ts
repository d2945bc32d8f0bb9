/** What a server of tunnels needs to know of runtimes and of other servers. The control plane keeps it in its database. */
import type { GoawayReason } from '../protocol.ts'

/** A client that wants to register. */
export interface Hello {
  readonly token: string
  readonly runtime: string
  /** Random per process of the client. */
  readonly clientId: string
  readonly clientVersion: string
  /** Address of the client, behind proxies that are trusted. */
  readonly address: string
  /** True for a client that waits for its place if another client has it. */
  readonly isStandby: boolean
}

/** The runtime that a token belongs to. */
export interface AcceptedRuntime {
  readonly runtimeId: string
  readonly runtime: string
  /** Label of its host. */
  readonly prefix: string
  readonly tokenId: string
}

/** The connection of a client. */
export interface Session extends AcceptedRuntime {
  readonly id: string
  readonly clientId: string
  readonly clientVersion: string
  readonly address: string
}

/** The client that is connected. */
export interface ConnectedClient {
  readonly address: string
  readonly version: string
}

/** Why a session has to end. */
export interface SessionEnd {
  readonly reason: GoawayReason
  /** True if the process of the client has connected again, so that it need not do so once more. */
  readonly isOwn?: boolean
}

/** Where calls of a host go. */
export interface TunnelRoute {
  /** Base URL of the other server that has the connection; undefined if no other one has it. */
  readonly peer?: string | undefined
}

export interface TunnelRegistry {
  /** Throws `unauthenticated` for a token that is not valid, `forbidden` for one of another runtime. */
  authenticate(hello: Hello): Promise<AcceptedRuntime>
  /**
   * Lets the session in. An earlier one that works keeps the place of the runtime until the first beat of this one, and stays if this one fails. Throws
   * `tunnel-taken` if another client has an earlier one that is alive.
   */
  claim(session: Session): Promise<void>
  /** Notes that the session works: its client was welcomed and answers. Resolves to why the session has to end, if it has to. */
  beat(session: Session): Promise<SessionEnd | undefined>
  /** Resolves like `beat`, and notes nothing. */
  check(session: Session): Promise<SessionEnd | undefined>
  /** Notes that the session has ended. Has no effect if it is not the one of its runtime any more. */
  release(session: Session): Promise<void>
  /** Returns the client of a runtime that is connected and answers; undefined if there is none. */
  connected(runtime: AcceptedRuntime): Promise<ConnectedClient | undefined>
  /** Finds the runtime of a host; undefined if there is none. */
  find(prefix: string): Promise<TunnelRoute | undefined>
}
