/**
 * A sign-in at the provider that is in progress. The browser keeps it in a cookie with a random number; `state`, `nonce` and the PKCE verifier are derived
 * from it with the master key, so that the server stores nothing until the provider has answered.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { readCookie } from '../sessions/session-cookie.ts'

/** Time in which the user must sign in at the provider. Milliseconds. */
const LOGIN_MS = 10 * 60_000

/** Pages that a sign-in can return to. */
export const RETURN_PAGES = ['signin', 'device'] as const
export type ReturnPage = (typeof RETURN_PAGES)[number]

export interface Login {
  readonly returnTo: ReturnPage
  /** Binds the answer of the provider to the browser. */
  readonly state: string
  /** Binds the ID token to this sign-in. */
  readonly nonce: string
  /** PKCE: proves that the code was requested by this sign-in. */
  readonly verifier: string
  /** Value of the cookie. */
  readonly cookie: string
}

interface Deriver {
  derive(keyId: string, purpose: string): string
}

interface NewLogin {
  /** Id of the current master key. */
  readonly keyId: string
  readonly now: number
  readonly returnTo: ReturnPage
}

export function newLogin(vault: Deriver, { keyId, now, returnTo }: NewLogin): Login {
  return toLogin(vault, { keyId, returnTo, expiresAt: String(now + LOGIN_MS), random: randomBytes(32).toString('base64url') })
}

interface Parts {
  readonly keyId: string
  readonly returnTo: ReturnPage
  readonly expiresAt: string
  readonly random: string
}

function toLogin(vault: Deriver, { keyId, returnTo, expiresAt, random }: Parts): Login {
  const secret = vault.derive(keyId, `oidc-login/${returnTo}/${expiresAt}/${random}`)
  const part = (name: string): string => createHmac('sha256', secret).update(name).digest('base64url')
  return {
    returnTo,
    state: part('state'),
    nonce: part('nonce'),
    verifier: part('verifier'),
    cookie: [keyId, returnTo, expiresAt, random, part('cookie')].join('.'),
  }
}

/** Returns the sign-in of a cookie; undefined if the cookie is missing, changed or too old. `knows` tells whether a master key is in the ring. */
export function findLogin(
  vault: Deriver,
  cookie: string | undefined,
  { now, knows }: { readonly now: number; readonly knows: (keyId: string) => boolean },
): Login | undefined {
  const [keyId = '', page, expiresAt = '', random = ''] = cookie?.split('.') ?? []
  const returnTo = RETURN_PAGES.find((one) => one === page)
  if (cookie === undefined || returnTo === undefined || !(now < Number(expiresAt)) || !knows(keyId)) return undefined
  const login = toLogin(vault, { keyId, returnTo, expiresAt, random })
  const [given, expected] = [Buffer.from(cookie), Buffer.from(login.cookie)]
  return given.length === expected.length && timingSafeEqual(given, expected) ? login : undefined
}

const SECURE_NAME = '__Host-windlass-login'
const PLAIN_NAME = 'windlass-login'

/**
 * Returns the `Set-Cookie` header. `SameSite=Lax`, because the browser must send the cookie when the provider sends the user back. An empty value removes
 * the cookie.
 */
export function writeLoginCookie(value: string, secure: boolean): string {
  const name = secure ? SECURE_NAME : PLAIN_NAME
  const maxAge = value === '' ? 0 : LOGIN_MS / 1000
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

export function readLoginCookie(headers: IncomingHttpHeaders, secure: boolean): string | undefined {
  return readCookie(headers, secure ? SECURE_NAME : PLAIN_NAME)
}
