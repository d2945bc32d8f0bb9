/** Checks that a call of a browser comes from a page of this server. */
import type { IncomingHttpHeaders } from 'node:http'
import { fault } from '@windlass/kit'
import { PAGE_HEADER } from '@windlass/protocol'
import type { App } from '../app.ts'

/** What the checks need to know of a request. */
export interface BrowserRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly protocol: string
}

/** Maximum number of characters of an origin in a message. */
const MAX_ORIGIN_LENGTH = 200

type Urls = Pick<App, 'configuredUrl'>

/** True if browsers reach this server over TLS. */
export function isSecure({ configuredUrl }: Urls, protocol: string): boolean {
  return protocol === 'https' || configuredUrl?.startsWith('https:') === true
}

function isOwnOrigin({ configuredUrl }: Urls, { headers: { origin, host }, protocol }: BrowserRequest): boolean {
  const own = [`${protocol}://${host ?? ''}`, configuredUrl].filter((url) => url !== undefined && URL.canParse(url))
  return own.some((url) => url !== undefined && new URL(url).origin === origin)
}

/** Throws `forbidden` for a call that a web page of another origin makes a browser send. */
export function requireOwnOrigin(app: Urls, request: BrowserRequest): void {
  const { origin } = request.headers
  if (origin === undefined || isOwnOrigin(app, request)) return
  throw fault('forbidden', {
    message: `Requests from web pages of the origin "${origin.slice(0, MAX_ORIGIN_LENGTH)}" are not allowed.`,
    hint: 'Behind a proxy, set WINDLASS_SERVER_ADVERTISED_URL to the URL that browsers use.',
  })
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Throws `forbidden` unless a call with a session cookie comes from a page of this server. The browser says so in `Sec-Fetch-Site`, or in `Origin` where
 * it sends no `Sec-Fetch-Site` (without TLS). A call that changes something must also have the header that only our pages can send.
 */
export function requireOwnPage(app: Urls, request: BrowserRequest): void {
  const { method, headers } = request
  const site = headers['sec-fetch-site']
  const isSafe = SAFE.has(method)
  const isOwn = site === undefined ? isSafe || isOwnOrigin(app, request) : site === 'same-origin' || (isSafe && site === 'none')
  if (isOwn && (isSafe || headers[PAGE_HEADER] !== undefined)) return
  throw fault('forbidden', {
    message: isOwn
      ? `A call with a session cookie must have the header ${PAGE_HEADER}.`
      : 'Calls with a session cookie are allowed only from pages of this server.',
    hint: 'Use an API key outside of a browser.',
  })
}
