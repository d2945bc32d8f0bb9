/**
 * Where the API of a forge is, how it takes a login, and which call returns the user of the login. The server and agents share it. Addresses are those
 * of the public documentation of the forges.
 */
import { isRecord } from '@windlass/kit/json'
import type { Forge } from './triggers.ts'

/** The URL of a Git context, in parts. */
export interface ForgePlace {
  /** Scheme, host and port. */
  readonly origin: string
  /** Host without port. */
  readonly host: string
  /** Path without slashes at its ends. */
  readonly path: string
}

/** What a Git context has besides its URL. */
export interface ForgeLogin {
  readonly username?: string | undefined
  /** Token or password. */
  readonly password: string
}

/** An answer to the call that returns the user. */
export interface ForgeUserAnswer {
  readonly body: unknown
  /** Headers by their name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export interface ForgeEndpoint {
  /** Returns the base URL of the API, without a slash at the end. */
  baseOf(place: ForgePlace): string
  headersOf(login: ForgeLogin): Readonly<Record<string, string>>
  /** Path and query of the call that returns the user, below the base URL. */
  readonly userPath: string
  /** Returns the name of the user. Undefined if the answer is not one of this forge to a login. */
  userOf(answer: ForgeUserAnswer): string | undefined
}

/**
 * Name that Git needs for access tokens of repositories, projects and workspaces of Bitbucket Cloud. The API takes these tokens as bearer tokens only
 * (https://support.atlassian.com/bitbucket-cloud/docs/using-access-tokens/).
 */
export const BITBUCKET_TOKEN_USER = 'x-token-auth'

/** Azure DevOps answers some calls without a valid login, for this user. */
const AZURE_ANONYMOUS = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'

export const FORGE_ENDPOINTS: Readonly<Record<Forge, ForgeEndpoint>> = {
  github: {
    baseOf: ({ origin, host }) => (host === 'github.com' ? 'https://api.github.com' : `${origin}/api/v3`),
    headersOf: ({ password }) => ({ authorization: `Bearer ${password}`, accept: 'application/vnd.github+json' }),
    userPath: '/user',
    userOf: ({ body }) => textAt(body, 'login'),
  },
  gitlab: {
    baseOf: ({ origin, path }) => `${origin}${path === '' ? '' : `/${path}`}/api/v4`,
    headersOf: ({ password }) => ({ 'private-token': password }),
    userPath: '/user',
    userOf: ({ body }) => textAt(body, 'username'),
  },
  gitea: {
    baseOf: ({ origin, path }) => `${origin}${path === '' ? '' : `/${path}`}/api/v1`,
    headersOf: ({ password }) => ({ authorization: `token ${password}` }),
    userPath: '/user',
    userOf: ({ body }) => textAt(body, 'login'),
  },
  bitbucket: {
    baseOf: ({ origin, host }) => (host === 'bitbucket.org' ? 'https://api.bitbucket.org/2.0' : `${origin}/2.0`),
    headersOf: ({ username, password }) => ({
      authorization:
        username === undefined || username === BITBUCKET_TOKEN_USER ? `Bearer ${password}` : basicAuth(username, password),
    }),
    userPath: '/user',
    userOf: ({ body }) => textAt(body, 'display_name') ?? textAt(body, 'username'),
  },
  'bitbucket-server': {
    // The URL of a context may be that of clones, which ends with /scm.
    baseOf: ({ origin, path }) => `${origin}${path === '' || path === 'scm' ? '' : `/${path.replace(/\/scm$/, '')}`}/rest`,
    headersOf: ({ password }) => ({ authorization: `Bearer ${password}` }),
    // No call returns the user, but each answer names them.
    userPath: '/api/1.0/users?limit=1',
    userOf: ({ headers: { 'x-ausername': name } }) => (typeof name === 'string' && name !== '' ? name : undefined),
  },
  azure: {
    // The first folder of the URL of a context is the organization.
    baseOf: ({ origin, path }) => `${origin}/${path.split('/')[0] ?? ''}`,
    // The user name of a personal access token is empty.
    headersOf: ({ password }) => ({ authorization: basicAuth('', password) }),
    userPath: '/_apis/connectionData?api-version=7.0-preview',
    userOf({ body }) {
      const user = isRecord(body) ? body['authenticatedUser'] : undefined
      return textAt(user, 'id') === AZURE_ANONYMOUS ? undefined : textAt(user, 'providerDisplayName')
    },
  },
}

function textAt(value: unknown, key: string): string | undefined {
  const found = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Returns the header `Authorization` of a user name and a password (RFC 7617), in UTF-8. */
export function basicAuth(username: string, password: string): string {
  const bytes = new TextEncoder().encode(`${username}:${password}`)
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`
}
