/** Calls of a browser to the app-proxy of a runtime, through the server: what goes through the tunnel, and what its pass is good for. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { appProxyCalls } from '@windlass/client/app-proxy'
import { proxyFrom, silentLog, systemClock } from '@windlass/kit'
import type { Rollout, RuntimeApplicationDetails } from '@windlass/protocol'
import { startTunnelClient } from '@windlass/tunnel/client'
import { expect, onTestFinished, test } from 'vitest'
import { recordLostCalls } from '../../../src/gitops/calls.ts'
import { findPassActor } from '../../../src/identity/keys/runtime-pass.ts'
import { browse, browseWith, OWN_PAGE, signIn } from '../../support/browser.ts'
import { argoApplication, event, report } from '../../support/fakes/application-reporter.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const TUNNELS = { domain: 'tunnels.test', port: 0, timings: { heartbeatMs: 200, deadMs: 60_000 } } as const
const PASSWORD = 'correct horse battery'
const SHOP = `/v1/applications/${encodeURIComponent('prod/argocd/shop')}`
const NOW: RuntimeApplicationDetails = {
  name: 'shop',
  project: 'default',
  sources: [],
  destination: {},
  health: 'healthy',
  sync: 'synced',
  revisions: [],
  isAutomatic: false,
  isDeleting: false,
  isBusy: false,
  conditions: [],
  createdAt: 0,
  resources: [],
  results: [],
  history: [],
}

const FRONT: Rollout = {
  namespace: 'shop',
  name: 'front',
  strategy: 'canary',
  phase: 'paused',
  isComplete: false,
  isPaused: true,
  isAborted: false,
  steps: [],
  replicas: { wanted: 1, updated: 1, available: 1 },
  analyses: [],
  services: [],
  revisions: [],
  actions: ['resume'],
}

interface Asked {
  readonly call: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

interface Runtime {
  /** Calls that came out of the tunnel. */
  readonly asked: Asked[]
  /** What it answers next. `text` is sent as it is. */
  answer: { readonly status: number; readonly type?: string; readonly body?: unknown; readonly text?: string }
  /** Awaited after the first byte of an answer. */
  rest: Promise<void>
  /** Token of the runtime. */
  readonly token: string
}

/** Connects the runtime `prod`, whose app-proxy the test plays. The application `shop` is reported. */
async function connectRuntime({ admin, server }: HttpScene): Promise<Runtime> {
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const runtime: Runtime = { asked: [], answer: { status: 200, body: NOW }, rest: Promise.resolve(), token }
  const played = http.createServer((request, response) => {
    void text(request).then((body) => {
      runtime.asked.push({ call: `${request.method} ${request.url}`, headers: request.headers, body })
      const { status, type = 'application/json', body: answer, text: whole = JSON.stringify(answer) } = runtime.answer
      response.writeHead(status, { 'content-type': type }).write(whole.slice(0, 1))
      void runtime.rest.then(() => response.end(whole.slice(1)))
    })
  })
  await once(played.listen(0, '127.0.0.1'), 'listening')
  const address = played.address()
  const folder = mkdtempSync(join(tmpdir(), 'windlass-live-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, token)
  const client = startTunnelClient({
    server: new URL(`http://localhost:${server.tunnelPort}`),
    runtime: 'prod',
    tokenFile,
    router: new URL(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`),
    prefixes: ['/app-proxy'],
    version: '1.2.3',
    proxy: proxyFrom({}),
    clock: systemClock,
    log: silentLog,
  })
  onTestFinished(async () => {
    await client.close()
    played.closeAllConnections()
    played.close()
    rmSync(folder, { recursive: true })
  })
  await expect.poll(() => client.status().isOnline).toBe(true)
  await report(server.app, { data: event(argoApplication('shop'), Date.now()) })
  return runtime
}

/** Returns the cookie of a new user. */
async function userOf(scene: HttpScene, name: string, role: 'viewer' | 'developer'): Promise<string> {
  await scene.admin.users.create({ name, role, password: PASSWORD })
  return signIn(scene, { name, password: PASSWORD })
}

const passOf = ({ asked }: Runtime): string => asked.at(-1)?.headers.authorization ?? ''

test('a browser reaches the app-proxy of a runtime by its session, which stays at the server (W102)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const runtime = await connectRuntime(scene)
  const cookie = await userOf(scene, 'dan', 'developer')
  const seen = await browse(scene, 'GET', `${SHOP}/live`, { cookie })
  expect([seen.status, seen.body]).toEqual([200, NOW])
  const synced = await browse(scene, 'POST', `${SHOP}/sync`, { cookie, body: { prune: true } })
  expect([synced.status, synced.body]).toEqual([200, NOW])
  await browse(scene, 'POST', `${SHOP}/terminate`, { cookie })
  expect(runtime.asked.map(({ call }) => call)).toEqual([
    'GET /app-proxy/api/namespaces/argocd/applications/shop',
    'POST /app-proxy/api/namespaces/argocd/applications/shop/sync',
    'POST /app-proxy/api/namespaces/argocd/applications/shop/terminate',
  ])
  expect(JSON.parse(runtime.asked[1]?.body ?? '')).toMatchObject({ prune: true, dryRun: false, resources: [] })
  const secret = cookie.split('.')[1] ?? cookie
  expect(JSON.stringify(runtime.asked)).not.toContain(secret)
  for (const { headers } of runtime.asked) expect(headers.cookie).toBeUndefined()
  runtime.answer = { status: 200, body: FRONT }
  const body = { namespace: 'shop', name: 'front', step: 1 }
  const skipped = await browse(scene, 'POST', `${SHOP}/rollouts/skip-current-step`, { cookie, body })
  expect([skipped.status, skipped.body]).toEqual([200, FRONT])
  expect(runtime.asked.at(-1)?.call).toBe('POST /app-proxy/api/namespaces/argocd/applications/shop/rollouts/skip-current-step')
  expect(JSON.parse(runtime.asked.at(-1)?.body ?? '')).toEqual(body)
  const { items } = await scene.admin.audit.list({ query: { limit: 20 } })
  expect(items.find(({ action }) => action.endsWith('/rollouts/{action}'))).toMatchObject({
    result: 'done',
    actor: 'dan',
    detail: 'rollout shop/front of the application prod/argocd/shop',
  })
  expect(items.find(({ action }) => action === 'POST /v1/applications/{id}/sync')).toMatchObject({ result: 'done', actor: 'dan' })
  // A call that was announced before its effect is no lost one after its end.
  const { app } = scene.server
  await recordLostCalls({ ...app, clock: { ...app.clock, now: () => app.clock.now() + 3_700_000 } })
  expect((await scene.admin.audit.list({ query: { limit: 20 } })).items).toEqual(items)
})

test('a page of another origin, a viewer and a limited key change nothing at a runtime (W102)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const runtime = await connectRuntime(scene)
  const cookie = await userOf(scene, 'dan', 'developer')
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site', 'x-windlass-request': '1' }, { 'sec-fetch-site': 'same-origin' }])
    expect((await browseWith(scene, 'POST', `${SHOP}/sync`, { cookie, headers, body: {} })).status).toBe(403)
  const viewer = await userOf(scene, 'vera', 'viewer')
  for (const part of ['sync', 'rollback', 'refresh', 'terminate', 'rollouts/abort', 'rollouts/rollback'])
    expect((await browse(scene, 'POST', `${SHOP}/${part}`, { cookie: viewer, body: {} })).status).toBe(403)
  const { token } = await scene.admin.keys.create({ name: 'reader', role: 'admin', scopes: ['gitops:read'] })
  const reader = scene.nobody.withToken(token)
  await expect(reader.applications.sync('prod/argocd/shop')).rejects.toMatchObject({ code: 'scope-missing' })
  expect(runtime.asked).toEqual([])
  expect(await reader.applications.live('prod/argocd/shop')).toEqual(NOW)
})

test('a pass only answers what its user may do at its runtime, and a reading one does not write (W102)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const runtime = await connectRuntime(scene)
  const other = await scene.admin.gitopsRuntimes.createToken('other')
  const cookie = await userOf(scene, 'dan', 'developer')
  const ask = (pass: string, name = 'prod', runtimeToken = runtime.token) =>
    appProxyCalls(scene.nobody.withToken(pass.replace('Bearer ', ''))).access(name, { runtimeToken })
  await browse(scene, 'GET', `${SHOP}/live`, { cookie })
  const reading = passOf(runtime)
  expect(await ask(reading)).toMatchObject({ user: { name: 'dan' }, rights: ['see-gitops'], isReadOnly: true })
  await browse(scene, 'POST', `${SHOP}/sync`, { cookie, body: {} })
  const writing = passOf(runtime)
  expect(await ask(writing)).toMatchObject({ user: { name: 'dan' }, rights: ['see-gitops', 'change-gitops'], isReadOnly: false })
  expect(writing).not.toBe(reading)
  await expect(ask(writing, 'other', other.token)).rejects.toMatchObject({ code: 'unauthenticated' })
  for (const changed of [
    writing.replace('-w-', '-r-'),
    reading.replace('-r-', '-w-'),
    `${writing.slice(0, -1)}${writing.endsWith('A') ? 'B' : 'A'}`,
  ])
    await expect(ask(changed)).rejects.toMatchObject({ code: 'unauthenticated' })
  for (const [method, path] of [
    ['GET', '/v1/builds'],
    ['GET', '/v1/applications'],
    ['GET', `${SHOP}/live`],
    ['POST', `${SHOP}/sync`],
    ['GET', '/v1/tunnels'],
  ] as const) {
    const answer = await browseWith(scene, method, path, {
      headers: { ...OWN_PAGE, authorization: writing },
      ...(method === 'POST' && { body: {} }),
    })
    expect([path, answer.status]).toEqual([path, 401])
  }
  const { app } = scene.server
  const later = { ...app, clock: { ...app.clock, now: () => app.clock.now() + 31_000 } }
  expect(await findPassActor(app, writing)).toMatchObject({ name: 'dan' })
  await expect(findPassActor(later, writing)).rejects.toMatchObject({ code: 'unauthenticated' })
  await scene.admin.users.change('dan', { role: 'none' })
  expect(await ask(writing)).toMatchObject({ rights: [] })
  const { token } = await scene.admin.keys.create({ name: 'short', role: 'developer' })
  await scene.nobody.withToken(token).applications.sync('prod/argocd/shop')
  const ofKey = passOf(runtime)
  expect(ofKey).not.toContain(token.split('.')[1] ?? token)
  expect(await ask(ofKey)).toMatchObject({ rights: ['see-gitops', 'change-gitops'], isReadOnly: false })
  await scene.admin.keys.delete('short')
  await expect(ask(ofKey)).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('refusals of the runtime are passed on, and others say that the runtime failed (W102)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  await expect(scene.admin.applications.live('prod/argocd/shop')).rejects.toMatchObject({ code: 'not-found' })
  const runtime = await connectRuntime(scene)
  const problem = (code: string, detail: string): object => ({
    type: `urn:windlass:fault:${code}`,
    title: 'x',
    status: 409,
    detail,
    message: detail,
    code,
    hint: '',
  })
  const call = () => scene.admin.applications.sync('prod/argocd/shop')
  const type = 'application/problem+json'
  runtime.answer = { status: 409, type, body: problem('conflict', 'Another operation is in progress.') }
  await expect(call()).rejects.toMatchObject({ code: 'conflict', message: 'Another operation is in progress.' })
  // The session of the page has not ended.
  runtime.answer = { status: 401, type, body: problem('unauthenticated', 'The control plane does not accept the token.') }
  await expect(call()).rejects.toMatchObject({ code: 'router-broken', message: expect.stringContaining('does not accept') })
  runtime.answer = { status: 404, type: 'text/html', body: 'not here' }
  await expect(call()).rejects.toMatchObject({ code: 'router-broken', message: expect.stringContaining('404') })
  runtime.answer = { status: 200, body: { name: 'shop' } }
  await expect(call()).rejects.toMatchObject({ code: 'router-broken' })
  // A runtime that is upgraded after its server.
  runtime.answer = { status: 404, type, body: problem('not-found', 'The app-proxy does not have this path for POST.') }
  await expect(call()).rejects.toMatchObject({ code: 'not-supported', hint: expect.stringContaining('gitops upgrade') })
})

test('an answer of the runtime does not take the memory of the server, whatever it is (W102)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const runtime = await connectRuntime(scene)
  const { applications } = scene.admin
  const refused = (message: string) => ({ code: 'router-broken', message: expect.stringContaining(message) })
  for (const [text, message] of [
    [`{"items":[${'{},'.repeat(300_000)}{}]}`, 'more than 200,000 fields'],
    [`{"items":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 'inside each other'],
    [`{"items":[${'{},'.repeat(50_000)}{}]}`, 'is not valid'],
    [`{"items":"${'x'.repeat(16_777_216)}"}`, 'longer than 16 MiB'],
  ] as const) {
    runtime.answer = { status: 200, text }
    await expect(applications.tree('prod/argocd/shop')).rejects.toMatchObject(refused(message))
  }
  const rest = Promise.withResolvers<void>()
  runtime.rest = rest.promise
  runtime.answer = { status: 200, body: { ...NOW, items: [] } }
  const live = Array.from({ length: 16 }, () => applications.live('prod/argocd/shop'))
  const calls: Promise<unknown>[] = [...live, applications.tree('prod/argocd/shop')]
  expect(await Promise.race(calls.map((call) => call.catch((error: unknown) => error)))).toMatchObject({ code: 'rate-limited' })
  rest.resolve()
  expect((await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(await applications.live('prod/argocd/shop')).toMatchObject({ name: 'shop' })
})

test('a runtime without a connection, and a server without tunnels, say so (W106)', async () => {
  for (const options of [{ tunnels: TUNNELS }, {}]) {
    await using scene = await openHttpScene(options)
    await scene.admin.gitopsRuntimes.createToken('prod')
    await report(scene.server.app, { data: event(argoApplication('shop'), Date.now()) })
    await expect(scene.admin.applications.live('prod/argocd/shop')).rejects.toMatchObject({
      code: 'tunnel-offline',
      message: options.tunnels === undefined ? expect.stringContaining('no tunnels') : 'The GitOps runtime is not connected.',
    })
  }
})
