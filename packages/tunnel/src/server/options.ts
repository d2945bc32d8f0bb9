/** What a server of tunnels is made with. */
import type { IncomingMessage } from 'node:http'
import type { Clock, Logger } from '@windlass/kit'
import type { Headers } from '../exchange/exchange.ts'
import type { Rate } from './buckets.ts'
import type { LinkTimings } from './link.ts'
import type { PeerOptions } from './peers.ts'
import type { RegistrationEvents } from './registration.ts'
import type { TunnelRegistry } from './registry.ts'

/** PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface TunnelServerOptions {
  /** Runtimes are at labels below it. */
  readonly domain: string
  /** Returns the URL at which callers reach a runtime. */
  readonly urlOf: (prefix: string) => string
  readonly registry: TunnelRegistry
  readonly clock: Clock
  readonly log: Logger
  /** Address of the caller and whether it uses HTTPS, behind proxies that are trusted. */
  readonly callerOf: (request: IncomingMessage) => { readonly address: string; readonly isSecure: boolean }
  /** Default: plain HTTP, behind a proxy that ends TLS. */
  readonly tls?: Certificate | undefined
  /** Undefined for a single server. */
  readonly peers?: PeerOptions | undefined
  readonly events?: RegistrationEvents | undefined
  readonly timings?: Partial<LinkTimings> | undefined
  readonly callRate?: Rate | undefined
  /** Maximum number of calls of one address in progress. */
  readonly callsAtOnce?: number | undefined
  /** Maximum bytes of bodies per second, for each runtime and direction. Default: no limit. */
  readonly bytesPerSecond?: number | undefined
}

/** A call of the process that has the tunnels. */
export interface OwnRequest {
  readonly method: string
  /** Path with query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Headers
  readonly body: Uint8Array | undefined
  /** Gives the call up, also while its answer is read. */
  readonly signal: AbortSignal
}
