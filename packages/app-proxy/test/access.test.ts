/** Who may call an app-proxy: keys of a real server, their rights, and what happens when either side is gone. */
import { once } from 'node:events'
import http from 'node:http'
import { newToken, systemClock } from '@windlass/kit'
import type { Role, Scope } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { openScene, PAGE, type Control, type Scene } from './support/scene.ts'

interface Parts extends AsyncDisposable {
  readonly server: HttpScene
  readonly scene: Scene
  readonly control: Control
  /** Creates a user with a key. */
  addUser(name: string, role: Role, scopes?: Scope[]): Promise<string>
}

async function openParts(): Promise<Parts> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await openHttpScene())
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  const scene = opening.use(await openScene(control))
  const opened = opening.move()
  return {
    server,
    scene,
    control,
    async addUser(name, role, scopes) {
      await server.admin.users.create({ name, role, password: 'correct horse battery' })
      return (await server.admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name, ...(scopes && { scopes }) }))
        .token
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const INTEGRATION = { provider: 'gitea', url: 'https://git.example.com' }
const COMMIT = { repo: 'ann/app', branch: 'main', message: 'x', files: [{ path: 'x', content: 'x' }] }

test('a call needs a key of the account, and the token of the runtime is none (O024)', async () => {
  await using parts = await openParts()
  const { scene, server, control } = parts
  const ann = await parts.addUser('ann', 'viewer')
  for (const token of [undefined, 'nonsense', newToken(systemClock.now()).text, server.agentToken.replace(/.$/, 'x')])
    expect(await scene.call('GET', '/version', token === undefined ? {} : { token })).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated' },
    })
  expect(await scene.call('GET', '/version', { token: control.runtimeToken })).toMatchObject({
    status: 401,
    body: { detail: expect.stringContaining('GitOps runtime') },
  })
  expect(await scene.call('GET', '/version', { token: server.agentToken })).toMatchObject({
    status: 403,
    body: { code: 'forbidden' },
  })
  const expected = { status: 200, body: { version: '1.2.3', runtime: 'prod', platformHost: control.url } }
  expect(await scene.call('GET', '/version', { token: ann })).toMatchObject(expected)
  expect(await scene.call('GET', '/version', { token: `Bearer ${ann}` })).toMatchObject(expected)
  expect(await scene.call('GET', '/version', { headers: { 'x-access-token': ann } })).toMatchObject(expected)
  // The key of another account of the same database.
  await server.server.app.store.write(async (tx) => {
    const change = { account_id: 'f'.repeat(24), user_id: null }
    await tx.query.updateTable('api_key').set(change).where('name', '=', 'ann-key').execute()
  })
  await expect.poll(async () => (await scene.call('GET', '/version', { token: ann })).status).toBe(403)
  expect((await scene.call('GET', '/version', { token: ann })).body).toMatchObject({
    detail: expect.stringContaining('another account'),
  })
})

test('an app-proxy that is configured for another account refuses the users of its server (O024)', async () => {
  await using parts = await openParts()
  const ann = await parts.addUser('ann', 'viewer')
  await parts.scene.restart({ accountId: 'e'.repeat(24) })
  expect(await parts.scene.call('GET', '/version', { token: ann })).toMatchObject({ status: 403, body: { code: 'forbidden' } })
})

test('each call names the right that is missing, and limited keys write nothing (O024, O025)', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const [nobody, viewer, developer, reader] = [
    (await server.admin.users.create({ name: 'none', role: 'none', password: 'correct horse battery' })) &&
      (await server.admin.keys.create({ name: 'none-key', role: 'admin', owner: 'none' })).token,
    await parts.addUser('vera', 'viewer'),
    await parts.addUser('dan', 'developer'),
    await parts.addUser('rob', 'admin', ['gitops:read']),
  ]
  const other = await parts.addUser('bob', 'admin', ['build:read'])
  const missing = (right: string): object => ({ status: 403, body: { code: 'forbidden', right } })
  expect(await scene.call('GET', '/git-integrations', { token: nobody })).toMatchObject(missing('see-gitops'))
  expect(await scene.call('PUT', '/git-integrations/default', { token: developer, body: INTEGRATION })).toMatchObject(
    missing('manage-gitops'),
  )
  expect(await scene.call('POST', '/git-integrations/default/commits', { token: viewer, body: COMMIT })).toMatchObject(
    missing('change-gitops'),
  )
  expect(await scene.call('GET', '/git-integrations', { token: reader })).toMatchObject({ status: 200, body: { items: [] } })
  for (const [method, path, body] of [
    ['PUT', '/git-integrations/default', INTEGRATION],
    ['PUT', '/git-integrations/default/token', { token: 'x' }],
    ['POST', '/git-integrations/default/commits', COMMIT],
  ] as const)
    expect(await scene.call(method, path, { token: reader, body })).toMatchObject({
      status: 403,
      body: { code: 'scope-missing' },
    })
  expect(await scene.call('GET', '/version', { token: other })).toMatchObject({ status: 403, body: { code: 'scope-missing' } })
  // The right is there, and the integration is not.
  expect(await scene.call('POST', '/git-integrations/default/commits', { token: developer, body: COMMIT })).toMatchObject({
    status: 404,
  })
  expect(await scene.call('PUT', '/git-integrations/default', { token: server.adminToken, body: INTEGRATION })).toMatchObject({
    status: 200,
    body: { name: 'default', apiUrl: 'https://git.example.com/api/v1', registeredUsers: [] },
  })
  expect(await scene.call('POST', '/git-integrations/default/commits', { token: developer, body: COMMIT })).toMatchObject({
    status: 422,
    body: { code: 'git-token-missing' },
  })
})

test('a right that was taken away ends within 5 s, and so does a deleted key (O025)', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const dan = await parts.addUser('dan', 'developer')
  const commit = async (): Promise<string> =>
    (await scene.call('POST', '/git-integrations/none/commits', { token: dan, body: COMMIT })).body.code
  expect(await commit()).toBe('not-found')
  const since = performance.now()
  await server.admin.users.change('dan', { role: 'viewer' })
  await expect.poll(commit, { interval: 100 }).toBe('forbidden')
  expect(performance.now() - since).toBeLessThan(5_000)
  await server.admin.keys.delete('dan-key')
  const deleted = performance.now()
  await expect.poll(commit, { interval: 100 }).toBe('unauthenticated')
  expect(performance.now() - deleted).toBeLessThan(5_000)
})

test('a right that is taken away while a body is sent is gone for this call (O025)', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const dan = await parts.addUser('dan', 'developer')
  const body = JSON.stringify(COMMIT)
  const request = http.request(`${scene.proxy.url}/app-proxy/api/git-integrations/none/commits`, {
    method: 'POST',
    headers: { authorization: dan, 'content-type': 'application/json', 'content-length': String(body.length) },
  })
  const arriving = once(request, 'response') as Promise<[http.IncomingMessage]>
  let isAnswered = false
  request.on('response', () => {
    isAnswered = true
  })
  request.write(body.slice(0, 10))
  const commit = async (): Promise<string> =>
    (await scene.call('POST', '/git-integrations/none/commits', { token: dan, body: COMMIT })).body.code
  expect(await commit()).toBe('not-found')
  await server.admin.users.change('dan', { role: 'viewer' })
  await expect.poll(commit, { interval: 100 }).toBe('forbidden')
  // It had the right when it began.
  expect(isAnswered).toBe(false)
  request.end(body.slice(10))
  const [response] = await arriving
  expect(response.statusCode).toBe(403)
  expect(JSON.parse(Buffer.concat((await response.toArray()) as Buffer[]).toString())).toMatchObject({ right: 'change-gitops' })
})

test('without its server an app-proxy uses an answer up to its age, and then says why it answers no more (O025)', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const ann = await parts.addUser('ann', 'viewer')
  expect((await scene.call('GET', '/version', { token: ann })).status).toBe(200)
  await server.server.close()
  expect((await scene.call('GET', '/version', { token: ann })).status).toBe(200)
  await expect.poll(async () => (await scene.call('GET', '/version', { token: ann })).status, { interval: 100 }).toBe(503)
  const refused = await scene.call('GET', '/version', { token: ann })
  expect(refused.body).toMatchObject({ code: 'control-plane-unreachable', detail: expect.stringContaining('does not answer') })
  expect(refused.headers.get('retry-after')).toBe('1')
  // Probes do not depend on the server: a restart would not help.
  for (const path of ['/app-proxy/api/readyz', '/app-proxy/api/healthz', '/api/readyz', '/api/healthz'])
    expect((await fetch(scene.proxy.url + path)).status).toBe(200)
})

test('an app-proxy whose runtime or token was deleted serves nobody, and a new token works without a restart', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const ann = await parts.addUser('ann', 'viewer')
  await server.admin.gitopsRuntimes.delete('prod')
  expect(await scene.call('GET', '/version', { token: ann })).toMatchObject({
    status: 503,
    body: { code: 'control-plane-refused' },
  })
  const other = await server.admin.gitopsRuntimes.createToken('other')
  scene.writeToken(other.token)
  await expect
    .poll(async () => (await scene.call('GET', '/version', { token: ann })).body.detail)
    .toContain('not one of the GitOps runtime "prod"')
  scene.writeToken((await server.admin.gitopsRuntimes.createToken('prod')).token)
  await expect.poll(async () => (await scene.call('GET', '/version', { token: ann })).status).toBe(200)
})

test('an app-proxy that stops is not ready, and accepts calls until those that send them have noticed', async () => {
  await using parts = await openParts()
  const { scene } = parts
  const ann = await parts.addUser('ann', 'viewer')
  await scene.restart({ lingerMs: 1_500 })
  const closing = scene.proxy.close()
  expect((await fetch(`${scene.proxy.url}/api/readyz`)).status).toBe(503)
  expect((await scene.call('GET', '/version', { token: ann })).status).toBe(200)
  await closing
  await expect(fetch(`${scene.proxy.url}/api/readyz`)).rejects.toThrow('fetch failed')
})

test('a folder for repositories that cannot be used is named at the start', async () => {
  await using parts = await openParts()
  const { scene } = parts
  await scene.proxy.close()
  await expect(scene.restart({ workFolder: '/nowhere/repositories' })).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining('/nowhere/repositories'),
    hint: expect.stringContaining('WINDLASS_APP_PROXY_REPOS_DIR'),
  })
})

test('pages of the listed origins may read answers, also of refusals, and others may not (O024)', async () => {
  await using parts = await openParts()
  const { scene } = parts
  const preflight = { origin: PAGE, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-access-token' }
  const allowed = await scene.call('OPTIONS', '/git-integrations/default/token', { headers: preflight })
  expect(allowed.status).toBe(204)
  expect(Object.fromEntries(allowed.headers)).toMatchObject({
    'access-control-allow-origin': PAGE,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE',
    'access-control-allow-headers': 'content-type,x-access-token',
    vary: 'Origin',
  })
  const refused = await scene.call('GET', '/version', { headers: { origin: PAGE } })
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, PAGE])
  for (const method of ['OPTIONS', 'GET']) {
    const other = await scene.call(method, '/version', { headers: { ...preflight, origin: 'https://evil.example.com' } })
    expect([...other.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

test('bodies are limited and strict, and an unknown path names nothing', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const admin = server.adminToken
  expect(await scene.call('GET', '/nothing', { token: admin })).toMatchObject({ status: 404, body: { code: 'not-found' } })
  const put = (body: object, name = 'default'): ReturnType<Scene['call']> =>
    scene.call('PUT', `/git-integrations/${name}`, { token: admin, body })
  expect(await put({ ...INTEGRATION, more: 'x' })).toMatchObject({ status: 400, body: { code: 'request-invalid' } })
  expect(await put({ ...INTEGRATION, url: 'x'.repeat(100_000) })).toMatchObject({
    status: 413,
    body: { code: 'payload-too-large' },
  })
  for (const url of [
    'ftp://git.example.com',
    'http://169.254.169.254',
    'http://[fe80::1]',
    'http://0xa9fea9fe',
    'http://[::ffff:169.254.169.254]',
    'http://100.100.100.200',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://0.0.0.0:8080',
    'http://metadata.google.internal.',
  ])
    expect(await put({ ...INTEGRATION, url })).toMatchObject({ status: 400, body: { code: 'request-invalid' } })
  for (const name of ['Default', 'a--', 'x'.repeat(41), '..%2fx']) expect((await put(INTEGRATION, name)).status).toBe(400)
})

test('changes of workflows have places of their own: too many at once are refused before their bodies are read, and commits are not', async () => {
  await using parts = await openParts()
  const { scene, server } = parts
  const token = server.adminToken
  const routes = ['/workflow-templates/a/submit', '/workflows', '/namespaces/prod-runtime/workflows/a/resubmit'].map(
    (path) => ['POST', path] as const,
  )
  const ends = ['retry', 'stop', 'terminate'].map((end) => ['POST', `/workflows/a/${end}`] as const)
  const changes = [...routes, ...ends, ['DELETE', '/workflows/a'] as const]
  /** Calls whose bodies do not come. */
  const held = Array.from({ length: 37 }, (_, number) => {
    const [method, path] = changes[number % changes.length] ?? ['POST', '']
    const headers = { authorization: token, 'content-type': 'application/json', 'content-length': '10' }
    const request = http.request(`${scene.proxy.url}/app-proxy/api${path}`, { method, headers, agent: false })
    request.on('error', () => undefined).flushHeaders()
    return request
  })
  const [response] = (await Promise.race(held.map((request) => once(request, 'response')))) as [http.IncomingMessage]
  expect(JSON.parse(Buffer.concat((await response.toArray()) as Buffer[]).toString())).toMatchObject({
    code: 'rate-limited',
    detail: '36 changes of workflows are in progress.',
  })
  expect(await scene.call('POST', '/git-integrations/none/commits', { token, body: COMMIT })).toMatchObject({ status: 404 })
  for (const request of held) request.destroy()
  const stop = async (): Promise<string> => (await scene.call('POST', '/workflows/a/stop', { token })).body.code
  await expect.poll(stop).toBe('not-supported')
})
