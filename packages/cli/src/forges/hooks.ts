/** The webhooks of repositories, by the APIs of the forges, and the forges that a command can connect. */
import { FORGE_HOOKS, HOOKS_OF_PAGE, MAX_HOOK_PAGES, type ForgeHook, type ForgeHooks, type NewHook } from '@windlass/forges'
import { BITBUCKET_TOKEN_USER, FORGE_ENDPOINTS } from '@windlass/protocol'
import { z } from 'zod'
import type { ConnectedForgeName } from '../role-names.ts'
import { openForgeClient, type ForgeClient } from './forge-client.ts'

/** The webhooks of repositories. `repo` is `owner/name`. Each function throws `forge-unreachable` and `forge-refused`. */
export interface HookApi {
  list(repo: string): Promise<readonly ForgeHook[]>
  create(repo: string, hook: NewHook): Promise<void>
  /** Activates a webhook with the events of a new one. Keeps its address and secret. */
  refresh(repo: string, hook: ForgeHook): Promise<void>
  remove(repo: string, hook: ForgeHook): Promise<void>
}

/** A token for the API and for git. */
export interface ForgeAccess {
  /** Base URL of the forge, without a trailing slash. */
  readonly url: string
  readonly token: string
  /** Undefined for a token without a user, which most forges issue. */
  readonly username: string | undefined
}

export interface ConnectedForge {
  /** URL of the public service; undefined for forges that everybody hosts themselves. */
  readonly publicUrl: string | undefined
  /** User name that git sends with a token. */
  readonly gitUser: string
  open(access: ForgeAccess): HookApi
}

export const CONNECTED_FORGES = {
  github: {
    publicUrl: 'https://github.com',
    gitUser: 'x-access-token',
    open({ url, token }) {
      const base = url === 'https://github.com' ? 'https://api.github.com' : `${url}/api/v3`
      const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }
      return openHooks(openForgeClient(base, { ...headers, authorization: `Bearer ${token}` }), FORGE_HOOKS.github)
    },
  },
  gitea: {
    publicUrl: undefined,
    gitUser: 'windlass',
    open: ({ url, token }) => openHooks(openForgeClient(`${url}/api/v1`, { authorization: `token ${token}` }), FORGE_HOOKS.gitea),
  },
  gitlab: {
    publicUrl: 'https://gitlab.com',
    gitUser: 'oauth2',
    open: ({ url, token }) =>
      openHooks(openForgeClient(`${url}/api/v4`, { authorization: `Bearer ${token}` }), FORGE_HOOKS.gitlab),
  },
  bitbucket: {
    publicUrl: 'https://bitbucket.org',
    gitUser: BITBUCKET_TOKEN_USER,
    open({ url, token, username }) {
      const base = url === 'https://bitbucket.org' ? 'https://api.bitbucket.org/2.0' : `${url}/2.0`
      const headers = FORGE_ENDPOINTS.bitbucket.headersOf({ username, password: token })
      return openHooks(openForgeClient(base, headers), FORGE_HOOKS.bitbucket)
    },
  },
  'bitbucket-server': {
    publicUrl: undefined,
    gitUser: BITBUCKET_TOKEN_USER,
    open({ url, token, username }) {
      const headers = FORGE_ENDPOINTS['bitbucket-server'].headersOf({ username, password: token })
      return openHooks(openForgeClient(`${url}/rest`, headers), FORGE_HOOKS['bitbucket-server'])
    },
  },
} as const satisfies Readonly<Record<ConnectedForgeName, ConnectedForge>>

function openHooks(client: ForgeClient, hooks: ForgeHooks): HookApi {
  return {
    async list(repo) {
      const found: ForgeHook[] = []
      for (let page = 1; page <= MAX_HOOK_PAGES; page += 1) {
        const { path, read } = hooks.page(repo, page)
        const some = await client.call({ method: 'GET', path }, answerOf(read))
        found.push(...some)
        if (some.length < HOOKS_OF_PAGE) break
      }
      return found
    },
    create: (repo, hook) => client.run(hooks.create(repo, hook)),
    async refresh(repo, hook) {
      const call = hooks.refresh(repo, hook)
      if (call !== undefined) await client.run(call)
    },
    remove: (repo, { id }) => client.run(hooks.remove(repo, id)),
  }
}

/** A schema for an answer that is read by a function. */
function answerOf<T>(read: (body: unknown) => T | undefined): z.ZodType<T> {
  return z.unknown().transform((body, context) => {
    const found = read(body)
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: 'is not a list of webhooks', input: body })
    return z.NEVER
  })
}
