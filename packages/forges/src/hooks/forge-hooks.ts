/**
 * The webhooks of repositories. Pure, like `ForgeApi`: a forge says what is called and how its answer is read. Paths, fields and names of events are those of the public
 * documentation: "Repository webhooks" of GitHub, "Project webhooks" of GitLab, "Webhooks" of Bitbucket Cloud and of Bitbucket Data Center, and the OpenAPI document of
 * Gitea.
 */
import { pathOf } from '../api/forge-api.ts'
import { repositoryOf } from '../api/bitbucket-server.ts'
import { list, text } from '../fields.ts'

export interface ForgeHook {
  readonly id: string
  /** The address that the forge calls. */
  readonly url: string
}

export interface NewHook {
  readonly url: string
  readonly secret: string
  /** Header `Authorization` of its calls. Only Gitea can send one. */
  readonly authorization?: string
}

export interface HookCall {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query below the base URL of the API. */
  readonly path: string
  readonly body?: object
}

/** Number of webhooks of a page, and of pages that are read. Forges allow fewer webhooks for a repository. */
export const HOOKS_OF_PAGE = 50
export const MAX_HOOK_PAGES = 20

/** `repo` is `owner/name`. */
export interface ForgeHooks {
  /** A page of the webhooks, counted from 1. A page that is not full is the last one. Reading returns undefined for an answer that is no list. */
  page(repo: string, page: number): { readonly path: string; read(body: unknown): readonly ForgeHook[] | undefined }
  create(repo: string, hook: NewHook): HookCall
  /** Activates a webhook with the events of a new one, and keeps its address and secret. Undefined if the forge has no such call. */
  refresh(repo: string, hook: ForgeHook): HookCall | undefined
  remove(repo: string, id: string): HookCall
}

export const HOOKED_FORGES = ['github', 'gitlab', 'bitbucket', 'bitbucket-server', 'gitea'] as const
export type HookedForge = (typeof HOOKED_FORGES)[number]

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

const BITBUCKET_SERVER_EVENTS = [
  'repo:refs_changed',
  'pr:opened',
  'pr:modified',
  'pr:from_ref_updated',
  'pr:merged',
  'pr:declined',
  'pr:deleted',
  'pr:reviewer:approved',
  'pr:reviewer:unapproved',
  'pr:reviewer:needs_work',
  'pr:comment:added',
  'pr:comment:edited',
  'pr:comment:deleted',
] as const

interface ConfigForm {
  /** Name of the parameter for the size of pages. */
  readonly pageSize: string
  /** Field that a new webhook requires. */
  readonly type: object
  readonly events: readonly string[]
}

/** GitHub and Gitea, whose webhooks have address and secret in `config`. A change without `config` keeps both. */
function configHooks({ pageSize, type, events }: ConfigForm): ForgeHooks {
  const at = (repo: string): string => `/repos/${pathOf(repo, 'hooks')}`
  return {
    page: (repo, page) => ({
      path: `${at(repo)}?${pageSize}=${HOOKS_OF_PAGE}&page=${page}`,
      read: (body) => readHooks(body, { id: ['id'], url: ['config', 'url'] }),
    }),
    create: (repo, { url, secret, authorization }) => ({
      method: 'POST',
      path: at(repo),
      body: {
        ...type,
        active: true,
        events,
        config: { url, secret, content_type: 'json' },
        ...(authorization !== undefined && { authorization_header: authorization }),
      },
    }),
    refresh: (repo, { id }) => ({
      method: 'PATCH',
      path: `${at(repo)}/${encodeURIComponent(id)}`,
      body: { active: true, events },
    }),
    remove: (repo, id) => ({ method: 'DELETE', path: `${at(repo)}/${encodeURIComponent(id)}` }),
  }
}

const gitlabHooks: ForgeHooks = {
  page: (repo, page) => ({
    path: `${gitlabPathOf(repo)}?per_page=${HOOKS_OF_PAGE}&page=${page}`,
    read: (body) => readHooks(body, { id: ['id'], url: ['url'] }),
  }),
  create: (repo, { url, secret }) => ({
    method: 'POST',
    path: gitlabPathOf(repo),
    body: { url, token: secret, ...GITLAB_EVENTS },
  }),
  // The address is required. The token is kept as long as the address is the same.
  refresh: (repo, { id, url }) => ({
    method: 'PUT',
    path: `${gitlabPathOf(repo)}/${encodeURIComponent(id)}`,
    body: { url, ...GITLAB_EVENTS },
  }),
  remove: (repo, id) => ({ method: 'DELETE', path: `${gitlabPathOf(repo)}/${encodeURIComponent(id)}` }),
}

function gitlabPathOf(repo: string): string {
  return `/projects/${encodeURIComponent(repo)}/hooks`
}

const BITBUCKET_HOOK = { description: 'Windlass', active: true, events: BITBUCKET_EVENTS }

const bitbucketHooks: ForgeHooks = {
  page: (repo, page) => ({
    path: `${bitbucketPathOf(repo)}?pagelen=${HOOKS_OF_PAGE}&page=${page}`,
    read: (body) => readHooks(valuesOf(body), { id: ['uuid'], url: ['url'] }),
  }),
  create: (repo, hook) => ({ method: 'POST', path: bitbucketPathOf(repo), body: { ...BITBUCKET_HOOK, ...hook } }),
  // A change without `secret` keeps it.
  refresh: (repo, { id, url }) => ({
    method: 'PUT',
    path: `${bitbucketPathOf(repo)}/${encodeURIComponent(id)}`,
    body: { ...BITBUCKET_HOOK, url },
  }),
  remove: (repo, id) => ({ method: 'DELETE', path: `${bitbucketPathOf(repo)}/${encodeURIComponent(id)}` }),
}

function bitbucketPathOf(repo: string): string {
  return `/repositories/${pathOf(repo, 'hooks')}`
}

const bitbucketServerHooks: ForgeHooks = {
  page: (repo, page) => ({
    path: `${repositoryOf(repo)}/webhooks?limit=${HOOKS_OF_PAGE}&start=${(page - 1) * HOOKS_OF_PAGE}`,
    read: (body) => readHooks(valuesOf(body), { id: ['id'], url: ['url'] }),
  }),
  create: (repo, { url, secret }) => ({
    method: 'POST',
    path: `${repositoryOf(repo)}/webhooks`,
    body: { name: 'Windlass', url, active: true, events: BITBUCKET_SERVER_EVENTS, configuration: { secret } },
  }),
  // A change replaces the whole webhook, and its secret cannot be read.
  refresh: () => undefined,
  remove: (repo, id) => ({ method: 'DELETE', path: `${repositoryOf(repo)}/webhooks/${encodeURIComponent(id)}` }),
}

export const FORGE_HOOKS: Readonly<Record<HookedForge, ForgeHooks>> = {
  github: configHooks({ pageSize: 'per_page', type: { name: 'web' }, events: GITHUB_EVENTS }),
  gitea: configHooks({ pageSize: 'limit', type: { type: 'gitea' }, events: GITEA_EVENTS }),
  gitlab: gitlabHooks,
  bitbucket: bitbucketHooks,
  'bitbucket-server': bitbucketServerHooks,
}

function valuesOf(body: unknown): unknown {
  return Array.isArray(body) ? undefined : list(body, 'values')
}

interface Fields {
  readonly id: readonly string[]
  readonly url: readonly string[]
}

/** Returns undefined unless the value is a list of webhooks. A webhook may lack an address. */
function readHooks(value: unknown, { id, url }: Fields): readonly ForgeHook[] | undefined {
  if (!Array.isArray(value)) return undefined
  const hooks = value.map((hook) => ({ id: text(hook, ...id), url: text(hook, ...url) ?? '' }))
  return hooks.every((hook): hook is ForgeHook => hook.id !== undefined) ? hooks : undefined
}
