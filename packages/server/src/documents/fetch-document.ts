/**
 * Documents behind URLs, fetched by the server itself: over http and https, within limits, and never from addresses that only this machine
 * or its cloud can reach, so that nobody makes the server ask them (SSRF). The address that was checked is the one that is called.
 */
import { lookup as resolveName } from 'node:dns'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

export interface DocumentPolicy {
  /** Names of hosts that may be asked, whatever their address; any host with an allowed address when empty. */
  readonly hosts: readonly string[]
}

const MAX_BYTES = 1_048_576
const MAX_REDIRECTS = 5
const LIMIT_MS = 15_000

/** Why a document cannot be had, in words for the person who wrote its URL. */
export class FetchProblem extends Error {
  override readonly name = 'FetchProblem'
}

/** Loopback, link-local with the metadata services of clouds, and what is no host at all. */
const refused = new BlockList()
refused.addSubnet('0.0.0.0', 8)
refused.addSubnet('127.0.0.0', 8)
refused.addSubnet('169.254.0.0', 16)
refused.addAddress('100.100.100.200')
refused.addAddress('192.0.0.192')
refused.addSubnet('224.0.0.0', 3)
refused.addAddress('::', 'ipv6')
refused.addAddress('::1', 'ipv6')
refused.addSubnet('fe80::', 10, 'ipv6')
refused.addSubnet('ff00::', 8, 'ipv6')
refused.addAddress('fd00:ec2::254', 'ipv6')
refused.addSubnet('64:ff9b::', 96, 'ipv6')

/** True for an address that no document is fetched from, also when it is written as IPv4 in IPv6. */
export function isRefused(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return true
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return isRefused(mapped)
  return refused.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** The text behind a URL. Throws `FetchProblem`. */
export async function fetchDocument(written: string, policy: DocumentPolicy): Promise<string> {
  const signal = AbortSignal.timeout(LIMIT_MS)
  let url = toUrl(written)
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const response = await ask(url, policy, signal)
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy()
      url = toUrl(headers.location, url)
      continue
    }
    if (statusCode !== 200) {
      response.destroy()
      throw new FetchProblem(`${url.host} answered ${statusCode}`)
    }
    return readText(response)
  }
  throw new FetchProblem(`more than ${MAX_REDIRECTS} redirects`)
}

function toUrl(written: string, base?: URL): URL {
  if (!URL.canParse(written, base?.href)) throw new FetchProblem('it is no URL')
  const url = new URL(written, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new FetchProblem(`${url.protocol}// is not allowed; use https`)
  if (base?.protocol === 'https:' && url.protocol === 'http:') throw new FetchProblem('it redirects from https to http')
  if (url.username !== '' || url.password !== '') throw new FetchProblem('it holds a login; only public files can be fetched')
  return url
}

function ask(url: URL, { hosts }: DocumentPolicy, signal: AbortSignal): Promise<IncomingMessage> {
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const isNamed = hosts.some((host) => host.toLowerCase() === name.toLowerCase())
  if (hosts.length > 0 && !isNamed) throw new FetchProblem(`the host ${name} is not among those that are allowed`)
  const isFree = isNamed && hosts.length > 0
  if (!isFree && isIP(name) !== 0 && isRefused(name)) throw new FetchProblem(`the address ${name} is not allowed`)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const open = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = { 'user-agent': 'windlass', accept: 'text/plain, */*' }
  const request = open(url, { signal, headers, lookup: checkedLookup(isFree) }, resolve)
  request.on('error', (error) =>
    reject(
      error instanceof FetchProblem
        ? error
        : new FetchProblem(signal.aborted ? `it took longer than ${LIMIT_MS / 1000} s` : error.message),
    ),
  )
  request.end()
  return promise
}

/** Resolves a name, and fails when one of its addresses is refused. */
function checkedLookup(isFree: boolean): LookupFunction {
  return (name, options, done) => {
    resolveName(name, { all: true }, (error, found) => {
      const bad = isFree ? undefined : found?.find(({ address }) => isRefused(address))
      const [first] = found ?? []
      if (error !== null) done(error, '', 4)
      else if (bad !== undefined) done(new FetchProblem(`${name} has the address ${bad.address}, which is not allowed`), '', 4)
      else if (first === undefined) done(new FetchProblem(`${name} has no address`), '', 4)
      else if (options.all === true) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response) {
      const part: Uint8Array = chunk
      bytes += part.byteLength
      if (bytes > MAX_BYTES) throw new FetchProblem('it is larger than 1 MiB')
      chunks.push(part)
    }
  } catch (error) {
    throw error instanceof FetchProblem ? error : new FetchProblem(error instanceof Error ? error.message : 'it broke off')
  }
  return Buffer.concat(chunks).toString('utf8')
}
