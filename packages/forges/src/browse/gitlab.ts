/** Browsing of GitLab, version 4 of its API. */
import { defined, parseJson } from '@windlass/kit'
import { nextByLink, pathOf } from '../api/forge-api.ts'
import { at, list, text, webAddress } from '../fields.ts'
import {
  queryOf,
  type CommitEntry,
  type ForgeBrowser,
  type NamedCommit,
  type Organization,
  type Repository,
  type TreeEntry,
  type TreeEntryType,
} from './forge-browser.ts'

const PAGE = 50
/** The lowest access level that may push: that of developers. */
const PUSH_LEVEL = 30

export const gitlabBrowser: ForgeBrowser = {
  user: {
    path: '/user',
    read({ body }) {
      const login = text(body, 'username')
      if (login === undefined) return undefined
      return { login, ...defined({ name: text(body, 'name'), email: text(body, 'commit_email') ?? text(body, 'email') }) }
    },
  },
  organizations: () => ({
    path: `/groups?per_page=${PAGE}&min_access_level=10`,
    read: (page) => ({ items: list(page.body).flatMap(readGroup), next: nextByLink(page) }),
  }),
  repositories({ organization, search }) {
    const order = { per_page: PAGE, order_by: 'id', sort: 'asc', search }
    const path =
      organization === undefined
        ? `/projects${queryOf({ membership: 'true', ...order })}`
        : `/groups/${encodeURIComponent(organization)}/projects${queryOf(order)}`
    return { path, read: (page) => ({ items: list(page.body).flatMap(readProject), next: nextByLink(page) }) }
  },
  repository: (repo) => ({ path: projectOf(repo), read: ({ body }) => readProject(body)[0] }),
  tags: (repo) => ({
    path: `${projectOf(repo)}/repository/tags?per_page=${PAGE}`,
    read: (page) => ({ items: list(page.body).flatMap(readTag), next: nextByLink(page) }),
  }),
  commits: ({ repo, ref, path }) => ({
    path: `${projectOf(repo)}/repository/commits${queryOf({ ref_name: ref, path: path === '' ? undefined : path, per_page: PAGE })}`,
    read: (page) => ({ items: list(page.body).flatMap(readCommit), next: nextByLink(page) }),
  }),
  tree: ({ repo, ref, path }) => ({
    path: `${projectOf(repo)}/repository/tree${queryOf({ path: path === '' ? undefined : path, ref, per_page: 100 })}`,
    read: (page) => ({ items: list(page.body).flatMap(readEntry), next: nextByLink(page) }),
  }),
  file: ({ repo, ref = 'HEAD', path }) => ({
    path: `${projectOf(repo)}/repository/files/${encodeURIComponent(path)}${queryOf({ ref })}`,
    read(bytes) {
      const body = parseJson(Buffer.from(bytes).toString('utf8'))
      const content = at(body, 'content')
      return typeof content === 'string' && text(body, 'encoding') === 'base64' ? Buffer.from(content, 'base64') : undefined
    },
  }),
  clonePath: (repo) => `/${pathOf(repo)}.git`,
  commitPath: (repo, revision) => `/${pathOf(repo, '-/commit', revision)}`,
  gitUser: () => 'oauth2',
}

function projectOf(repo: string): string {
  return `/projects/${encodeURIComponent(repo)}`
}

function readGroup(body: unknown): Organization[] {
  const name = text(body, 'full_path')
  return name === undefined ? [] : [{ name, ...defined({ title: text(body, 'full_name') ?? text(body, 'name') }) }]
}

function readProject(body: unknown): Repository[] {
  const fullName = text(body, 'path_with_namespace')
  if (fullName === undefined) return []
  const visibility = text(body, 'visibility')
  return [
    {
      fullName,
      ...defined({
        isPrivate: visibility === undefined ? undefined : visibility !== 'public',
        defaultBranch: text(body, 'default_branch'),
        description: text(body, 'description'),
        webUrl: webAddress(body, 'web_url'),
        canPush: mayPush(body),
      }),
    },
  ]
}

/** Undefined if the answer does not name the access of the user, as for projects of which the user is not a direct member. */
function mayPush(body: unknown): boolean | undefined {
  const levels = ['project_access', 'group_access'].flatMap((kind) => {
    const level = at(body, 'permissions', kind, 'access_level')
    return typeof level === 'number' ? [level] : []
  })
  return levels.length === 0 ? undefined : Math.max(...levels) >= PUSH_LEVEL
}

function readTag(body: unknown): NamedCommit[] {
  const [name, revision] = [text(body, 'name'), text(body, 'commit', 'id')]
  return name === undefined || revision === undefined ? [] : [{ name, revision }]
}

function readCommit(body: unknown): CommitEntry[] {
  const revision = text(body, 'id')
  if (revision === undefined) return []
  return [
    {
      revision,
      message: text(body, 'message') ?? '',
      ...defined({ author: text(body, 'author_name'), date: text(body, 'authored_date'), url: webAddress(body, 'web_url') }),
    },
  ]
}

const TYPES: Readonly<Record<string, TreeEntryType>> = { blob: 'file', tree: 'folder', commit: 'submodule' }

function readEntry(body: unknown): TreeEntry[] {
  const [name, path] = [text(body, 'name'), text(body, 'path')]
  const type = text(body, 'mode') === '120000' ? 'link' : TYPES[text(body, 'type') ?? '']
  return name === undefined || path === undefined || type === undefined ? [] : [{ name, path, type }]
}
