/** What is asked of the API of a forge. Pure: a forge says where something is and how its answer is read; the caller makes the calls. */
import type { CommitState, ForgeEndpoint } from '@windlass/protocol'

/** The state of a build at a commit. */
export interface CommitStatus {
  /** `owner/name`. */
  readonly repo: string
  /** Full hash. */
  readonly revision: string
  readonly title: string
  /** Link to the build. */
  readonly url: string
  readonly state: CommitState
  readonly description: string
}

/** A change whose files are wanted. */
export interface Change {
  readonly repo: string
  /** Number of the pull request; undefined for a push. */
  readonly pull: string | undefined
  /** Commits before and after. */
  readonly base: string | undefined
  readonly head: string | undefined
}

export interface CommitFacts {
  readonly message?: string | undefined
  readonly author?: string | undefined
  readonly url?: string | undefined
}

export interface BranchHead {
  readonly name: string
  readonly revision: string
  /** Absent if the list does not contain it. */
  readonly commit?: CommitFacts
}

/** The answer to one call. */
export interface ForgePage {
  readonly url: URL
  readonly body: unknown
  /** Headers by their name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Undefined for the last page. */
  readonly next?: URL | undefined
  /** True if the forge leaves out items and does not return them on further pages. */
  readonly isPartial?: boolean
}

/** A list that a forge returns in pages. */
export interface Listing<T> {
  /** Path and query of the first page, below the base URL. */
  readonly path: string
  /** Number of items from which on the forge may leave out some. Default: unlimited. */
  readonly limit?: number
  read(page: ForgePage): Page<T>
}

export interface ForgeApi extends ForgeEndpoint {
  /** Returns the call that sets a commit status. */
  status(status: CommitStatus): { readonly path: string; readonly body: object }
  /** Returns true for a refusal of a status that the commit has already. Absent if the forge takes a status again. */
  hasStatus?(answer: { readonly status?: number; readonly body?: string }): boolean
  /** Returns the changed files with the old names of renamed ones. Undefined if the forge cannot list them. */
  files(change: Change): Listing<string> | undefined
  branches(repo: string): Listing<BranchHead>
  commit(repo: string, revision: string): { readonly path: string; read(body: unknown): CommitFacts }
}

/** Encodes the parts of a path. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map((part) => part.split('/').map(encodeURIComponent).join('/')).join('/')
}

/**
 * Returns the page that a `Link` header or a field of the body names as the next one. Only its query is used: a forge behind a proxy may name itself by
 * another address, and the token must not be sent to one that was not configured.
 */
export function queryOfNext(url: URL, written: string | undefined): URL | undefined {
  const next = written === undefined ? null : URL.parse(written, url.href)
  if (next === null || next.search === url.search) return undefined
  return withQuery(url, Object.fromEntries(next.searchParams))
}

/** Returns the URL with changed parameters. */
export function withQuery(url: URL, changes: Readonly<Record<string, string>>): URL {
  const next = new URL(url)
  for (const [name, value] of Object.entries(changes)) next.searchParams.set(name, value)
  return next
}

/** Returns the page that the `Link` header names as the next one (RFC 8288). */
export function nextByLink({ url, headers }: ForgePage): URL | undefined {
  const { link } = headers
  return queryOfNext(url, typeof link === 'string' ? /<([^<>]*)>\s*;[^,]*\brel="?next"?/.exec(link)?.[1] : undefined)
}

/**
 * Returns the URL of a path below the base URL of an API. Undefined if the path contains `..`, for example as the name of a repository: the token is only for
 * what the API of the forge names.
 */
export function urlOf(base: string, path: string): URL | undefined {
  const url = URL.parse(base + path)
  const written = /^https?:\/\/[^/]+([^?]*)/.exec(base + path)?.[1]
  return url === null || url.pathname !== written ? undefined : url
}
