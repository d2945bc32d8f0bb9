/** The forges that an app-proxy reaches, by servers with their APIs: what is called with which login, and what of the answers is read. */
import { once } from 'node:events'
import http from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { errandTopic, insertErrand } from '../../server/src/store/runtimes/errands.ts'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import { openScene } from './support/scene.ts'

const TOKEN = 'git-token-of-this-test'
const SECRET = 'a secret of this webhook'.replaceAll(' ', '-')
const REVISION = 'a'.repeat(40)
const HOOK = 'https://ci.example.com/hooks/1'

interface Provider {
  readonly provider: string
  /** Path of the forge below its host. */
  readonly path: string
  /** Header with the token. */
  readonly login: Readonly<Record<string, string>>
  /** Answers by the path of the API, without query. */
  readonly answers: Readonly<Record<string, unknown>>
  readonly hooks: string
  readonly status: string
  /** What a status of a build that succeeded contains. */
  readonly body: object
}

const PROVIDERS: readonly Provider[] = [
  {
    provider: 'github',
    path: '',
    login: { authorization: `Bearer ${TOKEN}` },
    answers: {
      '/api/v3/user': { login: 'ann' },
      '/api/v3/user/repos': [{ full_name: 'acme/app', private: true }],
      '/api/v3/repos/acme/app/branches': [{ name: 'main', commit: { sha: REVISION } }],
      '/api/v3/repos/acme/app/hooks': [{ id: 7, config: { url: HOOK } }],
    },
    hooks: '/api/v3/repos/acme/app/hooks',
    status: `/api/v3/repos/acme/app/statuses/${REVISION}`,
    body: { state: 'success', context: 'apps/app' },
  },
  {
    provider: 'gitlab',
    path: '/gitlab',
    login: { 'private-token': TOKEN },
    answers: {
      '/gitlab/api/v4/user': { username: 'ann' },
      '/gitlab/api/v4/projects': [{ path_with_namespace: 'acme/app', visibility: 'private' }],
      '/gitlab/api/v4/projects/acme%2Fapp/repository/branches': [{ name: 'main', commit: { id: REVISION } }],
      '/gitlab/api/v4/projects/acme%2Fapp/hooks': [{ id: 7, url: HOOK }],
    },
    hooks: '/gitlab/api/v4/projects/acme%2Fapp/hooks',
    status: `/gitlab/api/v4/projects/acme%2Fapp/statuses/${REVISION}`,
    body: { state: 'success', name: 'apps/app' },
  },
  {
    provider: 'bitbucket-server',
    path: '',
    login: { authorization: `Bearer ${TOKEN}` },
    answers: {
      '/rest/api/1.0/users': { values: [] },
      '/rest/api/1.0/repos': { values: [{ slug: 'app', project: { key: 'acme' }, public: false }], isLastPage: true },
      '/rest/api/1.0/projects/acme/repos/app/branches': {
        values: [{ displayId: 'main', latestCommit: REVISION }],
        isLastPage: true,
      },
      '/rest/api/1.0/projects/acme/repos/app/webhooks': { values: [{ id: 7, url: HOOK }], isLastPage: true },
    },
    hooks: '/rest/api/1.0/projects/acme/repos/app/webhooks',
    status: `/rest/build-status/1.0/commits/${REVISION}`,
    body: { state: 'SUCCESSFUL', name: 'apps/app' },
  },
]

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: unknown
}

/** Starts a forge that answers what a provider does, and 201 without content to a POST. */
async function startForge({ answers }: Provider): Promise<{ readonly url: string; readonly calls: Call[] }> {
  const calls: Call[] = []
  const server = http.createServer(async (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const { method = '', headers } = request
    calls.push({ method, path, headers, body: method === 'GET' || method === 'DELETE' ? undefined : await json(request) })
    const answer = answers[path]
    const code = method === 'GET' ? (answer === undefined ? 404 : 200) : 201
    response.writeHead(code, { 'content-type': 'application/json', 'x-ausername': 'ann' })
    response.end(JSON.stringify(method === 'GET' ? (answer ?? {}) : {}))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`, calls }
}

test.each(PROVIDERS)('lists, webhooks and commit statuses of $provider (R132)', async (provider) => {
  const forge = await startForge(provider)
  await using server = await openHttpScene()
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const { app } = server.server
  await using scene = await openScene({ url: server.server.url, accountId: app.accountId, runtimeToken })
  const call = (method: string, path: string, body?: object) =>
    scene.call(method, `/git-integrations/default${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  const integration = { provider: provider.provider, url: `${forge.url}${provider.path}` }
  expect((await call('PUT', '', integration)).status).toBe(200)
  for (const owner of ['token', 'runtime-token'])
    expect(await call('PUT', `/${owner}`, { token: TOKEN })).toMatchObject({ status: 200, body: { login: 'ann' } })
  expect((await call('GET', '/repositories')).body.items).toMatchObject([{ fullName: 'acme/app', isPrivate: true }])
  expect((await call('GET', '/branches?repo=acme/app')).body.items).toEqual([{ name: 'main', revision: REVISION }])
  expect((await call('GET', '/webhooks?repo=acme/app')).body.items).toEqual([{ id: '7', url: HOOK }])
  const made = await call('POST', '/webhooks', { repo: 'acme/app', url: HOOK, secret: SECRET })
  expect(made.status).toBe(204)
  const created = forge.calls.find(({ method, path }) => method === 'POST' && path === provider.hooks)
  expect(JSON.stringify(created?.body)).toContain(SECRET)
  expect((await call('DELETE', '/webhooks/7?repo=acme/app')).status).toBe(204)
  expect(forge.calls).toContainEqual(expect.objectContaining({ method: 'DELETE', path: `${provider.hooks}/7` }))
  // As the server asks for it after a build.
  const [runtime] = (await server.admin.tunnels.list()).items
  const status = { repo: 'acme/app', revision: REVISION, title: 'apps/app', url: 'https://ci.example.com/b/1' }
  const work = { kind: 'status', integration: 'default', ...status, state: 'success', description: 'The build succeeded.' }
  const now = app.clock.now()
  await app.store.write(async (tx) => {
    const row = { id: 'b'.repeat(24), account_id: app.accountId, runtime_id: runtime?.id ?? '', release_id: 'c'.repeat(24) }
    await insertErrand(tx, { ...row, work: JSON.stringify(work), due_at: now, created_at: now })
    tx.wake(errandTopic(row.runtime_id))
  })
  await expect
    .poll(() => forge.calls.find(({ path }) => path === provider.status), { timeout: 30_000 })
    .toMatchObject({ method: 'POST', body: provider.body })
  for (const { headers } of forge.calls) expect(headers).toMatchObject(provider.login)
  expect(scene.lines.join('\n')).not.toContain(TOKEN)
  expect(scene.lines.join('\n')).not.toContain(SECRET)
})
