/** Settings of tunnels, and what follows from them for other parts of the server. */
import { REGISTER_LABEL, TIMINGS, type LinkTimings } from '@windlass/tunnel/server'

export interface TunnelOptions {
  /** Domain of the hosts of runtimes, with a port if it is not 443. */
  readonly domain: string
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Port to listen on. 0: any free port. */
  readonly port: number
  /** PEM files of the certificate of all hosts below the domain. Default: plain HTTP, for a proxy in front that ends TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  /** How often the files are read again. Milliseconds. Default: a minute. */
  readonly certificateMs?: number | undefined
  /** Where the other servers reach this listener; undefined for a single server. */
  readonly peerUrl?: string | undefined
  /** PEM file of the CA of the other servers. */
  readonly peerCaFile?: string | undefined
  /** See `RegistryOptions`. Default: `reject`. */
  readonly secondClient?: 'reject' | 'replace' | undefined
  /** Calls of one address per second. */
  readonly callsPerSecond?: number | undefined
  /** Bytes of bodies per second, for each runtime and direction. Default: no limit. */
  readonly bytesPerSecond?: number | undefined
  readonly timings?: Partial<LinkTimings> | undefined
}

/** What the routes of `/v1` need to know. */
export interface TunnelFacts {
  readonly urlOf: (prefix: string) => string
  /** Base URL that clients connect to. */
  readonly registerUrl: string
  readonly timings: LinkTimings
}

export function tunnelFacts({ domain, timings }: TunnelOptions): TunnelFacts {
  return {
    urlOf: (prefix) => `https://${prefix}.${domain}`,
    registerUrl: `https://${REGISTER_LABEL}.${domain}`,
    timings: { ...TIMINGS, ...timings },
  }
}
