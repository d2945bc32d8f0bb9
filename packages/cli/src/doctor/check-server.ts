/** From here to the server: name, proxy, certificate, clock, credential. Each finding names what to change. */
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect, rootCertificates, type PeerCertificate } from 'node:tls'
import { isFault, nodeTransport, proxyFrom, proxyOf, type Clock } from '@windlass/kit'
import type { Report } from './report.ts'

export interface ServerCheck {
  readonly url: string
  readonly token?: string | undefined
  readonly caFile?: string | undefined
  /** For the proxy variables. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000
/** A certificate that ends sooner is a warning. */
const EXPIRY_MS = 14 * 86_400_000
/** Tokens and leases are judged by the server's clock; people compare times of logs. */
const SKEW_MS = 5_000

/** Looks at the way to a server, first thing first; stops where the rest could only repeat the failure. */
export async function checkServer(check: ServerCheck, report: Report): Promise<void> {
  const url = new URL(check.url)
  const way = checkProxy(check, url, report)
  if (way === undefined) return
  const { proxy } = way
  if (proxy === undefined && !(await checkName(url, report))) return
  if (url.protocol === 'http:') {
    report({
      check: 'TLS',
      status: 'warn',
      message: `${url.origin} is not encrypted`,
      hint: 'Tokens cross the network in clear text. Use https outside a test.',
    })
  } else if (proxy === undefined && !(await checkCertificate(check, url, report))) return
  if (await checkAnswer(check, report)) await checkToken(check, report)
}

/** The proxy on the way, if any; undefined when the variables cannot be understood. */
function checkProxy(check: ServerCheck, url: URL, report: Report): { proxy: string | undefined } | undefined {
  try {
    const proxy = proxyOf(url, proxyFrom(check.environment))
    const text =
      proxy === undefined ? `${url.hostname} is reached directly` : `${url.hostname} is reached by ${new URL(proxy).host}`
    report({ check: 'proxy', status: 'pass', message: text })
    return { proxy }
  } catch (error) {
    report({
      check: 'proxy',
      status: 'fail',
      message: wordsOf(error),
      hint: 'Write HTTP_PROXY and HTTPS_PROXY as http://host:port, and hosts to reach directly into NO_PROXY.',
    })
    return undefined
  }
}

async function checkName(url: URL, report: Report): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) {
    report({ check: 'DNS', status: 'pass', message: `${host} is an address` })
    return true
  }
  try {
    const addresses = await lookup(host, { all: true })
    report({ check: 'DNS', status: 'pass', message: `${host} is ${addresses.map(({ address }) => address).join(', ')}` })
    return true
  } catch (error) {
    report({
      check: 'DNS',
      status: 'fail',
      message: `${host} has no address: ${wordsOf(error)}`,
      hint: 'Check the name, and the resolver: /etc/resolv.conf here, the cluster DNS (CoreDNS) in a pod. Behind a proxy set HTTPS_PROXY.',
    })
    return false
  }
}

/** Why a chain is refused, by OpenSSL's name for it, and what helps. */
const CHAIN_FIXES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "Renew the server's certificate.",
  CERT_NOT_YET_VALID: 'Check the clock of this machine and of the server.',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'Give the certificate as an authority: --ca-file, WINDLASS_CA_FILE, or global.caBundle of the chart.',
  SELF_SIGNED_CERT_IN_CHAIN: 'Give the private authority: --ca-file, WINDLASS_CA_FILE, or global.caBundle of the chart.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Give the private authority: --ca-file, WINDLASS_CA_FILE, or global.caBundle of the chart.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Let the server send its intermediate certificates too, or give the authority by --ca-file.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Use a name that the certificate holds, or have the name added to it.',
}

async function checkCertificate(check: ServerCheck, url: URL, report: Report): Promise<boolean> {
  const port = url.port === '' ? 443 : Number(url.port)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const ca = check.caFile === undefined ? undefined : [...rootCertificates, readFileSync(check.caFile, 'utf8')]
  try {
    const { certificate, refused } = await shakeHands({ host, port, ca })
    const issuer = [certificate.issuer?.O ?? certificate.issuer?.CN ?? 'nobody'].flat().join(', ')
    if (refused !== undefined) {
      report({
        check: 'TLS',
        status: 'fail',
        message: `the certificate of ${host}, issued by ${issuer}, is not trusted: ${refused}`,
        hint: CHAIN_FIXES[refused] ?? 'Look at the chain: openssl s_client -connect HOST:PORT -showcerts',
      })
      return false
    }
    const left = Date.parse(certificate.valid_to) - check.clock.now()
    const days = Math.floor(left / 86_400_000)
    report({
      check: 'TLS',
      status: left < EXPIRY_MS ? 'warn' : 'pass',
      message: `issued by ${issuer}, good for ${days} days`,
      hint: left < EXPIRY_MS ? "Renew the server's certificate." : undefined,
    })
    return true
  } catch (error) {
    report({
      check: 'TLS',
      status: 'fail',
      message: `no connection to ${host}:${port}: ${wordsOf(error)}`,
      hint: 'Check that the server runs, its port, and firewalls on the way. Behind a proxy set HTTPS_PROXY.',
    })
    return false
  }
}

interface Handshake {
  readonly certificate: PeerCertificate
  /** OpenSSL's name of what is wrong with the chain. */
  readonly refused: string | undefined
}

async function shakeHands(target: { host: string; port: number; ca: string[] | undefined }): Promise<Handshake> {
  const { promise, resolve, reject } = Promise.withResolvers<Handshake>()
  const name = isIP(target.host) === 0 ? { servername: target.host } : {}
  const socket = connect({ ...target, ...name, rejectUnauthorized: false, timeout: TIMEOUT_MS }, () => {
    const refused: unknown = socket.authorizationError
    resolve({ certificate: socket.getPeerCertificate(), refused: codeOf(refused) })
  })
  socket.once('error', reject)
  socket.once('timeout', () => reject(new Error(`no answer within ${TIMEOUT_MS} ms`)))
  return promise.finally(() => socket.destroy())
}

/** Declared as an Error, and in fact a text for most reasons. */
function codeOf(refused: unknown): string | undefined {
  if (typeof refused === 'string') return refused
  if (!(refused instanceof Error)) return undefined
  return 'code' in refused ? String(refused.code) : refused.message
}

async function checkAnswer(check: ServerCheck, report: Report): Promise<boolean> {
  const url = `${check.url.replace(/\/+$/, '')}/v1/status`
  const sentAt = check.clock.now()
  try {
    const transport = nodeTransport({ caFile: check.caFile, proxy: proxyFrom(check.environment) })
    const answer = await transport({ method: 'GET', url, headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS })
    const body = await answer.text()
    const tookMs = check.clock.now() - sentAt
    if (answer.status !== 200 || !body.includes('"protocol"')) {
      report({
        check: 'server',
        status: 'fail',
        message: `${url} answered ${answer.status}, and not as a Windlass server does`,
        hint: 'Check the URL and its path, and what a proxy or an ingress in between does with it.',
      })
      return false
    }
    report({ check: 'server', status: 'pass', message: `answers in ${tookMs} ms` })
    checkClock({ date: answer.headers['date'], from: sentAt, to: check.clock.now() }, report)
    return true
  } catch (error) {
    report({
      check: 'server',
      status: 'fail',
      message: `${url} does not answer: ${wordsOf(error)}`,
      hint: 'Check that the server runs, and the firewall or proxy on the way. A proxy that answers 407 wants a name and a password.',
    })
    return false
  }
}

/** The header has whole seconds: half a second is neither here nor there. */
function checkClock({ date, from, to }: { date: string | undefined; from: number; to: number }, report: Report): void {
  const server = Date.parse(date ?? '')
  if (Number.isNaN(server)) return report({ check: 'clock', status: 'warn', message: 'the server does not tell its time' })
  const skew = Math.max(0, Math.max(from - server - 1_000, server - to))
  report({
    check: 'clock',
    status: skew > SKEW_MS ? 'warn' : 'pass',
    message: skew > SKEW_MS ? `differs from the server's by ${Math.round(skew / 1000)} s` : "agrees with the server's",
    hint:
      skew > SKEW_MS
        ? 'Set the clock by NTP (chrony, systemd-timesyncd): certificates and times in logs depend on it.'
        : undefined,
  })
}

async function checkToken(check: ServerCheck, report: Report): Promise<void> {
  if (check.token === undefined) return
  const transport = nodeTransport({ caFile: check.caFile, proxy: proxyFrom(check.environment) })
  const url = `${check.url.replace(/\/+$/, '')}/v1/whoami`
  const headers = { accept: 'application/json', authorization: `Bearer ${check.token}` }
  const { status } = await transport({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS })
  if (status === 200) return report({ check: 'key', status: 'pass', message: 'the server knows it' })
  report({ check: 'key', status: 'fail', message: `the server answered ${status}`, hint: 'Log in again: windlass auth login' })
}

/** The words of an error, with the code of the system where it has one. */
export function wordsOf(error: unknown): string {
  if (isFault(error) || !(error instanceof Error)) return isFault(error) ? error.message : String(error)
  if (error instanceof AggregateError) return error.errors.map((part) => wordsOf(part)).join('; ')
  return error.message
}
