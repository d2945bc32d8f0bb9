/** Calls of the APIs of forges, with the token of a Git context, to the addresses that the settings allow. */
import { FORGE_APIS, urlOf, type CommitStatus, type ForgeApi, type ForgePage, type Listing } from '@windlass/forges'
import { parseJson } from '@windlass/kit'
import type { Forge, ForgeLogin } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readGitLogin } from '../contexts/git-login.ts'
import { callOut, type Answer, type OutboundCall } from '../outbound/call.ts'
import { findContext } from '../store/account/contexts.ts'

/** Maximum bytes of a page. Those of GitLab contain the text of all changes. */
const MAX_PAGE_BYTES = 16_777_216
const MAX_PAGES = 100
/** Time after which no further page is read. Milliseconds. */
const LIST_MS = 20_000
/** Maximum items of a list. */
const MAX_ITEMS = 10_000

export interface ForgeAccess {
  readonly api: ForgeApi
  /** Base URL of the API. */
  readonly base: string
  readonly login: ForgeLogin
}

/** Why a call of a forge has no result. `mayRetry`: a later call can succeed. */
export interface ForgeProblem {
  readonly problem: string
  readonly mayRetry: boolean
  /** How long the forge asks to wait. Milliseconds. */
  readonly afterMs: number
}

export type Asked<T> = { readonly value: T; readonly problem?: undefined } | ForgeProblem

export interface ContextOfForge {
  readonly forge: Forge
  /** Name of a Git context. */
  readonly context: string
}

/** Reads the URL and the token of a Git context. Renews the token if it is about to expire. */
export async function openAccess(app: App, { forge, context: name }: ContextOfForge): Promise<Asked<ForgeAccess>> {
  const context = await findContext(app.store.query, app.accountId, name)
  if (context?.type !== 'git') return final(`The Git context "${name}" does not exist.`)
  const { url, username, password, expired } = await readGitLogin(app, context)
  if (expired !== undefined) return { ...expired, afterMs: 0 }
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:'))
    return final(`The URL of the Git context "${name}" is not one of http or https.`)
  if (password === undefined) return final(`The Git context "${name}" has no password or token.`)
  const place = { origin: parsed.origin, host: parsed.hostname, path: parsed.pathname.replace(/^\/+|\/+$/g, '') }
  const api = FORGE_APIS[forge]
  return { value: { api, base: api.baseOf(place), login: { username, password } } }
}

/** Returns a problem that a later call would have, too. */
function final(problem: string): ForgeProblem {
  return { problem, mayRetry: false, afterMs: 0 }
}

const UNUSABLE = final('The name of the repository cannot be part of a URL.')

/** Sets a commit status. The value is always true. */
export async function setStatus(app: App, { api, base, login }: ForgeAccess, status: CommitStatus): Promise<Asked<true>> {
  const { path, body } = api.status(status)
  const headers = { ...api.headersOf(login), 'content-type': 'application/json' }
  const answer = await call(app, urlOf(base, path), { headers, body: JSON.stringify(body) })
  return answer.problem === undefined || api.hasStatus?.(answer) === true ? { value: true } : answer
}

export interface Listed<T> {
  readonly items: readonly T[]
  /** False if the forge may have more items than it returned. */
  readonly isWhole: boolean
}

/** Reads all pages of a list, up to 10,000 items and 20 seconds. */
export async function askAll<T>(app: App, access: ForgeAccess, listing: Listing<T>): Promise<Asked<Listed<T>>> {
  const { limit = Infinity } = listing
  const items: T[] = []
  const startedAt = app.clock.monotonic()
  let url = urlOf(access.base, listing.path)
  if (url === undefined) return UNUSABLE
  for (let pages = 0; url !== undefined; pages += 1) {
    if (pages >= MAX_PAGES || items.length > MAX_ITEMS) return { value: { items, isWhole: false } }
    if (app.clock.monotonic() - startedAt > LIST_MS) return { ...final(`${url.hostname} took longer than 20 s.`), mayRetry: true }
    const page = await askPage(app, access, url)
    if (page.problem !== undefined) return page
    const { items: more, next, isPartial = false } = listing.read(page.value)
    items.push(...more)
    if (isPartial) return { value: { items, isWhole: false } }
    url = next
  }
  return { value: { items, isWhole: items.length < limit } }
}

/** Reads one thing. */
export async function askOne<T>(
  app: App,
  access: ForgeAccess,
  { path, read }: { readonly path: string; read(body: unknown): T },
): Promise<Asked<T>> {
  const page = await askPage(app, access, urlOf(access.base, path))
  return page.problem === undefined ? { value: read(page.value.body) } : page
}

async function askPage(app: App, { api, login }: ForgeAccess, url: URL | undefined): Promise<Asked<ForgePage>> {
  const answer = await call(app, url, { headers: { accept: 'application/json', ...api.headersOf(login) } })
  if (answer.problem !== undefined || url === undefined) return answer.problem === undefined ? UNUSABLE : answer
  const body = parseJson(answer.body)
  return body === undefined
    ? final(`The answer of ${url.hostname} is not JSON.`)
    : { value: { url, body, headers: answer.headers } }
}

async function call(app: App, url: URL | undefined, { headers, body }: Pick<OutboundCall, 'headers' | 'body'>): Promise<Answer> {
  if (url === undefined) return UNUSABLE
  const sent = { ...headers, 'user-agent': 'windlass' }
  const answer = await callOut(app, { url, headers: sent, ...(body !== undefined && { body }) }, MAX_PAGE_BYTES)
  // Azure DevOps answers a call without a valid token with its sign-in page.
  return answer.status === 203 ? final(`${url.hostname} answered 203.`) : answer
}
