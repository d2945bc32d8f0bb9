/**
 * The HTTP calls of a check: only to the hosts of the context and to addresses that are not blocked, without redirects, and with limits of time and
 * bytes. The answers stay in this process.
 */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import {
  ADDRESS_BLOCKED,
  exchange,
  explainUnreachable,
  guardedLookup,
  hideLogin,
  hostOf,
  isTlsCode,
  openAgent,
  proxyOf,
  readText,
  rootError,
  secureContextWith,
  standardProxy,
  type ProxySettings,
  type TlsOptions,
} from '@windlass/kit'
import { isBlocked } from '@windlass/kit/addresses'
import { CheckFailure } from './outcome.ts'

export interface DialOptions {
  /** Hosts of the context, each with its port if it is not that of the scheme. */
  readonly hosts: readonly string[]
  /** False if loopback addresses are those of the agent's own pod. */
  readonly mayUseLoopback: boolean
  /** PEM file with additional certificate authorities. */
  readonly caFile?: string | undefined
  /** Certificates of the context itself, instead of those of `caFile`. */
  readonly tls?: TlsOptions | undefined
  readonly signal: AbortSignal
  /** Default: the standard environment variables. */
  readonly proxy?: ProxySettings
}

export interface DialRequest {
  readonly url: URL
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Accepts any certificate. Default: false. */
  readonly isInsecure?: boolean
}

export interface DialAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Dialer {
  /** Makes one call. Throws `CheckFailure` if no answer arrives. Answers with any status are returned. */
  call(request: DialRequest): Promise<DialAnswer>
  /** Adds a host that the context does not name. The caller has decided that it belongs to the context. */
  admit(url: URL): void
}

const CALL_MS = 10_000
const CONNECT_MS = 5_000
const MAX_BYTES = 1_048_576

export function openDialer({ hosts, mayUseLoopback, caFile, tls, signal, proxy = standardProxy() }: DialOptions): Dialer {
  const admitted = new Set(hosts)
  const context = tls === undefined && caFile !== undefined ? secureContextWith({ ca: readFileSync(caFile, 'utf8') }) : undefined
  const proxyEnv = { HTTP_PROXY: proxy.http, HTTPS_PROXY: proxy.https }
  const lookup = guardedLookup((address) => isBlocked(address, mayUseLoopback))
  return {
    admit: (url) => void admitted.add(url.host),
    async call({ url, method = 'GET', headers = {}, body, isInsecure = false }) {
      requireAllowed(url, admitted, mayUseLoopback)
      const isProxied = proxyOf(url, proxy) !== undefined
      const agent = openAgent({
        tls: url.protocol === 'https:' ? { ...(tls ?? { context }), ...(isInsecure && { insecure: true }) } : undefined,
        connectMs: CONNECT_MS,
        ...(isProxied && { proxyEnv }),
      })
      try {
        const response = await exchange({
          to: { ...urlToHttpOptions(url), ...(!isProxied && { lookup }) },
          agent,
          method,
          headers: { 'user-agent': 'windlass', accept: 'application/json', ...headers },
          body,
          signal,
          timeoutMs: CALL_MS,
          connectMs: CONNECT_MS,
        })
        const text = await readText(response, MAX_BYTES, () => tooLarge(url))
        return { status: response.statusCode ?? 0, headers: response.headers, text }
      } catch (error) {
        signal.throwIfAborted()
        throw toFailure(error, url)
      } finally {
        agent.destroy()
      }
    },
  }
}

/** Throws `CheckFailure` for an address that is blocked. A name is checked when it is resolved; behind a proxy, the proxy resolves it. */
function requireAllowed(url: URL, admitted: ReadonlySet<string>, mayUseLoopback: boolean): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new CheckFailure('value-invalid', `The URL of ${url.host} is not one of http or https.`, { host: url.host })
  if (!admitted.has(url.host)) throw new Error(`${url.host} is not a host of the context`)
  const host = hostOf(url)
  if (isIP(host) !== 0 && isBlocked(host, mayUseLoopback)) throw blockedFailure(url)
}

/** Returns true for the answer of a service that is overloaded, down, or limits the number of calls. */
export function isBusy({ status }: Pick<DialAnswer, 'status'>): boolean {
  return status === 429 || status >= 500
}

function tooLarge({ host }: URL): CheckFailure {
  return new CheckFailure('too-large', `The answer of ${host} is larger than 1 MiB.`, { host })
}

function blockedFailure({ host }: URL): CheckFailure {
  return new CheckFailure('address-blocked', `The agent does not connect to the address of ${host}.`, {
    host,
    hint: 'Use an address that pods of builds can reach. Loopback, link-local and metadata addresses are never called.',
  })
}

/** Returns the failure of a connection, with its cause in words. */
export function toFailure(error: unknown, url: URL): CheckFailure {
  if (error instanceof CheckFailure) return error
  const { host } = url
  const { code, text } = rootError(error)
  if (code === ADDRESS_BLOCKED) return blockedFailure(url)
  if (code === 'ERR_INVALID_CHAR')
    return new CheckFailure('value-invalid', `The login for ${host} contains characters that cannot be sent.`, {
      host,
      hint: 'Store the password or token again, without line feeds.',
    })
  if (code.startsWith('HPE_'))
    return new CheckFailure('unexpected-answer', `${host} answers, but not with HTTP.`, { host, hint: 'Check the port.' })
  const { cause } = explainUnreachable(error, url.href)
  const reason = reasonOf(code, text)
  return new CheckFailure(reason, `The agent cannot reach ${host}: ${hideLogin(cause)}.`, { host, hint: HINTS[reason] })
}

const HINTS = {
  'name-unresolved': 'Check the host in the context, and whether the DNS of the cluster resolves it.',
  'no-connection': 'Check the host and the port in the context, and the network policies and firewalls on the way.',
  timeout: 'Check the network policies and firewalls between the cluster and the host, and whether a proxy is needed.',
  tls: 'Check the certificate of the host. The agent trusts the authorities of WINDLASS_AGENT_CA besides the public ones.',
  proxy: 'Check HTTPS_PROXY and NO_PROXY of the agent.',
} as const

function reasonOf(code: string, text: string): keyof typeof HINTS {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-unresolved'
  if (code === 'ETIMEDOUT' || text.startsWith('no answer within')) return 'timeout'
  if (code === 'ERR_PROXY_TUNNEL') return 'proxy'
  return isTlsCode(code) ? 'tls' : 'no-connection'
}
