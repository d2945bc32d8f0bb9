/** The cookie of a session. */
import type { IncomingHttpHeaders } from 'node:http'

/** With the prefix `__Host-` browsers accept the cookie only over TLS, for exactly this host and all its paths. */
const SECURE_NAME = '__Host-windlass'
const PLAIN_NAME = 'windlass'

/**
 * Returns the value of the session cookie. Over TLS only the cookie with the prefix counts: a page of another host of the same domain could set the
 * other one.
 */
export function readSessionCookie(headers: IncomingHttpHeaders, secure: boolean): string | undefined {
  return readCookie(headers, secure ? SECURE_NAME : PLAIN_NAME)
}

/** Returns the value of the first cookie with this name. */
export function readCookie({ cookie = '' }: IncomingHttpHeaders, name: string): string | undefined {
  for (const part of cookie.split(';')) {
    const [key, value] = part.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}

export interface CookieOptions {
  readonly secure: boolean
  /** Zero removes the cookie. */
  readonly maxAgeSeconds: number
}

/**
 * Returns the `Set-Cookie` header. `SameSite=Strict` is enough for pages that are opened by a link elsewhere: their documents need no cookie, and their
 * own calls send it.
 */
export function writeSessionCookie(value: string, { secure, maxAgeSeconds }: CookieOptions): string {
  const name = secure ? SECURE_NAME : PLAIN_NAME
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
}
