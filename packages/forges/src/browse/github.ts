/** Browsing of GitHub (api.github.com, version 2022-11-28). Gitea has the same forms except for the names of some parameters. */
import { defined, parseJson } from '@windlass/kit'
import { nextByLink, pathOf, type Listing } from '../api/forge-api.ts'
import { at, flag, list, text, webAddress } from '../fields.ts'
import {
  belowOf,
  isFound,
  queryOf,
  type CommitEntry,
  type FileCall,
  type ForgeBrowser,
  type ForgeUser,
  type NamedCommit,
  type Organization,
  type Repository,
  type RepositoryPlace,
  type TreeEntry,
  type TreeEntryType,
} from './forge-browser.ts'

/** Items of a page. */
const PAGE = 50

export const githubBrowser: ForgeBrowser = {
  ...githubForms({ page: { per_page: PAGE }, repositories: { sort: 'full_name' }, commits: {}, readOrganization }),
  gitUser: () => 'x-access-token',
}

/** What Gitea names differently. */
export interface GithubForms {
  /** Parameters of the URL for the size of a page. */
  readonly page: QueryFields
  /** Further parameters of repositories and of commits. */
  readonly repositories: QueryFields
  readonly commits: QueryFields
  readonly readOrganization: (body: unknown) => Organization[]
}

type QueryFields = Readonly<Record<string, string | number>>

/** Returns the calls of a forge with the forms of GitHub. */
export function githubForms({
  page: size,
  repositories,
  commits,
  readOrganization: read,
}: GithubForms): Omit<ForgeBrowser, 'gitUser'> {
  return {
    user: { path: '/user', read: ({ body }) => readUser(body) },
    organizations: () => ({
      path: `/user/orgs${queryOf(size)}`,
      read: (page) => ({ items: list(page.body).flatMap(read), next: nextByLink(page) }),
    }),
    repositories(filter) {
      const { organization } = filter
      const path = organization === undefined ? '/user/repos' : `/orgs/${pathOf(organization)}/repos`
      return {
        path: `${path}${queryOf({ ...size, ...repositories })}`,
        // The search of these forges covers the public repositories of all users.
        read: (page) => ({
          items: list(page.body)
            .flatMap(readRepository)
            .filter((found) => isFound(found, filter)),
          next: nextByLink(page),
        }),
      }
    },
    repository: (repo) => ({ path: `/repos/${pathOf(repo)}`, read: ({ body }) => readRepository(body)[0] }),
    tags: (repo) => ({
      path: `/repos/${pathOf(repo, 'tags')}${queryOf(size)}`,
      read: (page) => ({ items: list(page.body).flatMap(readTag), next: nextByLink(page) }),
    }),
    commits: (place) => commitsOf(place, { ...size, ...commits }),
    tree: contentsOf,
    file: fileOf,
    clonePath: (repo) => `/${pathOf(repo)}.git`,
    commitPath: (repo, revision) => `/${pathOf(repo, 'commit', revision)}`,
  }
}

function readUser(body: unknown): ForgeUser | undefined {
  const login = text(body, 'login')
  if (login === undefined) return undefined
  return { login, ...defined({ name: text(body, 'name') ?? text(body, 'full_name'), email: text(body, 'email') }) }
}

function readOrganization(body: unknown): Organization[] {
  const name = text(body, 'login')
  return name === undefined ? [] : [{ name, ...defined({ title: text(body, 'description') }) }]
}

function readRepository(body: unknown): Repository[] {
  const fullName = text(body, 'full_name')
  if (fullName === undefined) return []
  return [
    {
      fullName,
      ...defined({
        isPrivate: flag(body, 'private'),
        defaultBranch: text(body, 'default_branch'),
        description: text(body, 'description'),
        webUrl: webAddress(body, 'html_url'),
        canPush: flag(body, 'permissions', 'push'),
      }),
    },
  ]
}

function readTag(body: unknown): NamedCommit[] {
  const [name, revision] = [text(body, 'name'), text(body, 'commit', 'sha')]
  return name === undefined || revision === undefined ? [] : [{ name, revision }]
}

/** Returns the commits of a branch, tag or commit that changed a path, newest first. */
function commitsOf({ repo, ref, path }: RepositoryPlace, page: QueryFields): Listing<CommitEntry> {
  return {
    path: `/repos/${pathOf(repo, 'commits')}${queryOf({ sha: ref, path: path === '' ? undefined : path, ...page })}`,
    read: (answer) => ({ items: list(answer.body).flatMap(readCommit), next: nextByLink(answer) }),
  }
}

function readCommit(body: unknown): CommitEntry[] {
  const revision = text(body, 'sha')
  if (revision === undefined) return []
  return [
    {
      revision,
      message: text(body, 'commit', 'message') ?? '',
      ...defined({
        author: text(body, 'commit', 'author', 'name'),
        date: text(body, 'commit', 'author', 'date'),
        url: webAddress(body, 'html_url'),
      }),
    },
  ]
}

const TYPES: Readonly<Record<string, TreeEntryType>> = { file: 'file', dir: 'folder', symlink: 'link', submodule: 'submodule' }

function contentsPath({ repo, ref, path }: RepositoryPlace): string {
  return `/repos/${pathOf(repo, 'contents')}${belowOf(path, pathOf)}${queryOf({ ref })}`
}

/** Returns the entries of a folder. All are on one page; GitHub returns at most 1,000. */
function contentsOf(place: RepositoryPlace): Listing<TreeEntry> {
  return {
    path: contentsPath(place),
    limit: 1_000,
    read: ({ body }) => ({ items: list(body).flatMap(readEntry) }),
  }
}

function readEntry(body: unknown): TreeEntry[] {
  const [name, path, type] = [text(body, 'name'), text(body, 'path'), TYPES[text(body, 'type') ?? '']]
  if (name === undefined || path === undefined || type === undefined) return []
  const size = at(body, 'size')
  return [{ name, path, type, ...(type === 'file' && typeof size === 'number' && { size }) }]
}

function fileOf(place: RepositoryPlace): FileCall {
  return {
    path: contentsPath(place),
    read(bytes) {
      const body = parseJson(Buffer.from(bytes).toString('utf8'))
      if (text(body, 'type') !== 'file') return undefined
      // Empty files have an empty content; of large files it is left out.
      const content = at(body, 'content')
      if (at(body, 'size') === 0) return Buffer.alloc(0)
      return text(body, 'encoding') === 'base64' && typeof content === 'string' && content !== ''
        ? Buffer.from(content, 'base64')
        : 'too-large'
    },
  }
}
