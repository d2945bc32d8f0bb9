/**
 * What people look at in a forge with their own token: organizations, repositories, branches, tags, commits, folders and files. Pure, like `ForgeApi`: a forge says
 * where something is and how its answer is read.
 */
import type { ForgePage, Listing } from '../api/forge-api.ts'

export interface ForgeUser {
  /** Name with which the user signs in. */
  readonly login: string
  readonly name?: string | undefined
  readonly email?: string | undefined
}

/** An organization, group, project or team that owns repositories. */
export interface Organization {
  /** As it is written before the name of a repository. */
  readonly name: string
  readonly title?: string | undefined
}

export interface Repository {
  /** `owner/name`. */
  readonly fullName: string
  readonly isPrivate?: boolean | undefined
  /** Undefined for an empty repository, and if the forge does not say. */
  readonly defaultBranch?: string | undefined
  readonly description?: string | undefined
  readonly webUrl?: string | undefined
  /** Whether the owner of the token may push; undefined if the forge does not say. */
  readonly canPush?: boolean | undefined
}

/** A branch or a tag. */
export interface NamedCommit {
  readonly name: string
  readonly revision: string
}

export interface CommitEntry {
  readonly revision: string
  readonly message: string
  readonly author?: string | undefined
  /** ISO 8601. */
  readonly date?: string | undefined
  readonly url?: string | undefined
}

export type TreeEntryType = 'file' | 'folder' | 'link' | 'submodule'

export interface TreeEntry {
  readonly name: string
  /** From the root of the repository. */
  readonly path: string
  readonly type: TreeEntryType
  /** Bytes of a file, if the forge says. */
  readonly size?: number | undefined
}

/** A place in a repository. */
export interface RepositoryPlace {
  /** `owner/name`. */
  readonly repo: string
  /** Branch, tag or commit. Default: the default branch. */
  readonly ref: string | undefined
  /** From the root of the repository, without slashes at its ends. Empty for the root. */
  readonly path: string
}

export interface RepositoryFilter {
  /** Only of this owner. */
  readonly organization: string | undefined
  /** Only those whose name contains this text. */
  readonly search: string | undefined
}

/** A call that returns one thing. */
export interface Single<T> {
  /** Path and query below the base URL. */
  readonly path: string
  /** Returns undefined if the answer is not such a thing. */
  read(page: ForgePage): T | undefined
}

export interface FileCall {
  /** Path and query below the base URL. */
  readonly path: string
  /** Returns the content. `too-large`: the forge leaves it out. Undefined if the path is not one of a file. */
  read(body: Uint8Array): Uint8Array | 'too-large' | undefined
}

export interface ForgeBrowser {
  readonly user: Single<ForgeUser>
  organizations(): Listing<Organization>
  repositories(filter: RepositoryFilter): Listing<Repository>
  repository(repo: string): Single<Repository>
  tags(repo: string): Listing<NamedCommit>
  commits(place: RepositoryPlace): Listing<CommitEntry>
  tree(place: RepositoryPlace): Listing<TreeEntry>
  file(place: RepositoryPlace): FileCall
  /** Path of a repository for git, below the URL of the forge. */
  clonePath(repo: string): string
  /** Path of the page of a commit, below the URL of the forge. */
  commitPath(repo: string, revision: string): string
  /** User name that git sends with a token. */
  gitUser(user: ForgeUser): string
}

/** Returns true if the repository has the text in its name. For forges whose search covers more than the repositories of the user. */
export function isFound({ fullName }: Repository, { search }: RepositoryFilter): boolean {
  return search === undefined || fullName.toLowerCase().includes(search.toLowerCase())
}

/** Returns the query with the fields that have a value, with a leading `?`. */
export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given.toString()}`
}

/** Returns the path of a file or folder in its forms for URLs, or nothing for the root. */
export function belowOf(path: string, encode: (path: string) => string): string {
  return path === '' ? '' : `/${encode(path)}`
}
