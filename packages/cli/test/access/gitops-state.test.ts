/** The token Secret and the state of a GitOps runtime beside those of other installations: what is used, replaced, removed and kept. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '@windlass/kube'
import { expect, onTestFinished, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { readSettings, type Settings } from '../../src/config.ts'
import { readState, removeApplications, removeState } from '../../src/gitops/remove-state.ts'
import { ensureRuntimeToken, type Registration } from '../../src/gitops/runtime-token.ts'
import { openTokenStore } from '../../src/gitops/token-secret.ts'
import { deleteGitopsRuntime } from '../../src/in-cluster/gitops/delete.ts'
import { registerGitopsRuntime } from '../../src/in-cluster/gitops/register.ts'
import { openPrinter, type Printer } from '../../src/printer.ts'
import { openObjectApi, type ObjectApi } from '../fakes/object-api.ts'
import { Collected } from '../windlass.ts'

const TUNNELS = { domain: 'tunnels.test', port: 0 } as const
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const object = (kind: string, name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'ci', labels },
})
/** What another product has in the namespace. */
const FOREIGN = {
  ...object('Secret', 'codefresh-token'),
  data: { token: base64('foreign-token'), encryptionIV: base64('x'.repeat(24)) },
}
const INTEGRATION = object('ConfigMap', 'git-integration-default', { 'io.codefresh.integration-type': 'git' })
const CLUSTER = object('Secret', 'cluster-staging', { 'windlass.io/managed-cluster': 'staging' })
const OWN_APPLICATION = object('Application', 'prod-isc', { 'codefresh.io/entity': 'internal-config' })
const leftover = (kind: string, chart: string): KubeObject =>
  object(kind, 'validate-values', { 'app.kubernetes.io/part-of': chart })

function collect(): { readonly out: Printer; text(): string } {
  const [stdout, stderr] = [new Collected(), new Collected()]
  return { out: openPrinter(readSettings({ NO_COLOR: '1' }), { stdout, stderr }), text: () => stdout.text() + stderr.text() }
}

function registration({ admin, server }: HttpScene, { kube }: ObjectApi): Registration {
  const store = openTokenStore(kube, 'ci')
  return { client: admin, store, runtime: 'prod', server: server.url, needsTunnel: true, recover: false }
}

/** Settings of the hooks of the chart of `prod`, with an API key. */
async function hookSettings({ server }: HttpScene, key: string, more: Record<string, string> = {}): Promise<Settings> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-hook-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key')
  await writeFile(file, key)
  return readSettings({
    WINDLASS_GITOPS_HOOK_SERVER_URL: server.url,
    WINDLASS_GITOPS_HOOK_RUNTIME: 'prod',
    WINDLASS_GITOPS_HOOK_ACCOUNT_ID: server.app.accountId,
    WINDLASS_GITOPS_HOOK_TOKEN_PATH: file,
    WINDLASS_GITOPS_HOOK_SECRET: 'codefresh-token',
    ...more,
  })
}

/** Runs the hook before a removal. Resolves to what it prints. */
async function runHook(scene: HttpScene, { kube }: ObjectApi, key: string): Promise<string> {
  const { out, text } = collect()
  await deleteGitopsRuntime(await hookSettings(scene, key), out, kube)
  return text()
}

const runtimes = async ({ admin }: HttpScene): Promise<string[]> =>
  (await admin.tunnels.list()).items.map(({ runtime }) => runtime)

test('a token of another installation is a conflict and is not sent; with --recover a copy of its Secret stays (O003)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  await using cluster = await openObjectApi()
  cluster.add('secrets', FOREIGN)
  const ask = registration(scene, cluster)
  // A client that cannot send anything.
  const silent = new Proxy(scene.admin, { get: () => expect.unreachable('a call of the server') })
  await expect(ensureRuntimeToken({ ...ask, client: silent })).rejects.toMatchObject({
    code: 'conflict',
    message: 'The Secret codefresh-token of the namespace has a token of an unknown installation. It was not used.',
    hint: expect.stringContaining('--recover'),
  })
  expect(cluster.objects.get('secrets/codefresh-token')).toEqual(FOREIGN)
  const { isNew, replaced } = await ensureRuntimeToken({ ...ask, recover: true })
  expect([isNew, replaced]).toEqual([true, expect.stringMatching(/^codefresh-token-replaced-[0-9a-f]{10}$/)])
  expect(cluster.objects.get(`secrets/${replaced}`)).toMatchObject({ data: FOREIGN.data })
  expect(await ensureRuntimeToken(ask)).toMatchObject({ isNew: false })
  // The token of this runtime is one of another installation for a second runtime, and for another server.
  for (const other of [{ runtime: 'dev' }, { server: 'https://other.example.com' }])
    await expect(ensureRuntimeToken({ ...ask, ...other, client: silent })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`the GitOps runtime "prod" at ${scene.server.url}`),
    })
})

test('the hook before an installation tells the server the URL of the runtime, also of one that need not answer yet (O004)', async () => {
  await using scene = await openHttpScene()
  await using cluster = await openObjectApi()
  const register = async (access: string, more: Record<string, string> = {}): Promise<void> => {
    const url = { WINDLASS_GITOPS_HOOK_URL: `http://127.0.0.1:1/${access}`, WINDLASS_GITOPS_HOOK_ACCESS: access }
    await registerGitopsRuntime(await hookSettings(scene, scene.adminToken, { ...url, ...more }), collect().out, cluster.kube)
  }
  await expect(register('ingress')).rejects.toMatchObject({ message: expect.stringContaining('does not answer') })
  expect((await scene.admin.gitopsRuntimes.list()).items).toEqual([])
  await register('httproute', { WINDLASS_GITOPS_HOOK_SKIP_VALIDATION: 'true' })
  const shown = async (): Promise<unknown> => (await scene.admin.gitopsRuntimes.get('prod')).installation
  expect(await shown()).toMatchObject({ accessMode: 'INGRESS', ingressUrl: 'http://127.0.0.1:1/httproute' })
  // What something else leads to is not asked.
  cluster.objects.clear()
  await scene.admin.gitopsRuntimes.delete('prod')
  await register('url')
  expect(await shown()).toMatchObject({ accessMode: 'INGRESS', ingressUrl: 'http://127.0.0.1:1/url' })
})

test('a removal keeps the state of another installation, and says so', async () => {
  await using cluster = await openObjectApi()
  const { kube, objects } = cluster
  const foreign = [
    ['secrets', FOREIGN],
    ['configmaps', INTEGRATION],
    ['secrets', CLUSTER],
  ] as const
  for (const [plural, one] of foreign) cluster.add(plural, one)
  cluster.add('jobs', leftover('Job', 'gitops-runtime'))
  const store = openTokenStore(kube, 'ci')
  const place = { store, namespace: 'ci', runtime: 'prod', servers: ['https://ci.example.com'], hasRelease: true }
  const kept = collect()
  await removeState(kube, 'ci', await readState(kube, place), kept.out)
  expect(objects.size).toBe(4)
  expect(kept.text()).toContain(
    'Kept: integrations, Git tokens and the Secret codefresh-token of ci, which has a token of an unknown',
  )
  cluster.add('applications', OWN_APPLICATION)
  await removeApplications(kube, { namespace: 'ci', runtime: 'prod' }, { isOwn: false }, kept.out)
  expect(objects.has('applications/prod-isc')).toBe(true)
  // Without a token, only a release says whose the rest is.
  objects.delete('secrets/codefresh-token')
  const unknown = await readState(kube, { ...place, hasRelease: false })
  expect(unknown).toMatchObject({ isOwn: false })
  const left = collect()
  await removeState(kube, 'ci', unknown, left.out)
  expect(left.text()).toContain('because neither a release nor a token says whose they are')
  expect(await readState(kube, place)).toMatchObject({ isOwn: true })
})

test('a removal deletes the own state and the leftovers of a failed hook, and names the Secrets of managed clusters', async () => {
  await using cluster = await openObjectApi()
  const { kube, objects } = cluster
  const store = openTokenStore(kube, 'ci')
  await store.write({ token: 'a', iv: 'b', owner: { runtime: 'prod', server: 'https://ci.example.com/' } }, undefined)
  cluster.add('configmaps', INTEGRATION)
  cluster.add('secrets', CLUSTER)
  const internal = { 'app.kubernetes.io/managed-by': 'windlass', 'codefresh.io/internal': 'true' }
  cluster.add('secrets', object('Secret', 'codefresh-token-replaced-0123456789', internal))
  const kinds = { secrets: 'Secret', serviceaccounts: 'ServiceAccount', roles: 'Role', rolebindings: 'RoleBinding', jobs: 'Job' }
  for (const [plural, kind] of Object.entries(kinds)) cluster.add(plural, leftover(kind, 'windlass-gitops-runtime'))
  const place = { store, namespace: 'ci', runtime: 'prod', servers: ['https://ci.example.com'], hasRelease: false }
  const done = collect()
  await removeState(kube, 'ci', await readState(kube, place), done.out)
  expect([...objects.keys()].toSorted()).toEqual(['secrets/cluster-staging', 'secrets/codefresh-token-replaced-0123456789'])
  expect(done.text()).toContain('`kubectl --namespace ci delete secrets codefresh-token-replaced-0123456789`')
  expect(done.text()).toContain(
    'cluster-staging. Remove them with `kubectl --namespace ci delete secrets --selector windlass.io/managed-cluster`.',
  )
})

test('the hook before a removal deletes the runtime of its token only, not one that another cluster has now (O004)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  await using lost = await openObjectApi()
  await using current = await openObjectApi()
  await ensureRuntimeToken(registration(scene, lost))
  await scene.admin.gitopsRuntimes.delete('prod')
  await ensureRuntimeToken(registration(scene, current))
  expect(await runHook(scene, lost, scene.adminToken)).toContain(
    'The server keeps the runtime prod: the token of the Secret codefresh-token is not one of it.',
  )
  expect([await runtimes(scene), lost.objects.size]).toEqual([['prod'], 0])
  // After a refused installation there is no token at all.
  expect(await runHook(scene, lost, scene.adminToken)).toContain('the Secret codefresh-token has no token of it')
  expect(await runtimes(scene)).toEqual(['prod'])
  current.add('applications', OWN_APPLICATION)
  expect(await runHook(scene, current, scene.adminToken)).toBe(
    'runtime prod: removed\napplication/prod-isc deleted; its objects stay\n',
  )
  expect([await runtimes(scene), current.objects.size]).toEqual([[], 0])
})

test('the hook before a removal names the runtime that a key may not remove', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const viewer = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' })
  const limited = await scene.admin.keys.create({ name: 'limited', role: 'admin', scopes: ['gitops:read'] })
  for (const key of ['wrong', viewer.token, limited.token]) {
    await using cluster = await openObjectApi()
    await ensureRuntimeToken({ ...registration(scene, cluster) })
    expect(await runHook(scene, cluster, key)).toMatch(/^The server keeps the runtime prod: .*--platform-only/)
    expect(await runtimes(scene)).toEqual(['prod'])
    await scene.admin.gitopsRuntimes.delete('prod')
  }
})
