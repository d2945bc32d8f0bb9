/**
 * The calls of OAuth apps of forges that return tokens: the code of a sign-in (RFC 6749 section 4.1.3, with PKCE of RFC 7636), and a refresh token
 * (section 6). Addresses and scopes are those of the public documentation of the forges.
 */
import { z } from 'zod'

/** Forges at which a user can sign in with an OAuth app. */
export const APP_FORGES = ['github', 'gitlab', 'bitbucket', 'gitea'] as const
export const AppForge = z.enum(APP_FORGES)
export type AppForge = z.infer<typeof AppForge>

interface Endpoints {
  /** Page where the user signs in and consents, below the base URL of the forge. */
  readonly authorize: string
  /** Address that returns tokens, below the base URL of the forge. */
  readonly token: string
  /** Scopes to clone, to set commit statuses and to manage webhooks. Undefined if the app itself has them. */
  readonly scope: string | undefined
  /** True for a forge that accepts the secret of the app only in the header `Authorization`. */
  readonly takesBasic: boolean
}

const ENDPOINTS: Readonly<Record<AppForge, Endpoints>> = {
  github: {
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    scope: 'repo admin:repo_hook',
    takesBasic: false,
  },
  gitlab: { authorize: '/oauth/authorize', token: '/oauth/token', scope: 'api', takesBasic: false },
  bitbucket: { authorize: '/site/oauth2/authorize', token: '/site/oauth2/access_token', scope: undefined, takesBasic: true },
  gitea: {
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    scope: 'write:repository',
    takesBasic: false,
  },
}

export interface OauthApp {
  readonly forge: AppForge
  /** Base URL of the forge. */
  readonly url: string
  readonly id: string
  /** Undefined for a public app. */
  readonly secret: string | undefined
}

export interface SignInRequest {
  readonly redirectUri: string
  readonly state: string
  /** SHA-256 of the PKCE verifier, base64url. */
  readonly challenge: string
}

/** Returns the page of the forge where the user signs in. */
export function signInPage(
  { forge, url, id }: Omit<OauthApp, 'secret'>,
  { redirectUri, state, challenge }: SignInRequest,
): string {
  const { authorize, scope } = ENDPOINTS[forge]
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: id,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(scope !== undefined && { scope }),
  })
  return `${baseOf(url)}${authorize}?${query.toString()}`
}

export type Grant =
  | {
      readonly grant_type: 'authorization_code'
      readonly code: string
      readonly redirect_uri: string
      readonly code_verifier: string
    }
  | { readonly grant_type: 'refresh_token'; readonly refresh_token: string }

export interface TokenCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns the POST call that exchanges a grant for tokens. */
export function tokenCall({ forge, url, id, secret }: OauthApp, grant: Grant): TokenCall {
  const { token, takesBasic } = ENDPOINTS[forge]
  const isBasic = takesBasic && secret !== undefined
  const app = isBasic ? {} : { client_id: id, ...(secret !== undefined && { client_secret: secret }) }
  // Both are form-encoded first, so the text has only ASCII (RFC 6749 section 2.3.1).
  const login = btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret ?? '')}`)
  return {
    url: `${baseOf(url)}${token}`,
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'windlass',
      ...(isBasic && { authorization: `Basic ${login}` }),
    },
    body: new URLSearchParams({ ...grant, ...app }).toString(),
  }
}

function baseOf(url: string): string {
  return url.replace(/\/+$/, '')
}

const Token = z.string().regex(/^[\x21-\x7e]{1,16384}$/)

/** Longest lifetime of a token that is taken from an answer: ten years. Seconds. */
export const MAX_LIFETIME_S = 315_360_000

const Answer = z.object({
  access_token: Token,
  refresh_token: Token.nullish(),
  /** Seconds. */
  expires_in: z.coerce.number().int().positive().max(MAX_LIFETIME_S).nullish(),
})

export interface Tokens {
  readonly accessToken: string
  /** Undefined if the forge does not replace the earlier one. */
  readonly refreshToken: string | undefined
  /** Lifetime of the access token, seconds. Undefined if it does not expire. */
  readonly expiresIn: number | undefined
}

/** Reads an answer of 2xx. Undefined for one without tokens: GitHub reports errors with 200. */
export function readTokens(body: unknown): Tokens | undefined {
  const { data } = Answer.safeParse(body)
  if (data === undefined) return undefined
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = data
  return { accessToken, refreshToken: refreshToken ?? undefined, expiresIn: expiresIn ?? undefined }
}

const Refusal = z.object({ error: z.string().regex(/^[a-z_]{1,50}$/) })

/** Codes that say that a refresh token or an app is not valid: RFC 6749 section 5.2, and those of GitHub. */
const FINAL_CODES = [
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'bad_refresh_token',
  'incorrect_client_credentials',
]

/** Returns true for the code of a refusal that a later call with the same values would get, too. */
export function isFinalRefusal(code: string): boolean {
  return FINAL_CODES.includes(code)
}

/** Returns the code of a refusal, such as `invalid_grant` (RFC 6749 section 5.2). Undefined for another body. */
export function readRefusal(body: unknown): string | undefined {
  return Refusal.safeParse(body).data?.error
}
