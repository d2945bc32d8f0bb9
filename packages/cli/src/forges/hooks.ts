/**
 * The webhooks of repositories, in the APIs of the forges. Paths, fields and names of events are those of their public documentation: "Repository
 * webhooks" of GitHub, "Project webhooks" of GitLab, "Webhooks" of Bitbucket Cloud, and the OpenAPI document of Gitea.
 */
import { BITBUCKET_TOKEN_USER, FORGE_ENDPOINTS } from '@windlass/protocol'
import { z } from 'zod'
import type { ConnectedForgeName } from '../role-names.ts'
import { openForgeClient, type ForgeClient } from './forge-client.ts'

export interface ForgeHook {
  readonly id: string
  /** The address that the forge calls. */
  readonly url: string
}

export interface NewHook {
  readonly url: string
  readonly secret: string
}

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

/** Number of webhooks of a page, and of pages that are read. Forges allow fewer webhooks for a repository. */
const PAGE = 50
const MAX_PAGES = 20

const GITHUB_EVENTS = [
  'push',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'issue_comment',
  'release',
] as const

/** `pull_request` includes reviews and comments of pull requests. */
const GITEA_EVENTS = ['push', 'delete', 'pull_request', 'release'] as const

const GITLAB_EVENTS = {
  push_events: true,
  tag_push_events: true,
  merge_requests_events: true,
  note_events: true,
  releases_events: true,
} as const

const BITBUCKET_EVENTS = [
  'repo:push',
  'pullrequest:created',
  'pullrequest:updated',
  'pullrequest:approved',
  'pullrequest:unapproved',
  'pullrequest:changes_request_created',
  'pullrequest:fulfilled',
  'pullrequest:rejected',
  'pullrequest:comment_created',
  'pullrequest:comment_updated',
  'pullrequest:comment_deleted',
] as const

export const CONNECTED_FORGES = {
  github: {
    publicUrl: 'https://github.com',
    gitUser: 'x-access-token',
    open({ url, token }) {
      const base = url === 'https://github.com' ? 'https://api.github.com' : `${url}/api/v3`
      const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }
      return openConfigHooks(openForgeClient(base, { ...headers, authorization: `Bearer ${token}` }), {
        pageSize: 'per_page',
        type: { name: 'web' },
        events: GITHUB_EVENTS,
      })
    },
  },
  gitea: {
    publicUrl: undefined,
    gitUser: 'windlass',
    open: ({ url, token }) =>
      openConfigHooks(openForgeClient(`${url}/api/v1`, { authorization: `token ${token}` }), {
        pageSize: 'limit',
        type: { type: 'gitea' },
        events: GITEA_EVENTS,
      }),
  },
  gitlab: {
    publicUrl: 'https://gitlab.com',
    gitUser: 'oauth2',
    open: ({ url, token }) => openGitlabHooks(openForgeClient(`${url}/api/v4`, { authorization: `Bearer ${token}` })),
  },
  bitbucket: {
    publicUrl: 'https://bitbucket.org',
    gitUser: BITBUCKET_TOKEN_USER,
    open({ url, token, username }) {
      const base = url === 'https://bitbucket.org' ? 'https://api.bitbucket.org/2.0' : `${url}/2.0`
      return openBitbucketHooks(openForgeClient(base, FORGE_ENDPOINTS.bitbucket.headersOf({ username, password: token })))
    },
  },
} as const satisfies Readonly<Record<ConnectedForgeName, ConnectedForge>>

/** Collects the pages of a list until one is not full. `page` counts from 1. */
async function collect(read: (page: number) => Promise<readonly ForgeHook[]>): Promise<readonly ForgeHook[]> {
  const found: ForgeHook[] = []
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const hooks = await read(page)
    found.push(...hooks)
    if (hooks.length < PAGE) break
  }
  return found
}

/** Encodes the parts of a path, but not its slashes. */
function encodePath(repo: string): string {
  return repo.split('/').map(encodeURIComponent).join('/')
}

const ConfigHooks = z.array(z.object({ id: z.int(), config: z.object({ url: z.string().optional() }) }))

interface ConfigForm {
  /** Name of the parameter for the size of pages. */
  readonly pageSize: string
  /** Field that a new webhook requires. */
  readonly type: object
  readonly events: readonly string[]
}

/** GitHub and Gitea, whose webhooks have address and secret in `config`. A change without `config` keeps both. */
function openConfigHooks(client: ForgeClient, { pageSize, type, events }: ConfigForm): HookApi {
  const pathOf = (repo: string): string => `/repos/${encodePath(repo)}/hooks`
  return {
    list: (repo) =>
      collect(async (page) => {
        const path = `${pathOf(repo)}?${pageSize}=${PAGE}&page=${page}`
        const hooks = await client.call({ method: 'GET', path }, ConfigHooks)
        return hooks.map(({ id, config }) => ({ id: String(id), url: config.url ?? '' }))
      }),
    create: (repo, { url, secret }) =>
      client.run({
        method: 'POST',
        path: pathOf(repo),
        body: { ...type, active: true, events, config: { url, secret, content_type: 'json' } },
      }),
    refresh: (repo, { id }) =>
      client.run({ method: 'PATCH', path: `${pathOf(repo)}/${encodeURIComponent(id)}`, body: { active: true, events } }),
    remove: (repo, { id }) => client.run({ method: 'DELETE', path: `${pathOf(repo)}/${encodeURIComponent(id)}` }),
  }
}

const GitlabHooks = z.array(z.object({ id: z.int(), url: z.string() }))

function openGitlabHooks(client: ForgeClient): HookApi {
  const pathOf = (repo: string): string => `/projects/${encodeURIComponent(repo)}/hooks`
  return {
    list: (repo) =>
      collect(async (page) => {
        const hooks = await client.call({ method: 'GET', path: `${pathOf(repo)}?per_page=${PAGE}&page=${page}` }, GitlabHooks)
        return hooks.map(({ id, url }) => ({ id: String(id), url }))
      }),
    create: (repo, { url, secret }) =>
      client.run({ method: 'POST', path: pathOf(repo), body: { url, token: secret, ...GITLAB_EVENTS } }),
    // The address is required. The token is kept as long as the address is the same.
    refresh: (repo, { id, url }) =>
      client.run({ method: 'PUT', path: `${pathOf(repo)}/${encodeURIComponent(id)}`, body: { url, ...GITLAB_EVENTS } }),
    remove: (repo, { id }) => client.run({ method: 'DELETE', path: `${pathOf(repo)}/${encodeURIComponent(id)}` }),
  }
}

const BitbucketHooks = z.object({ values: z.array(z.object({ uuid: z.string(), url: z.string() })) })

function openBitbucketHooks(client: ForgeClient): HookApi {
  const pathOf = (repo: string): string => `/repositories/${encodePath(repo)}/hooks`
  const common = { description: 'Windlass', active: true, events: BITBUCKET_EVENTS }
  return {
    list: (repo) =>
      collect(async (page) => {
        const { values } = await client.call(
          { method: 'GET', path: `${pathOf(repo)}?pagelen=${PAGE}&page=${page}` },
          BitbucketHooks,
        )
        return values.map(({ uuid, url }) => ({ id: uuid, url }))
      }),
    create: (repo, hook) => client.run({ method: 'POST', path: pathOf(repo), body: { ...common, ...hook } }),
    // A change without `secret` keeps it.
    refresh: (repo, { id, url }) =>
      client.run({ method: 'PUT', path: `${pathOf(repo)}/${encodeURIComponent(id)}`, body: { ...common, url } }),
    remove: (repo, { id }) => client.run({ method: 'DELETE', path: `${pathOf(repo)}/${encodeURIComponent(id)}` }),
  }
}
