/**
 * The OpenID Connect provider: where a browser signs in, and what the provider says about the user. `openid-client` checks the answer: state, PKCE, issuer,
 * audience, nonce, times and the signature of the ID token. It is loaded at the first sign-in, because most servers have no provider.
 */
import { explainUnreachable, fault, isFault, isLoopback, nodeTransport, readText, type Clock } from '@windlass/kit'
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import type { Login } from './login.ts'
import type { OidcSettings } from './settings.ts'

/** Maximum duration of a call to the provider. Seconds. */
const TIMEOUT_S = 10
/** Maximum size of an answer of the provider. Bytes. */
const MAX_ANSWER = 1024 * 1024
/** Time after which the endpoints of the provider are read again. Milliseconds. */
const DISCOVERY_MS = 3_600_000
const MAX_GROUPS = 2_000
const MAX_TEXT = 300

/** What the provider says about a user. */
export interface Identity {
  /** Id of the user at the provider, which never changes. */
  readonly subject: string
  /** Name for a new user; the provider may change it. */
  readonly name: string
  readonly displayName: string | undefined
  readonly groups: readonly string[]
}

export interface OidcProvider {
  readonly settings: OidcSettings
  /** Returns the page of the provider that signs the user in. Throws `unavailable`. */
  pageFor(login: Login, redirectUri: string): Promise<URL>
  /**
   * Exchanges the answer of the provider for the identity of the user. Throws `unauthenticated` if the provider or the checks refuse it, and `unavailable` if the
   * provider does not respond.
   */
  identify(login: Login, answer: URL): Promise<Identity>
}

export function openProvider(settings: OidcSettings, clock: Clock): OidcProvider {
  let known: { readonly configuration: Promise<Configuration>; readonly since: number } | undefined

  async function configuration(): Promise<Configuration> {
    const now = clock.monotonic()
    if (known !== undefined && now - known.since < DISCOVERY_MS) return known.configuration
    const next = { configuration: discover(settings), since: now }
    known = next
    next.configuration.catch(() => {
      if (known === next) known = undefined
    })
    return next.configuration
  }

  return {
    settings,
    async pageFor({ state, nonce, verifier }, redirectUri) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      return buildAuthorizationUrl(await orRefused(settings, configuration), {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
    },
    async identify({ state, nonce, verifier }, answer) {
      const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
      return orRefused(settings, async () => {
        const provider = await configuration()
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
        const tokens = await authorizationCodeGrant(provider, answer, checks)
        const claims = tokens.claims()
        if (claims === undefined) throw refused(settings, 'it has no ID token')
        const hasAll = claims[settings.groupsClaim] !== undefined && claims['preferred_username'] !== undefined
        if (hasAll || provider.serverMetadata().userinfo_endpoint === undefined) return toIdentity(settings, claims)
        const more = await fetchUserInfo(provider, tokens.access_token, claims.sub)
        return toIdentity(settings, { ...more, ...claims })
      })
    },
  }
}

async function discover(settings: OidcSettings): Promise<Configuration> {
  const client = await import('openid-client')
  const { issuer, clientId, clientSecret: secret } = settings
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  const secretAuth: ClientAuth = (server, ...rest) => {
    const hasBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
    return (hasBasic ? basic : post)(server, ...rest)
  }
  const execute = [client.enableNonRepudiationChecks, ...(isLoopback(issuer) ? [client.allowInsecureRequests] : [])]
  return client.discovery(new URL(issuer), clientId, undefined, secret === undefined ? client.None() : secretAuth, {
    execute,
    timeout: TIMEOUT_S,
    [client.customFetch]: openFetch(settings),
  })
}

/** Calls the provider over the transport of the server: with its proxies, a time limit and a limit for the size of the answer. */
function openFetch({ name, issuer }: OidcSettings): CustomFetch {
  const transport = nodeTransport({ connectMs: TIMEOUT_S * 1000, maxSockets: 8 })
  const unreachable = (why: string, cause?: unknown): Error =>
    fault(
      'unavailable',
      {
        message: `${name} cannot be reached: ${why.slice(0, MAX_TEXT)}.`,
        hint: `Check that this server reaches ${issuer}, or sign in with a password or an API key.`,
      },
      cause,
    )
  return async (url, { method, headers, body }) => {
    const form = typeof body === 'string' || body instanceof URLSearchParams ? { body: body.toString() } : {}
    const request = { url, method, headers: { ...headers, 'accept-encoding': 'identity' }, timeoutMs: TIMEOUT_S * 1000, ...form }
    try {
      const answer = await transport(request)
      const text = await readText(answer.body, MAX_ANSWER, () => new Error(`an answer has more than ${MAX_ANSWER} bytes`))
      const fields = Object.entries(answer.headers).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))
      return new Response(text === '' ? null : text, { status: answer.status, headers: Object.fromEntries(fields) })
    } catch (error) {
      throw unreachable(explainUnreachable(error, url).cause, error)
    }
  }
}

/** Reads the claims. Takes only what it needs, with limits. */
function toIdentity(settings: OidcSettings, claims: Readonly<Record<string, unknown>>): Identity {
  const text = (name: string): string | undefined => {
    const value = claims[name]
    return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : undefined
  }
  const subject = claims['sub']
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_TEXT)
    throw refused(settings, 'its subject is not valid')
  const given = claims[settings.groupsClaim]
  const groups = (Array.isArray(given) ? given : [given]).filter((group) => typeof group === 'string').slice(0, MAX_GROUPS)
  return { subject, name: text('preferred_username') ?? text('email') ?? subject, displayName: text('name'), groups }
}

function refused({ name }: OidcSettings, why: string, cause?: unknown): Error {
  const message = `The answer of ${name} was not accepted: ${why.slice(0, MAX_TEXT)}.`
  return fault('unauthenticated', { message, hint: 'Sign in again. If it fails again, an admin must check OIDC_ISSUER.' }, cause)
}

/** Errors of the provider that only an admin can remove. */
const OF_SETTINGS: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'unsupported_response_type',
])

const SETTINGS_HINT = 'An admin must correct OIDC_CLIENT_ID, OIDC_CLIENT_SECRET or OIDC_SCOPES, or the client at the provider.'

/** Runs a step of the sign-in and converts its failure to a fault with the text of the provider. */
async function orRefused<T>(settings: OidcSettings, work: () => Promise<T>): Promise<T> {
  const { AuthorizationResponseError, ClientError, ResponseBodyError, WWWAuthenticateChallengeError } =
    await import('openid-client')
  try {
    return await work()
  } catch (error) {
    if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
      const why = (error.error_description ?? error.error).slice(0, MAX_TEXT)
      throw fault(
        'unauthenticated',
        {
          message: `${settings.name} refused the sign-in: ${why}`,
          hint: OF_SETTINGS.has(error.error) ? SETTINGS_HINT : 'Sign in again.',
        },
        error,
      )
    }
    if (error instanceof WWWAuthenticateChallengeError)
      throw fault(
        'unauthenticated',
        { message: `${settings.name} does not accept the credentials of this server.`, hint: SETTINGS_HINT },
        error,
      )
    if (!(error instanceof ClientError)) throw error
    // The library wraps what the transport throws.
    if (isFault(error.cause)) throw error.cause
    const { cause } = error
    throw refused(settings, cause instanceof Error ? `${error.message} (${cause.message})` : error.message, error)
  }
}
