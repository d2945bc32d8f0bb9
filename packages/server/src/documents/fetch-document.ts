/**
 * Fetching of documents by URL, over http and https, within limits, and only from public addresses unless a setting allows others, to prevent
 * server-side request forgery (SSRF). The connection is made to the address that was checked. Every reason why a host does not respond gives the same
 * message, so that messages do not reveal which hosts and ports exist.
 */
import type { IncomingMessage } from 'node:http'
import { exchange, hostOf, readText } from '@windlass/kit'
import { guardedAddress, isNamedHost, type AddressPolicy } from '../outbound/guarded-address.ts'

/** If `hosts` is not empty, documents are fetched from these hosts only. */
export interface DocumentPolicy extends AddressPolicy {
  /** Reports why a host did not respond, for users who fetch from their own machine. */
  readonly tellsCause?: true
}

const MAX_BYTES = 1_048_576
const MAX_REDIRECTS = 5
const LIMIT_MS = 15_000

/** The reason why a document cannot be fetched, as a message for the author of the URL. */
export class FetchProblem extends Error {
  override readonly name = 'FetchProblem'
}

/** Fetches the text at a URL. Throws `FetchProblem`. */
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
    return readText(response, MAX_BYTES, () => new FetchProblem('it is larger than 1 MiB')).catch((error: unknown) => {
      throw error instanceof FetchProblem ? error : unreachable(url, policy, causeOf(error, signal))
    })
  }
  throw new FetchProblem(`more than ${MAX_REDIRECTS} redirects`)
}

function toUrl(written: string, base?: URL): URL {
  if (!URL.canParse(written, base?.href)) throw new FetchProblem('it is not a valid URL')
  const url = new URL(written, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new FetchProblem(`${url.protocol}// is not allowed; use https`)
  if (base?.protocol === 'https:' && url.protocol === 'http:') throw new FetchProblem('it redirects from https to http')
  if (url.username !== '' || url.password !== '') throw new FetchProblem('it contains a login; only public files can be fetched')
  return url
}

function ask(url: URL, policy: DocumentPolicy, signal: AbortSignal): Promise<IncomingMessage> {
  const name = hostOf(url)
  if (policy.hosts.length > 0 && !isNamedHost(url, policy))
    throw new FetchProblem(`the host ${name} is not in the list of allowed hosts`)
  const to = guardedAddress(url, policy)
  if (to === undefined) throw new FetchProblem(`the address ${name} is not allowed`)
  const headers = { 'user-agent': 'windlass', accept: 'text/plain, */*' }
  // Without kept connections, because a proxy would connect to an address that was not checked.
  return exchange({ to, agent: false, method: 'GET', headers, signal }).catch((error: unknown) => {
    throw unreachable(url, policy, causeOf(error, signal))
  })
}

function causeOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `it took longer than ${LIMIT_MS / 1000} s`
  return error instanceof Error ? error.message : String(error)
}

function unreachable(url: URL, { tellsCause }: DocumentPolicy, cause: string): FetchProblem {
  return new FetchProblem(
    tellsCause === true ? cause : `${url.host} cannot be reached from the server, or no setting allows its address`,
  )
}
