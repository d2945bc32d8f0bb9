/** Browsing of Bitbucket Server and Data Center, version 1.0 of their API. */
import { defined } from '@windlass/kit'
import { nextOf, repositoryOf } from '../api/bitbucket-server.ts'
import { pathOf } from '../api/forge-api.ts'
import { at, flag, list, text, webAddress } from '../fields.ts'
import {
  belowOf,
  isFound,
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

export const bitbucketServerBrowser: ForgeBrowser = {
  // No call returns the user, but each answer names them.
  user: {
    path: '/api/1.0/users?limit=1',
    read({ headers: { 'x-ausername': login } }) {
      return typeof login === 'string' && login !== '' ? { login } : undefined
    },
  },
  organizations: () => ({
    path: `/api/1.0/projects?limit=${PAGE}`,
    read: (page) => ({ items: list(page.body, 'values').flatMap(readProject), next: nextOf(page) }),
  }),
  repositories(filter) {
    const { organization, search } = filter
    const path =
      organization === undefined
        ? `/api/1.0/repos${queryOf({ name: search, limit: PAGE })}`
        : `/api/1.0/projects/${pathOf(organization)}/repos?limit=${PAGE}`
    return {
      path,
      read: (page) => ({
        items: list(page.body, 'values')
          .flatMap(readRepository)
          .filter((found) => organization === undefined || isFound(found, filter)),
        next: nextOf(page),
      }),
    }
  },
  repository: (repo) => ({ path: repositoryOf(repo), read: ({ body }) => readRepository(body)[0] }),
  tags: (repo) => ({
    path: `${repositoryOf(repo)}/tags?limit=${PAGE}`,
    read: (page) => ({ items: list(page.body, 'values').flatMap(readTag), next: nextOf(page) }),
  }),
  commits: ({ repo, ref, path }) => ({
    path: `${repositoryOf(repo)}/commits${queryOf({ until: ref, path: path === '' ? undefined : path, limit: PAGE })}`,
    read: (page) => ({ items: list(page.body, 'values').flatMap(readCommit), next: nextOf(page) }),
  }),
  tree: ({ repo, ref, path }) => ({
    path: `${repositoryOf(repo)}/browse${belowOf(path, pathOf)}${queryOf({ at: ref, limit: 100 })}`,
    read: (page) => ({
      items: list(page.body, 'children', 'values').flatMap((entry) => readEntry(entry, path)),
      next: nextOf({ ...page, body: at(page.body, 'children') }),
    }),
  }),
  file: ({ repo, ref, path }) => ({
    path: `${repositoryOf(repo)}/raw${belowOf(path, pathOf)}${queryOf({ at: ref })}`,
    read: (bytes) => bytes,
  }),
  clonePath: (repo) => `/scm/${pathOf(repo)}.git`,
  commitPath(repo, revision) {
    const slash = repo.lastIndexOf('/')
    return `/projects/${pathOf(repo.slice(0, slash))}/repos/${pathOf(repo.slice(slash + 1), 'commits', revision)}`
  },
  gitUser: ({ login }) => login,
}

function readProject(body: unknown): Organization[] {
  const name = text(body, 'key')
  return name === undefined ? [] : [{ name, ...defined({ title: text(body, 'name') }) }]
}

function readRepository(body: unknown): Repository[] {
  const [project, slug, isPublic] = [text(body, 'project', 'key'), text(body, 'slug'), flag(body, 'public')]
  if (project === undefined || slug === undefined) return []
  return [
    {
      fullName: `${project}/${slug}`,
      ...defined({
        isPrivate: isPublic === undefined ? undefined : !isPublic,
        description: text(body, 'description'),
        webUrl: webAddress(list(body, 'links', 'self')[0], 'href'),
      }),
    },
  ]
}

function readTag(body: unknown): NamedCommit[] {
  const [name, revision] = [text(body, 'displayId'), text(body, 'latestCommit')]
  return name === undefined || revision === undefined ? [] : [{ name, revision }]
}

function readCommit(body: unknown): CommitEntry[] {
  const revision = text(body, 'id')
  if (revision === undefined) return []
  const time = at(body, 'authorTimestamp')
  return [
    {
      revision,
      message: text(body, 'message') ?? '',
      ...defined({
        author: text(body, 'author', 'displayName') ?? text(body, 'author', 'name'),
        date:
          typeof time === 'number' && Number.isSafeInteger(time) && Math.abs(time) < 8.64e15
            ? new Date(time).toISOString()
            : undefined,
      }),
    },
  ]
}

const TYPES: Readonly<Record<string, TreeEntryType>> = { FILE: 'file', DIRECTORY: 'folder', SUBMODULE: 'submodule' }

function readEntry(body: unknown, folder: string): TreeEntry[] {
  const [name, type] = [text(body, 'path', 'toString'), TYPES[text(body, 'type') ?? '']]
  if (name === undefined || type === undefined) return []
  const size = at(body, 'size')
  const path = folder === '' ? name : `${folder}/${name}`
  return [{ name, path, type, ...(type === 'file' && typeof size === 'number' && { size }) }]
}
