/** The app-proxy of a Runner at a real forge that the server does not reach: webhooks, commit statuses, and what pages ask of Git. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openScene, PAGE, type Scene } from '../../packages/app-proxy/test/support/scene.ts'
import { appProxyNameOf } from '../../packages/cli/src/runner/app-proxy/address.ts'
import { callWindlass } from '../../packages/cli/test/windlass.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../packages/server/test/support/http-scene.ts'
import { selfSigned } from '../support/self-signed.ts'
import { startGitea, type Gitea, type GiteaUser } from '../support/gitea.ts'
import { openRecorder, openTerminator, type Recorder } from '../support/ways-in.ts'

const RUNTIME = 'prod/builds'
const PREFIX = '/tools/git'
const SECRET_LINE = 'replicas: 417263'

const closing = new AsyncDisposableStack()
let server: HttpScene
let scene: Scene
let forge: Gitea
let ann: GiteaUser
let ways: Awaited<ReturnType<typeof openTerminator>>
let recorder: Recorder
let folder = ''
let ca = ''
/** Address of the app-proxy for browsers. */
let url = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-runner-proxy-'))
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  // Its outbound networks do not contain the forge, whose address is private.
  server = closing.use(await openHttpScene())
  forge = closing.use(await startGitea())
  recorder = closing.use(await openRecorder(server.server.url))
  const name = appProxyNameOf(RUNTIME)
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken(name)
  const control = { url: recorder.url, accountId: server.server.app.accountId, runtimeToken }
  const own = { runtime: name, pathPrefix: PREFIX, requireHttps: true, servesGitops: false }
  scene = closing.use(await openScene(control, own))
  const pair = await selfSigned('127.0.0.1')
  ca = pair.cert
  writeFileSync(join(folder, 'ca.pem'), ca)
  ways = closing.use(await openTerminator(() => scene.proxy.url, pair))
  url = `https://127.0.0.1:${ways.https.port}${PREFIX}`
  await server.admin.runtimes.create({ name: RUNTIME, type: 'fake', agent: 'agent', spec: { appProxy: { externalIP: url } } })
  ann = await forge.addUser('ann')
  await ann.api('POST', '/user/repos', { name: 'app', private: true, default_branch: 'main', auto_init: true })
  writeFileSync(join(folder, 'token'), ann.token, { mode: 0o600 })
})
afterAll(() => closing.disposeAsync())

async function connect(): Promise<string> {
  const at = ['--forge', 'gitea', '--url', forge.url, '--token-file', join(folder, 'token'), '--app-proxy', RUNTIME]
  const environment = {
    ...process.env,
    WINDLASS_URL: server.server.url,
    WINDLASS_API_KEY: server.adminToken,
    WINDLASS_CONFIG: '/nowhere/config',
    WINDLASS_CA_FILE: join(folder, 'ca.pem'),
    NO_COLOR: '1',
  }
  const finished = await callWindlass(['connect', 'git', 'work', ...at, '--repo', 'ann/app'], environment)
  expect(finished.code, finished.stderr).toBe(0)
  return finished.stdout
}

interface Asked {
  readonly method?: string
  readonly token?: string
}

/** Calls the app-proxy as a page of the server does: from its origin, through the ingress controller. */
async function browse(path: string, { method = 'GET', token = server.adminToken }: Asked = {}) {
  const headers = { origin: PAGE, 'x-access-token': token }
  const asked = https.request(`${url}/api/git-integrations/work/${path}`, { method, headers, ca, agent: false })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse((await text(answer)) || 'null') }
}

const Hooks = z.array(z.object({ id: z.int(), active: z.boolean(), config: z.object({ url: z.string() }) }))
const hooks = async (): Promise<z.infer<typeof Hooks>> => Hooks.parse(await ann.api('GET', '/repos/ann/app/hooks'))

test('connects a forge through the app-proxy: the forge has the webhook, and a repeated call keeps it (R133)', async () => {
  expect(await connect()).toBe(
    `context/work created\nwebhook/work/ann/app created\nwebhook of ann/app at ${new URL(forge.url).host} created\n`,
  )
  const [hook, ...others] = await hooks()
  const [webhook] = (await server.admin.webhooks.list()).items
  expect(others).toEqual([])
  expect(hook).toMatchObject({ active: true, config: { url: webhook?.url } })
  expect(webhook).toMatchObject({
    context: 'work',
    repo: 'ann/app',
    polls: false,
    appProxy: { runtime: appProxyNameOf(RUNTIME), integration: 'work' },
  })
  expect(await connect()).toBe(
    `context/work updated\nwebhook/work/ann/app unchanged\nwebhook of ann/app at ${new URL(forge.url).host} updated\n`,
  )
  expect(await hooks()).toEqual([hook])
  // Somebody removes it at the forge: another one with another secret takes its place.
  await ann.api('DELETE', `/repos/ann/app/hooks/${hook?.id}`)
  expect(await connect()).toContain('webhook/work/ann/app replaced\n')
  expect(await hooks()).toHaveLength(1)
})

/** Returns the build of a commit with its status; undefined before it exists. */
async function buildOf(commit: string): Promise<Build | undefined> {
  const found = (await server.admin.builds.list()).items.find(({ revision }) => revision === commit)
  return found && server.admin.builds.get(found.id)
}

const Statuses = z.array(z.object({ status: z.string(), context: z.string(), target_url: z.string() }))

test('a push starts a build by the webhook, and the app-proxy sets its commit status (R134)', async () => {
  await server.admin.pipelines.create({ name: 'apps/app', document: HELLO })
  const trigger = { pipeline: 'apps/app', name: 'push', repo: 'ann/app', context: 'work' }
  await server.admin.triggers.create({ ...trigger, events: ['push.heads'] })
  const content = Buffer.from(`${SECRET_LINE}\n`).toString('base64')
  const made = await ann.api('POST', '/repos/ann/app/contents/values.yaml', { content, message: 'Add values', branch: 'main' })
  const { sha } = z.object({ commit: z.object({ sha: z.string() }) }).parse(made).commit
  const states = async (): Promise<string[]> =>
    Statuses.parse(await ann.api('GET', `/repos/ann/app/commits/${sha}/statuses?sort=oldest`)).map(({ status }) => status)
  await expect.poll(states, { timeout: 60_000 }).toEqual(['pending'])
  const build = await buildOf(sha)
  expect(build).toMatchObject({ branch: 'main', revision: sha, commitStatus: { state: 'pending' } })
  await server.admin.builds.terminate(build?.id ?? '')
  await expect.poll(states, { timeout: 60_000 }).toEqual(['pending', 'error'])
  await expect.poll(async () => (await server.admin.builds.get(build?.id ?? '')).commitStatus).toMatchObject({ message: 'sent' })
})

test('a status waits while the app-proxy is away, and says so (R134)', async () => {
  await scene.proxy.close()
  const content = Buffer.from('more\n').toString('base64')
  const made = await ann.api('POST', '/repos/ann/app/contents/more.txt', { content, message: 'Add more', branch: 'main' })
  const { sha } = z.object({ commit: z.object({ sha: z.string() }) }).parse(made).commit
  const statusOf = async () => (await buildOf(sha))?.commitStatus
  await expect
    .poll(statusOf, { timeout: 60_000 })
    .toMatchObject({ message: 'waiting', problem: expect.stringContaining('Waits for the app-proxy') })
  await scene.restart()
  await expect.poll(statusOf, { timeout: 120_000 }).toMatchObject({ message: 'sent' })
})

test('pages list repositories and branches and read files through the ingress controller and the app-proxy only, which sends nothing of it to the platform (R135, R136)', async () => {
  recorder.passed.length = 0
  const repositories = await browse('repositories')
  expect(repositories.headers).toMatchObject({ 'access-control-allow-origin': PAGE })
  expect(repositories.body.items).toMatchObject([{ fullName: 'ann/app', isPrivate: true }])
  expect((await browse('branches?repo=ann/app')).body.items).toMatchObject([{ name: 'main' }])
  expect((await browse('tree?repo=ann/app')).body.items).toEqual(
    expect.arrayContaining([expect.objectContaining({ path: 'values.yaml' })]),
  )
  expect((await browse('file?repo=ann/app&path=values.yaml')).body).toMatchObject({ content: `${SECRET_LINE}\n` })
  expect((await browse('commits?repo=ann/app')).body.items[0]).toMatchObject({ message: expect.stringContaining('Add more') })
  const rights = recorder.passed.filter((request) => request.includes('/access '))
  expect(rights.length).toBeGreaterThan(0)
  const all = recorder.passed.join('\n')
  for (const data of ['ann/app', 'values.yaml', SECRET_LINE, 'Add more', ann.token]) expect(all).not.toContain(data)
})

test('a call over plain HTTP is refused by the app-proxy, whatever its caller says (R131)', async () => {
  const path = `${PREFIX}/api/git-integrations`
  const headers = { 'x-access-token': server.adminToken, 'x-forwarded-proto': 'https' }
  const plain = await fetch(`http://127.0.0.1:${ways.http.port}${path}`, { headers })
  expect([plain.status, await plain.json()]).toMatchObject([403, { code: 'https-required' }])
  // Not through the ingress controller.
  const direct = await fetch(`${scene.proxy.url}${path}`, { headers: { 'x-access-token': server.adminToken } })
  expect([direct.status, await direct.json()]).toMatchObject([403, { code: 'https-required' }])
  expect((await browse('repositories')).status).toBe(200)
  // Probes of kubelets have no TLS, and need no rights.
  expect((await fetch(`${scene.proxy.url}/api/readyz`)).status).toBe(200)
})

test('a Runner has no routes of Argo CD', async () => {
  const asked = https.request(`${url}/api/applications`, { headers: { 'x-access-token': server.adminToken }, ca, agent: false })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(404)
  answer.resume()
})
