import { expect, test } from 'vitest'
import type { ForgePage, Listing, Page } from '../api/forge-api.ts'
import { BROWSED_FORGES, FORGE_BROWSERS } from './forge-browsers.ts'

const BASE = 'https://forge.test'
const PLACE = { repo: 'acme/app', ref: 'feature/x y', path: 'deploy/a b.yaml' }
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

function read<T>(listing: Listing<T>, body: unknown, headers: ForgePage['headers'] = {}): Page<T> {
  return listing.read({ url: new URL(BASE + listing.path), body, headers })
}

test.each([
  ['github', '/repos/acme/app/contents/deploy/a%20b.yaml?ref=feature%2Fx+y'],
  ['gitea', '/repos/acme/app/contents/deploy/a%20b.yaml?ref=feature%2Fx+y'],
  ['gitlab', '/projects/acme%2Fapp/repository/files/deploy%2Fa%20b.yaml?ref=feature%2Fx+y'],
  ['bitbucket-server', '/api/1.0/projects/acme/repos/app/raw/deploy/a%20b.yaml?at=feature%2Fx+y'],
] as const)('%s has a file at %s', (forge, expected) => {
  expect(FORGE_BROWSERS[forge].file(PLACE).path).toBe(expected)
})

test.each([
  ['github', '/user/repos?per_page=50&sort=full_name', '/orgs/acme/repos?per_page=50&sort=full_name'],
  ['gitea', '/user/repos?limit=50', '/orgs/acme/repos?limit=50'],
  [
    'gitlab',
    '/projects?membership=true&per_page=50&order_by=id&sort=asc&search=app',
    '/groups/acme/projects?per_page=50&order_by=id&sort=asc&search=app',
  ],
  ['bitbucket-server', '/api/1.0/repos?name=app&limit=50', '/api/1.0/projects/acme/repos?limit=50'],
] as const)('%s has the repositories of a user at %s, and those of an owner at %s', (forge, own, owned) => {
  const { repositories } = FORGE_BROWSERS[forge]
  expect(repositories({ organization: undefined, search: 'app' }).path).toBe(own)
  expect(repositories({ organization: 'acme', search: 'app' }).path).toBe(owned)
})

test('forges without a search of own repositories are searched page by page', () => {
  const body = [{ full_name: 'acme/app' }, { full_name: 'acme/other', permissions: { push: true }, private: true }]
  for (const forge of ['github', 'gitea'] as const) {
    const found = FORGE_BROWSERS[forge].repositories({ organization: undefined, search: 'OTHER' })
    expect(read(found, body).items).toEqual([{ fullName: 'acme/other', canPush: true, isPrivate: true }])
  }
})

test('GitLab says who may push by access levels, or not at all', () => {
  const { repository } = FORGE_BROWSERS.gitlab
  const ask = (permissions: unknown): unknown =>
    repository('a/b').read({
      url: new URL(BASE),
      headers: {},
      body: { path_with_namespace: 'a/b', visibility: 'private', permissions },
    })
  expect(ask({ project_access: { access_level: 20 }, group_access: { access_level: 40 } })).toMatchObject({
    canPush: true,
    isPrivate: true,
  })
  expect(ask({ project_access: { access_level: 20 }, group_access: null })).toMatchObject({ canPush: false })
  expect(ask({ project_access: null, group_access: null })).not.toHaveProperty('canPush')
})

test('a folder lists files, folders, links and submodules', () => {
  const github = read(FORGE_BROWSERS.github.tree({ ...PLACE, path: '' }), [
    { name: 'a', path: 'd/a', type: 'file', size: 3 },
    { name: 'b', path: 'd/b', type: 'dir', size: 0 },
    { name: 'c', path: 'd/c', type: 'symlink' },
    { name: 'd', path: 'd/d', type: 'submodule' },
    { name: 'e', path: 'd/e', type: 'unknown' },
    'nonsense',
  ])
  expect(github.items.map(({ name, type, size }) => [name, type, size])).toEqual([
    ['a', 'file', 3],
    ['b', 'folder', undefined],
    ['c', 'link', undefined],
    ['d', 'submodule', undefined],
  ])
  const gitlab = read(FORGE_BROWSERS.gitlab.tree(PLACE), [
    { name: 'a', path: 'd/a', type: 'blob', mode: '100644' },
    { name: 'l', path: 'd/l', type: 'blob', mode: '120000' },
    { name: 't', path: 'd/t', type: 'tree', mode: '040000' },
  ])
  expect(gitlab.items.map(({ type }) => type)).toEqual(['file', 'link', 'folder'])
  const bitbucket = read(FORGE_BROWSERS['bitbucket-server'].tree({ ...PLACE, path: 'd' }), {
    children: { values: [{ path: { toString: 'a.yaml' }, type: 'FILE', size: 7 }], isLastPage: false, nextPageStart: 100 },
  })
  expect(bitbucket.items).toEqual([{ name: 'a.yaml', path: 'd/a.yaml', type: 'file', size: 7 }])
  expect(bitbucket.next?.searchParams.get('start')).toBe('100')
})

test('the content of a file is read, is left out by the forge, or is not there', () => {
  const content = Buffer.from('kind: Service\n').toString('base64')
  const github = FORGE_BROWSERS.github.file(PLACE)
  expect(Buffer.from(github.read(json({ type: 'file', size: 14, encoding: 'base64', content })) ?? '').toString()).toBe(
    'kind: Service\n',
  )
  expect(github.read(json({ type: 'file', size: 0, encoding: 'base64', content: '' }))).toHaveLength(0)
  expect(github.read(json({ type: 'file', size: 2_000_000, encoding: 'none', content: '' }))).toBe('too-large')
  for (const other of [{ type: 'symlink' }, [{ type: 'file' }], 'x', null]) expect(github.read(json(other))).toBeUndefined()
  expect(FORGE_BROWSERS.gitlab.file(PLACE).read(json({ encoding: 'base64', content: '' }))).toHaveLength(0)
})

test('answers of any shape are read without an error', () => {
  for (const forge of BROWSED_FORGES) {
    const browser = FORGE_BROWSERS[forge]
    const listings = [browser.organizations(), browser.tags('a/b'), browser.commits(PLACE), browser.tree(PLACE)]
    for (const body of [null, [], {}, [null, 1, {}], { values: [{}] }, 'text'])
      for (const listing of listings) expect(read<unknown>(listing, body).items).toEqual([])
    expect(browser.repository('a/b').read({ url: new URL(BASE), body: {}, headers: {} })).toBeUndefined()
    expect(browser.user.read({ url: new URL(BASE), body: {}, headers: {} })).toBeUndefined()
  }
})

test.each([
  ['github', 'x-access-token', '/acme/app.git', '/acme/app/commit/abc'],
  ['gitlab', 'oauth2', '/acme/app.git', '/acme/app/-/commit/abc'],
  ['gitea', 'ann', '/acme/app.git', '/acme/app/commit/abc'],
  ['bitbucket-server', 'ann', '/scm/acme/app.git', '/projects/acme/repos/app/commits/abc'],
] as const)('git of %s has the user %s and the path %s', (forge, user, clone, commit) => {
  const browser = FORGE_BROWSERS[forge]
  expect([browser.gitUser({ login: 'ann' }), browser.clonePath('acme/app'), browser.commitPath('acme/app', 'abc')]).toEqual([
    user,
    clone,
    commit,
  ])
})

test('an address that is not one of a page is left out, because a page that links to it would run it', () => {
  for (const address of ['javascript:alert(1)', 'data:text/html,x', ' javascript:alert(1)', '//evil.test']) {
    const bodies = { full_name: 'a/b', path_with_namespace: 'a/b', project: { key: 'a' }, slug: 'b', sha: 'f', id: 'f' }
    const links = { html_url: address, web_url: address, links: { self: [{ href: address }] } }
    for (const forge of BROWSED_FORGES) {
      const { repository, commits } = FORGE_BROWSERS[forge]
      const found = repository('a/b').read({ url: new URL(BASE), headers: {}, body: { ...bodies, ...links } })
      expect(found).toMatchObject({ fullName: 'a/b' })
      expect(found).not.toHaveProperty('webUrl')
      const body = [{ ...bodies, ...links }]
      const [commit] = read(commits(PLACE), forge === 'bitbucket-server' ? { values: body } : body).items
      expect(commit).toMatchObject({ revision: 'f' })
      expect(commit).not.toHaveProperty('url')
    }
  }
  const good = { full_name: 'a/b', html_url: 'https://forge.test/a/b' }
  expect(FORGE_BROWSERS.github.repository('a/b').read({ url: new URL(BASE), headers: {}, body: good })).toMatchObject({
    webUrl: 'https://forge.test/a/b',
  })
})
