/** Explains for a log line why a server cannot be reached. */
import { isFault } from '../faults.ts'

export interface Unreachable {
  /** Without a full stop, e.g. `connection refused`. */
  readonly cause: string
  /** One or two sentences. */
  readonly hint: string
}

/** Returns true for a loopback address, which reaches only the machine or pod that uses it. */
export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? ''
  // The URL parser writes ::ffff:127.0.0.1, an IPv4-mapped address, as ::ffff:7f00:1.
  return /^(localhost|.*\.localhost|127(\.\d+){3}|0\.0\.0\.0|::1?|::ffff:(7f..:[\da-f]+|0:0))$/i.test(host)
}

/** Explains an error that a transport or client threw for a call to `url`. */
export function explainUnreachable(error: unknown, url: string): Unreachable {
  const { code, text } = rootError(error)
  const { host, hostname } = new URL(url)
  if (code === 'ECONNREFUSED') return { cause: `connection refused by ${host}`, hint: isLoopback(url) ? LOOPBACK : REFUSED }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return {
      cause: `no such host: ${hostname} does not resolve (${code})`,
      hint: 'Use a name that the cluster DNS resolves, or an IP address.',
    }
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return { cause: `no route to ${host} (${code})`, hint: BLOCKED }
  if (code === 'ETIMEDOUT') return { cause: `no connection to ${host} (${text})`, hint: BLOCKED }
  if (code === 'ERR_PROXY_TUNNEL') return { cause: `the proxy refused the connection: ${text}`, hint: PROXY }
  if (isTlsCode(code)) return { cause: `TLS: ${text}${text.includes(code) ? '' : ` (${code})`}`, hint: TLS }
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return {
      cause: `${host} closed the connection (${code})`,
      hint: 'Check whether the server uses http or https, and any proxy or load balancer in front of it.',
    }
  if (text.startsWith('no answer within'))
    return {
      cause: `${host} accepts the connection but sends ${text}`,
      hint: SERVER_LOG,
    }
  return { cause: text, hint: SERVER_LOG }
}

const REFUSED = 'Check that the server is running, that the port is right, and that it does not listen on 127.0.0.1 only.'
const LOOPBACK = 'A loopback address is the pod itself. Give the agent an address that pods can reach.'
const BLOCKED = 'Check firewalls, network policies and routes between the pods and the server, and whether a proxy is needed.'
const PROXY = 'Check the user name and password in HTTPS_PROXY, and NO_PROXY.'
const TLS = 'Set the CA of the server certificate: WINDLASS_SERVER_TLS_CA_PATH on the server, or global.caBundle of the chart.'
const SERVER_LOG = 'Check the log of the server, and any proxy or load balancer in front of it.'

/** Returns true for the code of an error of the TLS handshake. */
export function isTlsCode(code: string): boolean {
  return /^(ERR_TLS_|ERR_SSL_|CERT_|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/.test(code)
}

/** Node adds it to errors of certificates. It is about the command line of Node, which users do not write. */
const NODE_ADVICE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/

/** Returns code and message of the system error inside faults and aggregate errors. Of several tried addresses the first one counts. */
export function rootError(error: unknown): { code: string; text: string } {
  if (isFault(error) && error.cause instanceof Error) return rootError(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return rootError(error.errors[0])
  if (!(error instanceof Error)) return { code: '', text: String(error) }
  const code = !isFault(error) && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return { code, text: error.message.replace(NODE_ADVICE, '').replace(/\.$/, '') || code }
}
