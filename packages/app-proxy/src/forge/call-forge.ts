/** Calls of the API of a forge with the token of a user: only at the host of the integration, without redirects, and with limits. */
import { urlToHttpOptions } from 'node:url'
import type { ForgePage, HookCall } from '@windlass/forges'
import {
  ADDRESS_BLOCKED,
  exchange,
  fault,
  hasCode,
  isFault,
  openAgent,
  proxyOf,
  secureContextWith,
  type ProxySettings,
} from '@windlass/kit'
import { noAnswer, unresolved, type ForgeHosts } from './hosts.ts'

const TIMEOUT_MS = 20_000
const MAX_SOCKETS = 16
const MAX_RETRY_AFTER_S = 3_600

export interface ForgeCall {
  /** Default: a POST with a body, otherwise a GET. */
  readonly method?: HookCall['method'] | undefined
  /** JSON to send. */
  readonly body?: string | undefined
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the answer that are read at most. */
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Returns true for a refusal that is none: what is asked for is there already. */
  readonly isDone?: ((answer: Refused) => boolean) | undefined
}

export interface Refused {
  readonly status: number
  readonly body: string
}

export interface ForgeAnswer {
  readonly headers: ForgePage['headers']
  readonly bytes: Buffer
}

export interface ForgeCaller {
  /**
   * Makes a GET, or a change, which is never sent twice. Throws `git-token-refused` (401), `forbidden` (403), `not-found` (404), `rate-limited`, `file-too-large`, `forge-refused` and `forge-unreachable`.
   * Messages contain the host, and neither the path nor a header.
   */
  call(call: ForgeCall): Promise<ForgeAnswer>
  close(): void
}

export interface ForgeCallerOptions {
  readonly hosts: ForgeHosts
  readonly proxy: ProxySettings
  /** PEM of all authorities that are accepted besides the default ones. */
  readonly ca: string | undefined
}

export function openForgeCaller({ hosts, proxy, ca }: ForgeCallerOptions): ForgeCaller {
  const tls = ca === undefined ? {} : { context: secureContextWith({ ca }) }
  const proxyEnv = { HTTP_PROXY: proxy.http, HTTPS_PROXY: proxy.https }
  const direct = { http: openAgent({ maxSockets: MAX_SOCKETS }), https: openAgent({ maxSockets: MAX_SOCKETS, tls }) }
  const proxied = {
    http: openAgent({ maxSockets: MAX_SOCKETS, proxyEnv }),
    https: openAgent({ maxSockets: MAX_SOCKETS, tls, proxyEnv }),
  }
  const all = [direct.http, direct.https, proxied.http, proxied.https]
  return {
    async call({ url, headers, maxBytes, signal, body, isDone, method = body === undefined ? 'GET' : 'POST' }) {
      const isProxied = proxyOf(url, proxy) !== undefined
      hosts.requireForge(url)
      const agents = isProxied ? proxied : direct
      const to = { ...urlToHttpOptions(url), ...(!isProxied && { lookup: hosts.lookup }) }
      const content = body === undefined ? {} : { 'content-type': 'application/json' }
      const given = { accept: 'application/json', 'user-agent': 'windlass', ...content, ...headers }
      const agent = url.protocol === 'https:' ? agents.https : agents.http
      const call = {
        to,
        agent,
        method,
        headers: given,
        signal,
        ...(body !== undefined && { body }),
        ...(method !== 'GET' && { isOnce: true }),
      }
      const response = await exchange({ ...call, timeoutMs: TIMEOUT_MS }).catch((error: unknown) =>
        unreachable(url, error, signal),
      )
      const status = response.statusCode ?? 0
      const bytes = await readBytes(response, maxBytes, url).catch((error: unknown) => unreachable(url, error, signal))
      const isRefused = status < 200 || status > 299 || status === 203
      if (isRefused && isDone?.({ status, body: bytes.toString('utf8') }) !== true)
        refuse(url, { status, headers: response.headers, bytes })
      return { headers: response.headers, bytes }
    },
    close() {
      for (const agent of all) agent.destroy()
    },
  }
}

function unreachable(url: URL, error: unknown, signal: AbortSignal): never {
  signal.throwIfAborted()
  if (isFault(error)) throw error
  if (hasCode(error, ADDRESS_BLOCKED)) throw unresolved(url.hostname, error)
  throw noAnswer(`${url.hostname} does not answer.`, error)
}

async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number, url: URL): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.byteLength
    if (bytes > maxBytes)
      throw fault('file-too-large', { message: `The answer of ${url.hostname} is larger than ${maxBytes} bytes.` })
    parts.push(part)
  }
  return Buffer.concat(parts)
}

interface Refusal extends ForgeAnswer {
  readonly status: number
}

function refuse({ hostname }: URL, { status, headers, bytes }: Refusal): never {
  const message = `${hostname} answered ${status}.`
  if (status === 401 || status === 203)
    throw fault('git-token-refused', { message: `${hostname} does not accept the Git token.` })
  const isUsedUp = headers['x-ratelimit-remaining'] === '0' || /rate limit/i.test(bytes.toString('latin1', 0, 2_000))
  if (status === 429 || (status === 403 && isUsedUp))
    throw fault('rate-limited', {
      message: `${hostname} answers no more calls with this Git token for now.`,
      retryAfter: Math.min(Number(headers['retry-after']) || 60, MAX_RETRY_AFTER_S),
    })
  if (status === 403)
    throw fault('forbidden', {
      message: `${hostname} does not allow this to the owner of the Git token.`,
      hint: 'Check the scopes of the token and your rights for the repository.',
    })
  if (status === 404 || status === 409)
    throw fault('not-found', {
      message: `${hostname} does not have this, or the Git token does not see it.`,
      hint: 'Check the names of the repository, the branch and the path. An empty repository has none.',
    })
  if (status >= 500) throw noAnswer(message)
  throw fault('forge-refused', { message })
}
