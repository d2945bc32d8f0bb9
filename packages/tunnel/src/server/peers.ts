/** Sends calls to other servers, and recognizes theirs. */
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { fault, type Clock } from '@windlass/kit'
import { NO_METER, type Exchange, type Outcome } from '../exchange/exchange.ts'
import { callOverHttp1 } from '../exchange/over-http1.ts'
import { INTERNAL } from '../protocol.ts'
import { nameOf } from './hosts.ts'
import { isProof, proofOf, type PeerKey } from './peer-proof.ts'

/** Maximum time until another server accepts a connection. Milliseconds. */
const CONNECT_MS = 5_000
const IDLE_MARGIN_MS = 30_000

export interface PeerOptions {
  readonly key: PeerKey
  /** PEM of certificate authorities for the other servers, instead of the default ones. */
  readonly ca?: string | undefined
}

export class Peers {
  readonly #options: PeerOptions | undefined
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #plain: http.Agent
  readonly #secure: https.Agent

  /** Without options there are no other servers. */
  constructor(options: PeerOptions | undefined, { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number }) {
    this.#options = options
    this.#clock = clock
    // The other server ends idle calls first.
    this.#idleMs = idleMs + IDLE_MARGIN_MS
    const kept = { keepAlive: true, maxFreeSockets: 64 } as const
    this.#plain = new http.Agent(kept)
    this.#secure = new https.Agent({ ...kept, ...(options?.ca !== undefined && { ca: options.ca }) })
  }

  /** True for a call that another server sends on. */
  isPeer({ method = '', url = '', headers }: IncomingMessage): boolean {
    const header = headers[INTERNAL.peer]
    if (this.#options === undefined || header === undefined) return false
    const call = { method, authority: headers.host ?? '', path: url }
    return isProof(this.#options.key, this.#clock, { header, call })
  }

  /** Sends a call to the server at a URL. Throws `tunnel-offline` without other servers. The outcome is `unreachable` if that server is gone. */
  async send(exchange: Exchange, url: string): Promise<Outcome> {
    if (this.#options === undefined) throw fault('tunnel-offline')
    const origin = new URL(url)
    const isSecure = origin.protocol === 'https:'
    return callOverHttp1(exchange, {
      origin,
      agent: isSecure ? this.#secure : this.#plain,
      // The certificate of all servers is that of the hosts of runtimes.
      ...(isSecure && { serverName: nameOf(exchange.authority) }),
      extra: { [INTERNAL.peer]: await proofOf(this.#options.key, this.#clock, exchange) },
      connectMs: CONNECT_MS,
      idleMs: this.#idleMs,
      // The server that has the connection counts.
      meter: NO_METER,
    })
  }

  close(): void {
    this.#plain.destroy()
    this.#secure.destroy()
  }
}
