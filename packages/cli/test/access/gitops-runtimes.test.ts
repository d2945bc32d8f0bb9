/** The registration of GitOps runtimes at a real server: what an installation keeps, refuses and undoes. */
import { appProxyCalls } from '@windlass/client/app-proxy'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { checkKey } from '../../src/gitops/checks.ts'
import { windlass } from '../windlass.ts'
import { ensureRuntimeToken, type Registration } from '../../src/gitops/runtime-token.ts'
import { openTokenStore, type StoredToken, type TokenStore } from '../../src/gitops/token-secret.ts'
import { openObjectApi } from '../fakes/object-api.ts'

const SERVER = 'https://windlass.example.com'
const OWNER = { runtime: 'prod', server: SERVER }
const TUNNELS = { domain: 'tunnels.test', port: 0 } as const

function openStore(): TokenStore & { stored: StoredToken | undefined } {
  return {
    name: 'codefresh-token',
    stored: undefined,
    async read() {
      return this.stored
    },
    async write(values) {
      this.stored = values
      return true
    },
    copy: () => expect.unreachable('no Secret of another installation'),
  }
}

test('a registration keeps a valid token, replaces an invalid one, and keeps the text of the key (O003)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const { admin, server } = scene
  const store = openStore()
  const ask: Registration = { client: admin, store, runtime: 'prod', server: SERVER, needsTunnel: true, recover: false }
  const url = `https://${server.app.accountId}-prod.tunnels.test`
  expect(await ensureRuntimeToken(ask)).toEqual({ accountId: server.app.accountId, url, isNew: true })
  const first = store.stored
  expect(first?.iv).toMatch(/^[\w+/]{32}$/)
  expect(await ensureRuntimeToken(ask)).toEqual({ accountId: server.app.accountId, url, isNew: false })
  expect(store.stored).toEqual(first)
  // Another namespace has no token of it, and this one has none any more.
  await expect(ensureRuntimeToken({ ...ask, store: openStore() })).rejects.toMatchObject({
    code: 'conflict',
    hint: expect.stringContaining('--recover'),
  })
  store.stored = { token: `${'0'.repeat(24)}.${'x'.repeat(43)}`, iv: first?.iv, owner: OWNER }
  await expect(ensureRuntimeToken(ask)).rejects.toMatchObject({ code: 'conflict' })
  expect(await ensureRuntimeToken({ ...ask, recover: true })).toMatchObject({ isNew: true })
  expect(store.stored).toMatchObject({ iv: first?.iv, owner: OWNER })
  expect(store.stored?.token).not.toBe(first?.token)
  expect((await admin.gitopsRuntimes.tokens('prod')).items).toHaveLength(2)
})

test('a registration that fails leaves neither a runtime nor a token (O003)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const { admin } = scene
  const ask: Registration = {
    client: admin,
    store: openStore(),
    runtime: 'prod',
    server: SERVER,
    needsTunnel: true,
    recover: false,
  }
  await expect(ensureRuntimeToken({ ...ask, accountId: 'f'.repeat(24) })).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining('belongs to the account'),
  })
  const broken: TokenStore = {
    ...openStore(),
    read: async () => undefined,
    write: () => Promise.reject(new Error('the cluster is away')),
  }
  await expect(ensureRuntimeToken({ ...ask, store: broken })).rejects.toThrow('the cluster is away')
  expect((await admin.tunnels.list()).items).toEqual([])
  await ensureRuntimeToken(ask)
  await expect(ensureRuntimeToken({ ...ask, store: broken, recover: true })).rejects.toThrow('the cluster is away')
  expect((await admin.gitopsRuntimes.tokens('prod')).items).toHaveLength(1)
})

test('processes that register at the same time get one token and one text of the key', async () => {
  await using scene = await openHttpScene()
  await using cluster = await openObjectApi()
  const { admin, server } = scene
  const together = openBarrier(3)
  const register = async (): Promise<unknown> => {
    const store = openTokenStore(cluster.kube, 'ci', 'app-proxy-token')
    let isFirst = true
    const read: TokenStore['read'] = async () => {
      const found = await store.read()
      if (isFirst) await together()
      isFirst = false
      return found
    }
    await ensureRuntimeToken({
      client: admin,
      store: { ...store, read },
      runtime: 'prod',
      server: server.url,
      needsTunnel: false,
      recover: true,
    })
    return cluster.objects.get('secrets/app-proxy-token')?.['data']
  }
  const [first, ...others] = await Promise.all([register(), register(), register()])
  // The Secret has two keys.
  const { token, encryptionIV } = first as Record<string, string>
  expect(others).toEqual([first, first])
  expect(encryptionIV).toBeDefined()
  const runtimeToken = Buffer.from(token ?? '', 'base64').toString()
  expect(await appProxyCalls(admin).access('prod', { runtimeToken })).toMatchObject({ accountId: server.app.accountId })
  expect((await admin.gitopsRuntimes.tokens('prod')).items).toHaveLength(1)
})

/** Returns a function that resolves when it was called `count` times. */
function openBarrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = count
  return () => {
    left -= 1
    if (left === 0) resolve()
    return promise
  }
}

test('a server without a domain has runtimes with an Ingress only', async () => {
  await using scene = await openHttpScene()
  const ask: Registration = {
    client: scene.admin,
    store: openStore(),
    runtime: 'prod',
    server: SERVER,
    needsTunnel: true,
    recover: false,
  }
  await expect(ensureRuntimeToken(ask)).rejects.toMatchObject({ hint: expect.stringContaining('WINDLASS_SERVER_TUNNEL_DOMAIN') })
  expect(await ensureRuntimeToken({ ...ask, needsTunnel: false })).toMatchObject({ url: undefined, isNew: true })
})

test('a key that may not register runtimes is a finding that says why (O003)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  expect(await checkKey(admin)).toMatchObject({ status: 'pass' })
  const viewer = await admin.keys.create({ name: 'viewer', role: 'viewer' })
  expect(await checkKey(nobody.withToken(viewer.token))).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('lacks the role admin'),
  })
  const limited = await admin.keys.create({ name: 'limited', role: 'admin', scopes: ['gitops:read'] })
  expect(await checkKey(nobody.withToken(limited.token))).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('lacks the scopes gitops:write'),
  })
  expect(await checkKey(nobody.withToken('wrong'))).toMatchObject({ status: 'fail' })
})

test('a runtime whose cluster does not exist any more is removed from the server alone, and again without harm', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  await scene.admin.gitopsRuntimes.createToken('prod')
  const remove = ['gitops', 'uninstall', 'prod', '--platform-only']
  expect(await windlass(scene, remove)).toMatchObject({ code: 0, text: 'gitops-runtime/prod deleted\n' })
  expect(await windlass(scene, remove)).toMatchObject({ code: 0, text: 'gitops-runtime/prod was already deleted\n' })
  expect((await scene.admin.tunnels.list()).items).toEqual([])
})

test('names and options that cannot be installed are refused before the cluster is asked', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const install = (...words: string[]): Promise<{ readonly code: number; readonly text: string }> =>
    windlass(scene, ['gitops', 'install', ...words])
  expect(await install('Prod')).toMatchObject({
    code: 2,
    text: expect.stringContaining('"Prod" is not the name of a GitOps runtime'),
  })
  expect(await install('prod', '--ingress-class', 'nginx')).toMatchObject({
    code: 2,
    text: expect.stringContaining('needs --ingress-host'),
  })
  expect(await install('prod', '--set-value', 'nothing')).toMatchObject({
    code: 2,
    text: expect.stringContaining('takes NAME=VALUE'),
  })
  expect(await install('prod', '--values', '/nowhere/values.yaml')).toMatchObject({ code: 3 })
  expect((await scene.admin.tunnels.list()).items).toEqual([])
})
