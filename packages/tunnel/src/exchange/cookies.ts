/** Cookies that a runtime sets. */
import type { Headers } from './exchange.ts'

/**
 * Returns the headers of an answer, with cookies for its host alone: a `Domain` (RFC 6265, 5.2.3) that is not the host itself is left out, which makes a cookie one
 * of the host. With the domain of the tunnels, or one above it, browsers would send the cookie to all other runtimes.
 */
export function withOwnCookies(headers: Headers, host: string): Headers {
  const cookies = headers['set-cookie']
  if (cookies === undefined) return headers
  return { ...headers, 'set-cookie': [cookies].flat().map((cookie) => toOwn(cookie, host)) }
}

function toOwn(cookie: string, host: string): string {
  // Browsers end the value and each attribute at `;`, also between quotes.
  const [pair = '', ...attributes] = cookie.split(';')
  return [pair, ...attributes.filter((attribute) => isOwn(attribute, host))].join(';')
}

function isOwn(attribute: string, host: string): boolean {
  const [name = '', ...value] = attribute.split('=')
  if (name.trim().toLowerCase() !== 'domain') return true
  return value.join('=').trim().toLowerCase().replace(/^\./, '') === host
}
