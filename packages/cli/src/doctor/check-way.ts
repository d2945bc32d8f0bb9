/** Checks the way to a server: proxy, name, connection and certificate. Each finding has a hint. */
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect, rootCertificates, type PeerCertificate } from 'node:tls'
import { isFault, isLoopback, proxyFrom, proxyOf, type Clock } from '@windlass/kit'
import type { Report } from './report.ts'

export interface Way {
  readonly url: string
  readonly caFile?: string | undefined
  /** How a private CA is trusted. Default: that of the command and the chart of the Runner. */
  readonly trust?: string
  /** Source of the proxy variables. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000
/** A certificate that expires within this time is a warning. */
const EXPIRY_MS = 14 * 86_400_000
const TRUST = '--ca-file, WINDLASS_CA_FILE, or global.caBundle of the chart'

/** Runs the checks in order. Resolves to false if the remaining ones would only repeat a failure. */
export async function checkWay(check: Way, report: Report): Promise<boolean> {
  const url = new URL(check.url)
  const route = checkProxy(check, url, report)
  if (route === undefined) return false
  const { proxy } = route
  if (proxy === undefined && !(await checkName(url, report))) return false
  if (url.protocol === 'http:' && isLoopback(url.href)) {
    report({ check: 'TLS', status: 'pass', message: `${url.origin} is not encrypted and does not leave this machine` })
  } else if (url.protocol === 'http:') {
    report({
      check: 'TLS',
      status: 'warn',
      message: `${url.origin} is not encrypted`,
      hint: 'Tokens cross the network in clear text. Use https outside a test.',
    })
  } else if (proxy === undefined) return checkCertificate(check, url, report)
  return true
}

/** Determines the proxy, if any. Returns undefined if the variables are invalid. */
function checkProxy(check: Way, url: URL, report: Report): { proxy: string | undefined } | undefined {
  try {
    const proxy = proxyOf(url, proxyFrom(check.environment))
    const text =
      proxy === undefined ? `${url.hostname} is reached directly` : `${url.hostname} is reached through ${new URL(proxy).host}`
    report({ check: 'proxy', status: 'pass', message: text })
    return { proxy }
  } catch (error) {
    report({
      check: 'proxy',
      status: 'fail',
      message: messageOf(error),
      hint: 'Set HTTP_PROXY and HTTPS_PROXY to http://host:port or socks5://host:port, and NO_PROXY to the hosts to reach directly.',
    })
    return undefined
  }
}

async function checkName(url: URL, report: Report): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) {
    report({ check: 'DNS', status: 'pass', message: `${host} is an IP address` })
    return true
  }
  report.begin?.('DNS')
  try {
    const addresses = await lookup(host, { all: true })
    report({ check: 'DNS', status: 'pass', message: `${host} resolves to ${addresses.map(({ address }) => address).join(', ')}` })
    return true
  } catch (error) {
    report({
      check: 'DNS',
      status: 'fail',
      message: `${host} cannot be resolved: ${messageOf(error)}`,
      hint: 'Check the name and the resolver (/etc/resolv.conf; in a pod the cluster DNS). Behind a proxy set HTTPS_PROXY.',
    })
    return false
  }
}

/** Hints for rejected certificate chains, by OpenSSL error code. `WAYS`: how a CA is trusted. */
const CHAIN_FIXES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "Renew the server's certificate.",
  CERT_NOT_YET_VALID: 'Check the clock of this machine and of the server.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Trust the certificate with WAYS.',
  SELF_SIGNED_CERT_IN_CHAIN: 'Trust the private CA with WAYS.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Trust the private CA with WAYS.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Configure the server to send its intermediate certificates, or trust the CA with WAYS.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Use a name that is in the certificate, or add the name to the certificate.',
}

async function checkCertificate(check: Way, url: URL, report: Report): Promise<boolean> {
  const port = url.port === '' ? 443 : Number(url.port)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  report.begin?.('TLS')
  const ca = check.caFile === undefined ? undefined : [...rootCertificates, readFileSync(check.caFile, 'utf8')]
  try {
    const { certificate, refused } = await handshake({ host, port, ca })
    const issuer = [certificate.issuer?.O ?? certificate.issuer?.CN ?? 'an unknown issuer'].flat().join(', ')
    if (refused !== undefined) {
      report({
        check: 'TLS',
        status: 'fail',
        message: `the certificate of ${host}, issued by ${issuer}, is not trusted: ${refused}`,
        hint:
          CHAIN_FIXES[refused]?.replace('WAYS', check.trust ?? TRUST) ??
          'Inspect the chain: `openssl s_client -connect HOST:PORT -showcerts`.',
      })
      return false
    }
    const left = Date.parse(certificate.valid_to) - check.clock.now()
    const days = Math.floor(left / 86_400_000)
    report({
      check: 'TLS',
      status: left < EXPIRY_MS ? 'warn' : 'pass',
      message: `issued by ${issuer}, valid for ${days} days`,
      hint: left < EXPIRY_MS ? "Renew the server's certificate." : undefined,
    })
    return true
  } catch (error) {
    report({
      check: 'TLS',
      status: 'fail',
      message: `no connection to ${host}:${port}: ${messageOf(error)}`,
      hint: 'Check that the server is running, its port, and firewalls. Behind a proxy set HTTPS_PROXY.',
    })
    return false
  }
}

interface Handshake {
  readonly certificate: PeerCertificate
  /** OpenSSL error code of a rejected chain. */
  readonly refused: string | undefined
}

async function handshake(target: { host: string; port: number; ca: string[] | undefined }): Promise<Handshake> {
  const { promise, resolve, reject } = Promise.withResolvers<Handshake>()
  const name = isIP(target.host) === 0 ? { servername: target.host } : {}
  const socket = connect({ ...target, ...name, rejectUnauthorized: false, timeout: TIMEOUT_MS }, () => {
    const refused: unknown = socket.authorizationError
    resolve({ certificate: socket.getPeerCertificate(), refused: codeOf(refused) })
  })
  socket.once('error', reject)
  socket.once('timeout', () => reject(new Error(`no response within ${TIMEOUT_MS} ms`)))
  return promise.finally(() => socket.destroy())
}

/** Returns the error code. Node declares an Error, but most reasons are strings. */
function codeOf(refused: unknown): string | undefined {
  if (typeof refused === 'string') return refused
  if (!(refused instanceof Error)) return undefined
  return 'code' in refused ? String(refused.code) : refused.message
}

/** Returns the message of an error, including those of an AggregateError. */
export function messageOf(error: unknown): string {
  if (isFault(error) || !(error instanceof Error)) return isFault(error) ? error.message : String(error)
  if (error instanceof AggregateError) return error.errors.map((part) => messageOf(part)).join('; ')
  return error.message
}
