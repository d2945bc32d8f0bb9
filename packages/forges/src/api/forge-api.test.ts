import { FORGES, type Forge } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { FORGE_APIS } from './forge-apis.ts'
import { nextByLink, queryOfNext, type Change, type ForgePage, type Listing, type Page } from './forge-api.ts'

const [HEAD, BASE] = ['a1'.repeat(20), 'b2'.repeat(20)]
const REPO = 'acme/my app'
const STATUS = {
  repo: REPO,
  revision: HEAD,
  title: 'demo/app',
  url: 'https://ci.test/builds/1',
  state: 'failure',
  description: 'The build failed.',
} as const

function baseOf(forge: Forge, url: string): string {
  const { origin, hostname: host, pathname } = new URL(url)
  return FORGE_APIS[forge].baseOf({ origin, host, path: pathname.replace(/^\/+|\/+$/g, '') })
}

test.each([
  ['github', 'https://github.com', `https://api.github.com/repos/acme/my%20app/statuses/${HEAD}`],
  ['github', 'https://git.corp.test/x', `https://git.corp.test/api/v3/repos/acme/my%20app/statuses/${HEAD}`],
  ['gitea', 'http://gitea.test:3000', `http://gitea.test:3000/api/v1/repos/acme/my%20app/statuses/${HEAD}`],
  ['gitea', 'https://host.test/git/', `https://host.test/git/api/v1/repos/acme/my%20app/statuses/${HEAD}`],
  ['gitlab', 'https://gitlab.com', `https://gitlab.com/api/v4/projects/acme%2Fmy%20app/statuses/${HEAD}`],
  [
    'bitbucket',
    'https://bitbucket.org',
    `https://api.bitbucket.org/2.0/repositories/acme/my%20app/commit/${HEAD}/statuses/build`,
  ],
  ['bitbucket-server', 'https://git.test/scm', `https://git.test/rest/build-status/1.0/commits/${HEAD}`],
  ['bitbucket-server', 'https://git.test/stash/scm', `https://git.test/stash/rest/build-status/1.0/commits/${HEAD}`],
  [
    'azure',
    'https://dev.azure.com/org/',
    `https://dev.azure.com/org/acme/_apis/git/repositories/my%20app/commits/${HEAD}/statuses?api-version=7.0`,
  ],
] as const)('%s at %s takes the status of a commit at %s', (forge, url, expected) => {
  const { path, body } = FORGE_APIS[forge].status(STATUS)
  expect(baseOf(forge, url) + path).toBe(expected)
  expect(JSON.stringify(body)).toMatch(/"demo\/app".*fail|fail.*"demo\/app"/i)
})

test('statuses of pipelines whose long names begin alike do not replace each other on Bitbucket', () => {
  const keys = ['and-test', 'and-deploy'].map((end) => {
    const title = `payments-platform/checkout-service-build-${end}`
    const { body } = FORGE_APIS.bitbucket.status({ ...STATUS, title })
    return (body as { key: string }).key
  })
  expect(new Set(keys).size).toBe(2)
  for (const key of keys) expect(key.length).toBeLessThanOrEqual(40)
})

test('GitLab refuses a status that the commit has already, which is no problem', () => {
  const { hasStatus } = FORGE_APIS.gitlab
  const body = JSON.stringify({
    message: { state: ['Cannot transition status via :run from :running (Reason(s): Status cannot transition via "run")'] },
  })
  expect(hasStatus?.({ status: 400, body })).toBe(true)
  expect(hasStatus?.({ status: 400, body: body.replace('from :running', 'from :success') })).toBe(false)
  expect(hasStatus?.({ status: 500, body })).toBe(false)
})

test('sends the token in a header, as each forge wants it', () => {
  const basic = (login: string): string => `Basic ${Buffer.from(login).toString('base64')}`
  const expected: Readonly<Record<Forge, object>> = {
    github: { authorization: 'Bearer t0ken' },
    gitlab: { 'private-token': 't0ken' },
    gitea: { authorization: 'token t0ken' },
    bitbucket: { authorization: basic('ann:t0ken') },
    'bitbucket-server': { authorization: 'Bearer t0ken' },
    azure: { authorization: basic(':t0ken') },
  }
  for (const forge of FORGES)
    expect(FORGE_APIS[forge].headersOf({ username: 'ann', password: 't0ken' })).toMatchObject(expected[forge])
  for (const username of [undefined, 'x-token-auth'])
    expect(FORGE_APIS.bitbucket.headersOf({ username, password: 't0ken' })).toMatchObject({ authorization: 'Bearer t0ken' })
})

function read<T>(listing: Listing<T> | undefined, body: unknown, headers: ForgePage['headers'] = {}): Page<T> {
  if (listing === undefined) throw new Error('the forge lists nothing')
  return listing.read({ url: new URL(`https://forge.test${listing.path}`), body, headers })
}

const PUSH: Change = { repo: 'acme/app', pull: undefined, base: BASE, head: HEAD }
const CHANGES = { push: PUSH, 'pull request': { ...PUSH, pull: '7' } } as const
const path = (toString: string): object => ({ toString })

/** Forge, change, a page of its files, and the names. */
const FILES: readonly (readonly [Forge, keyof typeof CHANGES, unknown, readonly string[]])[] = [
  [
    'github',
    'pull request',
    [{ filename: 'new.ts', previous_filename: 'old.ts' }, { filename: 'a.md' }],
    ['new.ts', 'old.ts', 'a.md'],
  ],
  ['github', 'push', { status: 'ahead', files: [{ filename: 'a.md' }] }, ['a.md']],
  ['gitea', 'pull request', [{ filename: 'a.md', status: 'changed' }], ['a.md']],
  [
    'gitea',
    'push',
    {
      total_commits: 2,
      commits: [
        { sha: HEAD, parents: [{ sha: 'c3' }], files: [{ filename: 'a.md' }, { filename: 'b.md' }] },
        { sha: 'c3', parents: [{ sha: BASE }], files: [{ filename: 'a.md' }] },
      ],
    },
    ['a.md', 'b.md'],
  ],
  [
    'gitlab',
    'pull request',
    [
      { old_path: 'a.md', new_path: 'a.md' },
      { old_path: 'x', new_path: 'y' },
    ],
    ['a.md', 'y', 'x'],
  ],
  ['gitlab', 'push', { diffs: [{ old_path: 'a.md', new_path: 'a.md' }], compare_timeout: false }, ['a.md']],
  [
    'bitbucket',
    'pull request',
    {
      values: [
        { new: { path: 'n' }, old: { path: 'o' } },
        { new: null, old: { path: 'gone' } },
      ],
    },
    ['n', 'o', 'gone'],
  ],
  ['bitbucket', 'push', { values: [{ new: { path: 'n' }, old: null }] }, ['n']],
  ['bitbucket-server', 'pull request', { values: [{ path: path('n'), srcPath: path('o') }], isLastPage: true }, ['n', 'o']],
  ['bitbucket-server', 'push', { values: [{ path: path('n') }], isLastPage: true }, ['n']],
  [
    'azure',
    'pull request',
    { allChangesIncluded: true, changes: [{ item: { path: '/a/b' } }, { item: { path: '/a', isFolder: true } }] },
    ['a/b'],
  ],
  ['azure', 'push', { allChangesIncluded: true, changes: [{ item: { path: '/n' }, sourceServerItem: '/o' }] }, ['n', 'o']],
]

test.each(FILES)('%s lists the changed files of a %s (P144)', (forge, kind, body, names) => {
  const change = CHANGES[kind]
  const listing = FORGE_APIS[forge].files(change)
  const { items, next, isPartial } = read(listing, body)
  expect({ items: [...items], next, isPartial: isPartial === true }).toEqual({ items: names, next: undefined, isPartial: false })
  if (change.pull !== undefined && !['bitbucket', 'azure'].includes(forge)) expect(listing?.path).toContain('/7/')
  else expect(listing?.path).toMatch(new RegExp(`${BASE}.*${HEAD}|${HEAD}.*${BASE}`))
})

test('a comparison that leaves out changes is partial', () => {
  const { github, gitea, gitlab, azure } = FORGE_APIS
  expect(read(github.files(PUSH), { status: 'diverged', files: [] }).isPartial).toBe(true)
  expect(read(github.files(PUSH), { status: 'ahead' }).isPartial).toBe(true)
  const rewritten = { total_commits: 1, commits: [{ sha: HEAD, parents: [{ sha: 'other' }], files: [] }] }
  expect(read(gitea.files(PUSH), rewritten).isPartial).toBe(true)
  const older = { total_commits: 1, commits: [{ sha: HEAD, parents: [{ sha: BASE }] }] }
  expect(read(gitea.files(PUSH), older).isPartial).toBe(true)
  expect(read(gitlab.files(PUSH), { diffs: [], compare_timeout: true }).isPartial).toBe(true)
  expect(read(azure.files(PUSH), { changes: [], allChangesIncluded: false }).isPartial).toBe(true)
})

test('a change without its commits has no files where the forge compares commits', () => {
  for (const forge of FORGES) expect(FORGE_APIS[forge].files({ ...PUSH, base: undefined })).toBeUndefined()
})

const commit = { id: HEAD, message: 'Fix it' }
/** Forge, a page of its branches, and the heads. */
const BRANCHES: readonly (readonly [Forge, unknown, object])[] = [
  ['github', [{ name: 'main', commit: { sha: HEAD } }], {}],
  ['gitea', [{ name: 'main', commit }], { commit: { message: 'Fix it' } }],
  ['gitlab', [{ name: 'main', commit }], { commit: { message: 'Fix it' } }],
  ['bitbucket', { values: [{ name: 'main', target: { hash: HEAD, message: 'Fix it' } }] }, { commit: { message: 'Fix it' } }],
  ['bitbucket-server', { values: [{ displayId: 'main', latestCommit: HEAD }] }, {}],
  [
    'azure',
    {
      value: [
        { name: 'refs/heads/main', objectId: HEAD },
        { name: 'refs/tags/v1', objectId: BASE },
      ],
    },
    {},
  ],
]

test.each(BRANCHES)('%s lists the heads of branches', (forge, body, more) => {
  expect(read(FORGE_APIS[forge].branches('acme/app'), body).items).toEqual([{ name: 'main', revision: HEAD, ...more }])
})

test.each([
  ['github', { commit: { message: 'Fix it' } }],
  ['gitea', { commit: { message: 'Fix it' } }],
  ['gitlab', { message: 'Fix it' }],
  ['bitbucket', { message: 'Fix it' }],
  ['bitbucket-server', { message: 'Fix it' }],
  ['azure', { comment: 'Fix it' }],
] as const)('%s shows the message of a commit', (forge, body) => {
  const asked = FORGE_APIS[forge].commit('acme/app', HEAD)
  expect(asked.path).toContain(HEAD)
  expect(asked.read(body)).toEqual({ message: 'Fix it' })
})

const url = new URL('https://inside.test/api/v1/list?limit=50')

test('reads further pages at the configured address, whatever the answer names', () => {
  const link = '<https://evil.test/steal?page=3&limit=50>; rel="last",<https://evil.test/steal?page=2&limit=50>; rel="next"'
  expect(nextByLink({ url, body: undefined, headers: { link } })?.href).toBe('https://inside.test/api/v1/list?limit=50&page=2')
  expect(nextByLink({ url, body: undefined, headers: { link: '<https://x.test/?page=1>; rel="first"' } })).toBeUndefined()
  expect(nextByLink({ url, body: undefined, headers: {} })).toBeUndefined()
  // The page that was just read is not the next one.
  expect(queryOfNext(url, 'https://inside.test/api/v1/list?limit=50')).toBeUndefined()
})

test('reads further pages by the fields of the forges that have no such header', () => {
  const bitbucket = read(FORGE_APIS.bitbucket.branches('acme/app'), { values: [], next: 'https://evil.test/?page=2' })
  expect(bitbucket.next?.href).toMatch(/^https:\/\/forge\.test\/.*page=2$/)
  const server = FORGE_APIS['bitbucket-server'].branches('acme/app')
  expect(read(server, { values: [], isLastPage: false, nextPageStart: 500 }).next?.search).toContain('start=500')
  expect(read(server, { values: [], isLastPage: true, nextPageStart: null }).next).toBeUndefined()
  const changes = [{ item: { path: '/a' } }, { item: { path: '/b' } }]
  expect(read(FORGE_APIS.azure.files(PUSH), { changes, allChangesIncluded: false }).next?.searchParams.get('$skip')).toBe('2')
  const refs = read(FORGE_APIS.azure.branches('acme/app'), { value: [] }, { 'x-ms-continuationtoken': 'next' })
  expect(refs.next?.searchParams.get('continuationToken')).toBe('next')
})
