/** Forges that answer in ways that an app-proxy must not follow, and a control plane that does not answer. */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { openScene, type Answer, type Scene } from './support/scene.ts'

interface Listener {
  readonly url: string
  /** Methods and paths of the calls, with the header Authorization. */
  readonly calls: { readonly path: string; readonly authorization: string | undefined }[]
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Listener> {
  const calls: Listener['calls'] = []
  const server = http.createServer((request, response) => {
    calls.push({ path: `${request.method} ${request.url}`, authorization: request.headers.authorization })
    answer(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`, calls }
}

interface Parts extends AsyncDisposable {
  readonly server: HttpScene
  readonly scene: Scene
  /** Calls a path of the integration `default` as an admin. */
  call(method: string, path: string, body?: object): Promise<Answer>
}

async function openParts(forgeUrl: string): Promise<Parts> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await openHttpScene())
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  const scene = opening.use(await openScene(control))
  const call: Parts['call'] = (method, path, body) =>
    scene.call(method, `/git-integrations/default${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  expect((await call('PUT', '', { provider: 'gitea', url: forgeUrl })).status).toBe(200)
  const opened = opening.move()
  return { server, scene, call, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const TOKEN = 'git-token-of-this-test'

function sendJson(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

test('answers of a forge become refusals with their reason, and none has the Git token', async () => {
  let answer: (response: ServerResponse) => void = (response) => sendJson(response, { login: 'ann' })
  const elsewhere = await listen((_, response) => sendJson(response, []))
  const forge = await listen((_, response) => answer(response))
  await using parts = await openParts(forge.url)
  expect((await parts.call('PUT', '/token', { token: TOKEN })).body).toMatchObject({ login: 'ann' })
  const status =
    (code: number, headers: Record<string, string> = {}, body = '{}') =>
    (response: ServerResponse) =>
      void response.writeHead(code, headers).end(body)
  const cases: readonly (readonly [typeof answer, number, string])[] = [
    [status(302, { location: `${elsewhere.url}/steal` }), 502, 'forge-refused'],
    [status(401), 422, 'git-token-refused'],
    [status(403), 403, 'forbidden'],
    [status(403, { 'x-ratelimit-remaining': '0' }), 429, 'rate-limited'],
    [status(429, { 'retry-after': '7' }), 429, 'rate-limited'],
    [status(404), 404, 'not-found'],
    [status(418), 502, 'forge-refused'],
    [status(500), 503, 'forge-unreachable'],
    [status(200, {}, '<html>'), 502, 'forge-refused'],
    [status(200, {}, `["${'x'.repeat(5_000_000)}"]`), 413, 'file-too-large'],
    [(response) => response.socket?.destroy(), 503, 'forge-unreachable'],
  ]
  for (const [given, code, name] of cases) {
    answer = given
    expect(await parts.call('GET', '/organizations')).toMatchObject({ status: code, body: { code: name } })
  }
  expect((await parts.call('GET', '/organizations')).headers.get('retry-after')).toBe('1')
  answer = status(429, { 'retry-after': '7' })
  expect((await parts.call('GET', '/organizations')).headers.get('retry-after')).toBe('7')
  expect(elsewhere.calls).toEqual([])
  expect(forge.calls.every(({ authorization }) => authorization === `token ${TOKEN}`)).toBe(true)
  expect(parts.scene.lines.join('\n')).not.toContain(TOKEN)
})

test('pages and clones are at the host of the integration, whatever a forge names', async () => {
  const elsewhere = await listen((_, response) => sendJson(response, []))
  const forge = await listen((request, response) => {
    const url = request.url ?? ''
    if (url === '/api/v1/user') return sendJson(response, { login: 'ann' })
    if (url.startsWith('/api/v1/user/orgs'))
      return sendJson(response, [{ name: 'acme' }], { link: `<${elsewhere.url}/api/v1/user/orgs?page=2&token=x>; rel="next"` })
    if (url.startsWith('/api/v1/repos/'))
      return sendJson(response, { full_name: 'ann/app', clone_url: `${elsewhere.url}/ann/app.git`, permissions: { push: true } })
    return void response.writeHead(302, { location: `${elsewhere.url}${url}` }).end()
  })
  await using parts = await openParts(forge.url)
  await parts.call('PUT', '/token', { token: TOKEN })
  const first = await parts.call('GET', '/organizations')
  expect(first.body.items).toHaveLength(1)
  await parts.call('GET', `/organizations?cursor=${first.body.cursor}`)
  expect(forge.calls.at(-1)?.path).toBe('GET /api/v1/user/orgs?limit=50&page=2')
  const commit = { repo: 'ann/app', branch: 'main', message: 'x', files: [{ path: 'x', content: 'x' }] }
  const refused = await parts.call('POST', '/commits', commit)
  expect(refused.status).toBeGreaterThanOrEqual(400)
  const login = Buffer.from(`ann:${TOKEN}`).toString('base64')
  expect(forge.calls.at(-1)).toEqual({
    path: 'GET /ann/app.git/info/refs?service=git-upload-pack',
    authorization: `Basic ${login}`,
  })
  expect(elsewhere.calls).toEqual([])
  for (const secret of [TOKEN, login]) expect(JSON.stringify([refused.body, ...parts.scene.lines])).not.toContain(secret)
  expect(parts.scene.leftovers()).toEqual([])
})

test('without git a commit is refused with what to do', async () => {
  const forge = await listen((_, response) => sendJson(response, { login: 'ann', full_name: 'ann/app' }))
  await using parts = await openParts(forge.url)
  await parts.call('PUT', '/token', { token: TOKEN })
  await parts.scene.restart({ environment: { PATH: parts.scene.workFolder } })
  const commit = { repo: 'ann/app', branch: 'main', message: 'x', files: [{ path: 'x', content: 'x' }] }
  expect(await parts.call('POST', '/commits', commit)).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: expect.stringContaining('git is not installed') },
  })
  expect(parts.scene.leftovers()).toEqual([])
})

test('a control plane that does not answer in 2 s, answers later, or is another service, lets nobody in (O025)', async () => {
  const forge = await listen((_, response) => sendJson(response, {}))
  await using parts = await openParts(forge.url)
  const silent = await listen(() => undefined)
  const other = await listen((_, response) => void response.writeHead(404).end('not found'))
  const { accountId } = parts.server.server.app
  const rights = ['see-gitops', 'change-gitops', 'manage-gitops']
  const access = { accountId, runtime: 'prod', user: { id: 'a'.repeat(24), name: 'ann' }, rights, isReadOnly: false }
  // What it says was true when it was asked, and may be no more.
  const late = await listen((_, response) => void setTimeout(() => sendJson(response, access), 2_500))
  const options = (url: string): Parameters<Scene['restart']>[0] => ({ server: { ...parts.scene.server, url } })
  await parts.scene.restart(options(silent.url))
  const since = performance.now()
  const many = await Promise.all([1, 2, 3].map(() => parts.call('GET', '')))
  for (const { status, body } of many) expect([status, body.code]).toEqual([503, 'control-plane-unreachable'])
  expect(performance.now() - since).toBeLessThan(15_000)
  // Calls of one caller at once are one question.
  expect(silent.calls.filter(({ path }) => path.endsWith('/access'))).toHaveLength(1)
  await parts.scene.restart(options(late.url))
  expect(await parts.call('GET', '')).toMatchObject({ status: 503, body: { code: 'control-plane-unreachable' } })
  await parts.scene.restart(options(other.url))
  expect((await parts.call('GET', '')).status).toBe(503)
})

/** Returns the command lines of processes that contain a text. */
function commandLines(part: string): string[] {
  return readdirSync('/proc').flatMap((id) => {
    if (!/^\d+$/.test(id)) return []
    try {
      const line = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return line.includes(part) ? [line] : []
    } catch {
      // It has ended.
      return []
    }
  })
}

test('a commit whose caller leaves ends git with its helpers, and no command line had the Git token', async () => {
  const forge = await listen((request, response) => {
    const url = request.url ?? ''
    if (url === '/api/v1/user') return sendJson(response, { login: 'ann' })
    if (url.startsWith('/api/')) return sendJson(response, { full_name: 'ann/app' })
    // Never ends, and is never silent.
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
    const timer = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(timer))
    return undefined
  })
  await using parts = await openParts(forge.url)
  const { scene, server } = parts
  await parts.call('PUT', '/token', { token: TOKEN })
  const leaving = new AbortController()
  const call = fetch(`${scene.proxy.url}/app-proxy/api/git-integrations/default/commits`, {
    method: 'POST',
    headers: { authorization: server.adminToken, 'content-type': 'application/json' },
    body: JSON.stringify({ repo: 'ann/app', branch: 'main', message: 'x', files: [{ path: 'x', content: 'x' }] }),
    signal: leaving.signal,
  }).catch(() => 'left')
  const place = `${forge.url}/ann/app.git`
  await expect.poll(() => forge.calls.some(({ path }) => path.includes('/info/refs'))).toBe(true)
  const lines = commandLines(place)
  expect(lines.length).toBeGreaterThan(0)
  for (const secret of [TOKEN, Buffer.from(`ann:${TOKEN}`).toString('base64')]) expect(lines.join('\n')).not.toContain(secret)
  leaving.abort()
  expect(await call).toBe('left')
  await expect.poll(() => commandLines(place)).toEqual([])
  await expect.poll(() => scene.leftovers()).toEqual([])
  // A caller that leaves is no error of this process.
  expect(scene.lines.filter((line) => line.includes('"bug"'))).toEqual([])
})

test('callers that leave while they send, or while a forge is silent, are no bugs', async () => {
  let isSilent = false
  const forge = await listen((_, response) => (isSilent ? undefined : sendJson(response, { login: 'ann' })))
  await using parts = await openParts(forge.url)
  const { scene, server } = parts
  await parts.call('PUT', '/token', { token: TOKEN })
  isSilent = true
  const socket = connect(scene.proxy.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `PUT /app-proxy/api/git-integrations/other HTTP/1.1\r\nhost: x\r\nauthorization: ${server.adminToken}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"provider": ',
  )
  const leaving = new AbortController()
  const left = fetch(`${scene.proxy.url}/app-proxy/api/git-integrations/default/organizations`, {
    headers: { authorization: server.adminToken },
    signal: leaving.signal,
  }).catch(() => 'left')
  await expect.poll(() => forge.calls.some(({ path }) => path.includes('/user/orgs'))).toBe(true)
  socket.destroy()
  leaving.abort()
  expect(await left).toBe('left')
  expect((await parts.call('GET', '')).status).toBe(200)
  expect(scene.lines.filter((line) => line.includes('"bug"'))).toEqual([])
})

test('a connection without a request is closed at the end, and the end does not wait for it to be late', async () => {
  const forge = await listen((_, response) => sendJson(response, { login: 'ann' }))
  await using parts = await openParts(forge.url)
  const silent = connect(parts.scene.proxy.port, '127.0.0.1')
  // Node answers a request that is late with 408.
  let answered = ''
  silent.on('data', (chunk) => (answered += String(chunk)))
  await once(silent, 'connect')
  // Sent on a later connection, so the server has accepted the silent one.
  expect((await parts.call('GET', '')).status).toBe(200)
  const closed = once(silent, 'close')
  await parts.scene.restart()
  await closed
  expect(answered).toBe('')
})

test('an integration whose removal was cut off is removed with its tokens by the next call', async () => {
  const forge = await listen((_, response) => sendJson(response, { login: 'ann' }))
  await using parts = await openParts(forge.url)
  await parts.call('PUT', '/token', { token: TOKEN })
  expect(parts.scene.kube.objects.delete('configmaps/git-integration-default')).toBe(true)
  expect([...parts.scene.kube.objects.keys()]).toHaveLength(1)
  expect((await parts.call('DELETE', '')).status).toBe(204)
  expect([...parts.scene.kube.objects.keys()]).toEqual([])
  expect((await parts.call('DELETE', '')).status).toBe(404)
})

test('a Git token that is registered while its integration is removed does not stay', async () => {
  let remove: () => Promise<unknown> = async () => undefined
  const forge = await listen((_, response) => void remove().then(() => sendJson(response, { login: 'ann' })))
  await using parts = await openParts(forge.url)
  remove = () => parts.call('DELETE', '')
  expect(await parts.call('PUT', '/token', { token: TOKEN })).toMatchObject({ status: 404, body: { code: 'not-found' } })
  expect([...parts.scene.kube.objects.keys()]).toEqual([])
})

test('a text that is no token never becomes the key of Git tokens, and a record of another key is refused with its reason', async () => {
  const forge = await listen((_, response) => sendJson(response, { login: 'ann' }))
  await using parts = await openParts(forge.url)
  await parts.call('PUT', '/token', { token: TOKEN })
  const before = JSON.stringify([...parts.scene.kube.objects])
  // A wrong Secret must not become the key of all Git tokens.
  parts.scene.writeToken('not-the-token')
  await expect.poll(() => parts.scene.lines.some((line) => line.includes('does not have a token'))).toBe(true)
  expect(JSON.stringify([...parts.scene.kube.objects])).toBe(before)
  const { token } = await parts.server.admin.gitopsRuntimes.createToken('prod')
  await parts.scene.proxy.close()
  parts.scene.writeToken(token)
  await parts.scene.restart()
  expect(await parts.call('GET', '/organizations')).toMatchObject({
    status: 422,
    body: { code: 'git-token-missing', detail: expect.stringContaining('encrypted with another token') },
  })
})
