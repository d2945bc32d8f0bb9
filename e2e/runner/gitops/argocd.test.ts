/** Applications on a real Argo CD, operated by users through the app-proxy, and reported to the server. */
import { proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { startTunnelClient } from '@windlass/tunnel/client'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { browse, signIn } from '../../../packages/server/test/support/browser.ts'
import { ensureImages } from '../../support/images.ts'
import { ApplicationShape } from '../../../packages/gitops/src/application-shape.ts'
import { openFromGit } from './argocd-from-git.ts'
import { openArgoScene, type ArgoScene } from './argocd-scene.ts'
import { reportRuntime } from './start-reporter.ts'
import { runSyncStep } from './sync-step.ts'

let scene: ArgoScene
let image = ''
beforeAll(async () => {
  image = (await ensureImages('shell'))['SHELL_IMAGE'] ?? ''
  scene = await openArgoScene()
})
afterAll(() => scene?.[Symbol.asyncDispose]())

const configMap = (name: string, data: Readonly<Record<string, string>>, annotations = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${annotations}data: ${JSON.stringify(data)}\n`
const deployment = (name: string, replicas: number): string =>
  `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{ name: main, image: "${image}", command: [sh, -c, 'echo ${name} listens; exec sleep 3600'] }]
`

/** Replaces what differs between two runs. */
const fixed = (text: string): string =>
  text
    .replaceAll(scene.target, 'SHOP')
    .replaceAll(scene.namespace, 'ARGOCD')
    .replaceAll(/http:\/\/[\d.]+:\d+/g, 'http://git')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID')
    .replaceAll(/\b[0-9a-f]{40}\b/g, 'COMMIT')
    .replaceAll(/\b[0-9a-f]{12}\b/g, 'COMMIT')
    // The names that Kubernetes generates have no vowels.
    .replaceAll(/-[2-9bcdf-hj-np-tv-xz]{5,10}(-[2-9bcdf-hj-np-tv-xz]{5})?\b/g, '-HASH')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*/g, 'TIME')
    .replaceAll(/\b\d+(?:\.\d+)? ?(?:ms|s|m|min)\b/g, 'AGE')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')

const valueOf = async (name: string): Promise<unknown> =>
  (await scene.cluster.kube.find({ kind: 'ConfigMap', namespace: scene.target, name }))?.['data']

/** Starts a reporter of the runtime. */
function reportApplications(): Promise<AsyncDisposable> {
  const { http, runtimeToken: token, namespace, cluster } = scene
  return reportRuntime({ http, kube: cluster.kube, token, namespace })
}

test('an application is synced from Git with the options of its user, and the reporter shows it at the server (O040, O058, O059)', async () => {
  await scene.push({
    'shop/settings.yaml': configMap('settings', { level: 'low' }),
    'shop/api.yaml': deployment('api', 1),
  })
  await scene.create('shop', { syncPolicy: { syncOptions: ['PruneLast=true'] } })
  await scene.until('shop', ({ status }) => status?.sync?.status === 'OutOfSync')
  expect(fixed((await scene.app('list')).text)).toMatchInlineSnapshot(`
    "NAME  PROJECT  HEALTH  SYNC  REVISION  OPERATION  DESTINATION
    shop  default  missing  out-of-sync  COMMIT  https://kubernetes.default.svc/SHOP
    "
  `)
  // What an operation asks of Argo CD, as it took it.
  const options = '--option CreateNamespace=true --option Validate=false --option PruneLast=false'
  const matrix = await scene.app(`sync shop --dry-run --prune --force --apply-only ${options} --retry-limit 2 --wait`)
  expect(fixed(matrix.text)).toMatchInlineSnapshot(`
    "application/shop succeeded in AGE (by admin): successfully synced (no more tasks)
      ConfigMap/SHOP/settings Synced: configmap/settings created (dry run)
      Deployment/SHOP/api Synced: deployment.apps/api created (dry run)
    "
  `)
  const { status } = await scene.until('shop', ({ operation }) => operation === undefined)
  expect(status?.operationState?.operation).toEqual({
    initiatedBy: { username: 'admin' },
    retry: { limit: 2, backoff: { duration: '5s', factor: 2, maxDuration: '3m' } },
    sync: {
      source: expect.objectContaining({ path: 'shop' }),
      revision: 'main',
      prune: true,
      dryRun: true,
      syncStrategy: { apply: { force: true } },
      syncOptions: ['CreateNamespace=true', 'Validate=false', 'PruneLast=false'],
    },
  })
  expect(await valueOf('settings')).toBeUndefined()
  const synced = await scene.app('sync shop --wait')
  expect([synced.code, fixed(synced.text)]).toMatchInlineSnapshot(`
    [
      0,
      "application/shop succeeded in AGE (by admin): successfully synced (all tasks run)
      ConfigMap/SHOP/settings Synced: configmap/settings created
      Deployment/SHOP/api Synced: deployment.apps/api created
    ",
    ]
  `)
  await scene.until('shop', ({ status: now }) => now?.health?.status === 'Healthy' && now.sync?.status === 'Synced')
  expect(fixed((await scene.app('get shop')).text)).toMatchInlineSnapshot(`
    "Application:  shop
    Project:  default
    Health:  healthy
    Sync:  synced
    Revision:  COMMIT
    Last sync:  succeeded in AGE (by admin): successfully synced (all tasks run)
    Source:  http://git/acme/deploy.git shop at main
    Destination:  https://kubernetes.default.svc/SHOP
    Created:  TIME (AGE ago)

    OBJECT  HEALTH  SYNC  MESSAGE
    ConfigMap/SHOP/settings  synced
    Deployment/SHOP/api  synced

    DEPLOYMENT  REVISION  AGE  BY
    0  COMMIT  AGE  admin
    "
  `)

  await using _reporter = await reportApplications()
  const shown = async (): Promise<string> => fixed((await windlass(scene.http, ['get', 'applications'])).text)
  await expect.poll(shown, { timeout: 60_000, interval: 200 }).toContain('healthy')
  expect(await shown()).toMatchInlineSnapshot(`
    "RUNTIME  NAMESPACE  NAME  PROJECT  HEALTH  SYNC  REVISION  SINCE  AGE  WHY
    prod  ARGOCD  shop  default  healthy  synced  COMMIT  AGE  AGE
    "
  `)
  await scene.create('brief', { source: { repoURL: 'https://git.test/none.git', path: 'x', targetRevision: 'main' } })
  await expect.poll(shown, { timeout: 60_000, interval: 200 }).toContain('brief')
  expect((await scene.app('delete brief --cascade none --yes')).text).toBe('application/brief deleted\n')
  await expect.poll(shown, { timeout: 60_000, interval: 200 }).not.toContain('brief')
})

test('what differs is shown, and only the selected objects are synced (O041)', async () => {
  await scene.push({ 'shop/settings.yaml': configMap('settings', { level: 'high' }), 'shop/api.yaml': deployment('api', 2) })
  const diff = await scene.app('diff shop --refresh')
  expect([diff.code, fixed(diff.text)]).toMatchInlineSnapshot(`
    [
      1,
      "--- ConfigMap/SHOP/settings (cluster)
    +++ ConfigMap/SHOP/settings (source)
    @@ -1,6 +1,6 @@
     apiVersion: v1
     data:
    -  level: low
    +  level: high
     kind: ConfigMap
     metadata:
      annotations:
    --- Deployment/SHOP/api (cluster)
    +++ Deployment/SHOP/api (source)
    @@ -13,7 +13,7 @@
      uid: UID
     spec:
      progressDeadlineSeconds: 600
    -  replicas: 1
    +  replicas: 2
      revisionHistoryLimit: 10
      selector:
      matchLabels:
    ",
    ]
  `)
  const missing = await scene.app('sync shop --resource Secret/*/none')
  expect([missing.code, missing.text]).toEqual([3, expect.stringContaining('has no object "Secret/*/none"')])
  const synced = await scene.app('sync shop --resource ConfigMap/*/set* --wait')
  expect([synced.code, fixed(synced.text)]).toMatchInlineSnapshot(`
    [
      0,
      "application/shop succeeded in AGE (by admin): successfully synced (all tasks run)
      ConfigMap/SHOP/settings Synced: configmap/settings configured
    ",
    ]
  `)
  expect(await valueOf('settings')).toEqual({ level: 'high' })
  const left = await scene.app('diff shop')
  expect(left.text).toContain('Deployment')
  expect(left.text).not.toContain('ConfigMap')
})

test('a browser reads and syncs an application through the server and the tunnel of the runtime (W102, W104, W105)', async () => {
  const { http, namespace, target } = scene
  const folder = await mkdtemp(join(tmpdir(), 'windlass-argo-tunnel-'))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, scene.runtimeToken)
  const client = startTunnelClient({
    server: new URL(`http://localhost:${http.server.tunnelPort}`),
    runtime: 'prod',
    tokenFile,
    router: new URL(scene.proxyUrl),
    prefixes: ['/app-proxy'],
    version: '1.2.3',
    proxy: proxyFrom({}),
    clock: systemClock,
    log: silentLog,
  })
  onTestFinished(async () => {
    await client.close()
    await rm(folder, { recursive: true })
  })
  await expect.poll(() => client.status().isOnline, { timeout: 60_000 }).toBe(true)
  await http.admin.users.create({ name: 'dana', role: 'developer', password: 'correct horse battery' })
  const cookie = await signIn(http, { name: 'dana', password: 'correct horse battery' })
  const path = `/v1/applications/${encodeURIComponent(`prod/${namespace}/shop`)}`
  await scene.push({
    'shop/settings.yaml': configMap('settings', { level: 'higher' }),
    'shop/login.yaml': `apiVersion: v1\nkind: Secret\nmetadata: { name: login }\nstringData: { password: hunter2 }\n`,
  })
  const refreshed = await browse(http, 'POST', `${path}/refresh`, { cookie, body: { hard: true } })
  expect([refreshed.status, refreshed.body['sync']]).toEqual([200, 'out-of-sync'])
  const diff = await browse(http, 'GET', `${path}/diff`, { cookie })
  expect(diff.status).toBe(200)
  const shown = JSON.stringify(diff.body)
  expect(shown).toContain('higher')
  expect(shown).toContain('"kind":"Secret"')
  for (const value of ['hunter2', Buffer.from('hunter2').toString('base64')]) expect(shown).not.toContain(value)
  const tree = await browse(http, 'GET', `${path}/tree`, { cookie })
  expect(tree.body['items']).toEqual(expect.arrayContaining([expect.objectContaining({ kind: 'Pod', namespace: target })]))
  const resources = [{ kind: 'ConfigMap', namespace: target, name: 'settings' }]
  const synced = await browse(http, 'POST', `${path}/sync`, { cookie, body: { resources } })
  expect([synced.status, synced.body['isBusy']]).toEqual([200, true])
  const operation = async (): Promise<unknown> => (await browse(http, 'GET', `${path}/live`, { cookie })).body['operation']
  await expect.poll(operation, { timeout: 60_000, interval: 200 }).toMatchObject({ phase: 'succeeded', by: 'dana' })
  expect(await valueOf('settings')).toEqual({ level: 'higher' })
  // The next tests begin with the state before this one.
  await scene.push({ 'shop/settings.yaml': configMap('settings', { level: 'high' }), 'shop/login.yaml': undefined })
  await http.admin.applications.refresh(`prod/${namespace}/shop`)
  await http.admin.applications.sync(`prod/${namespace}/shop`, { resources })
  await expect
    .poll(async () => (await http.admin.applications.live(`prod/${namespace}/shop`)).isBusy, { timeout: 60_000 })
    .toBe(false)
  expect(await valueOf('settings')).toEqual({ level: 'high' })
})

test('a refresh compares again, a hard one also loads the manifests again (O043)', async () => {
  const seen: unknown[] = []
  const stopped = new AbortController()
  const watching = (async () => {
    const selection = { kind: 'Application', namespace: scene.namespace, fields: 'metadata.name=shop' } as const
    for await (const change of scene.cluster.kube.watch(selection, { signal: stopped.signal }))
      if (change.type === 'set') seen.push(change.object.metadata.annotations?.['argocd.argoproj.io/refresh'])
  })()
  expect((await scene.app('refresh shop')).text).toBe('application/shop refreshed: healthy, out-of-sync\n')
  expect((await scene.app('refresh shop --hard')).text).toBe('application/shop refreshed: healthy, out-of-sync\n')
  const last = await scene.until('shop', ({ metadata }) => metadata.annotations?.['argocd.argoproj.io/refresh'] === undefined)
  expect(last.status?.sync?.status).toBe('OutOfSync')
  stopped.abort()
  await watching
  expect(seen).toEqual(expect.arrayContaining(['normal', 'hard']))
})

test('objects are shown as a tree with their logs and events, as Argo CD has them (O047)', async () => {
  const synced = await scene.app('sync shop --wait')
  expect(synced.code, synced.text).toBe(0)
  await scene.until('shop', ({ status }) => status?.health?.status === 'Healthy' && status.sync?.status === 'Synced')
  const tree = await scene.app('tree shop')
  expect(fixed(tree.text)).toMatchInlineSnapshot(`
    "OBJECT  HEALTH  AGE  DETAILS
    ConfigMap/SHOP/settings  AGE
    Deployment/SHOP/api  healthy  AGE  Revision: Rev:1
      ReplicaSet/SHOP/api-HASH  healthy  AGE  Revision: Rev:1
      Pod/SHOP/api-HASH  healthy  AGE  Status Reason: Running, Node: node1, Containers: 1/1, cpu: 0, memory: 0
      Pod/SHOP/api-HASH  healthy  AGE  Status Reason: Running, Node: node1, Containers: 1/1, cpu: 0, memory: 0
    "
  `)
  const headers = { authorization: `Bearer ${scene.argo.token}` }
  const answer = await fetch(`${scene.argo.url}/api/v1/applications/shop/resource-tree`, { headers })
  const { nodes } = (await answer.json()) as { nodes: { kind: string; name: string }[] }
  expect(tree.text.trim().split('\n')).toHaveLength(nodes.length + 1)
  const pod = nodes.find(({ kind }) => kind === 'Pod')?.name ?? ''
  // A pod is ready before its log is read, and events are written after what they tell of.
  await expect.poll(() => scene.app(`logs shop ${scene.target}/${pod}`)).toEqual({ code: 0, text: 'api listens\n' })
  await expect
    .poll(async () => (await scene.app(`events shop Deployment/${scene.target}/api`)).text)
    .toMatch(/ScalingReplicaSet .*Scaled up replica set api-\w+/)
  await expect.poll(async () => (await scene.app('events shop')).text).toContain('OperationCompleted')
})

test('a rollback applies an earlier deployment, unless Argo CD syncs automatically (O044)', async () => {
  const { kube } = scene.cluster
  const ref = { kind: 'Application', namespace: scene.namespace, name: 'shop' } as const
  await kube.patch(ref, { spec: { syncPolicy: { automated: { enabled: true } } } })
  const refused = await scene.app('rollback shop')
  expect([refused.code, refused.text]).toEqual([
    1,
    expect.stringContaining('Argo CD syncs the application "shop" automatically, and would undo a rollback.'),
  ])
  await kube.patch(ref, { spec: { syncPolicy: { automated: null } } })
  const unknown = await scene.app('rollback shop --id 77')
  expect([unknown.code, unknown.text]).toEqual([3, expect.stringContaining('has no deployment 77. It has 0, 1.')])
  const done = await scene.app('rollback shop --id 0 --wait')
  expect([done.code, fixed(done.text)]).toMatchInlineSnapshot(`
    [
      0,
      "application/shop succeeded in AGE (by admin): successfully synced (all tasks run)
      ConfigMap/SHOP/settings Synced: configmap/settings configured
      Deployment/SHOP/api Synced: deployment.apps/api configured
    ",
    ]
  `)
  expect(await valueOf('settings')).toEqual({ level: 'low' })
})

test('the public sync step syncs an application, and rolls back to the last healthy deployment if it is not healthy (O087)', async () => {
  const { http, namespace } = scene
  await using _reporter = await reportApplications()
  const installation = { namespace, ingressUrl: scene.proxyUrl }
  await http.admin.gitopsRuntimes.createToken('prod', { installation })
  const step = { url: http.server.url, token: http.adminToken, runtime: 'prod', application: 'step', intervalMs: 500 }
  const deployments = async (): Promise<string[]> => {
    const { items } = await http.admin.applications.deployments(`prod/${namespace}/step`)
    return items.map(({ id, health }) => `${id} ${health}`)
  }
  const first = await scene.push({ 'step/api.yaml': deployment('step', 1) })
  await scene.create('step')
  await scene.until('step', ({ status }) => status?.sync?.status === 'OutOfSync')
  expect(await runSyncStep({ ...step, checks: 120 })).toEqual({ health: 'HEALTHY', sync: 'SYNCED', rolledBackTo: undefined })
  await expect.poll(deployments, { timeout: 60_000, interval: 200 }).toEqual(['0 healthy'])
  // Its pod never becomes ready. One that only ends would be ready, and its application healthy, while its program starts.
  const unready = deployment('step', 1).replace('command:', 'readinessProbe: { tcpSocket: { port: 1 } }, command:')
  await scene.push({ 'step/api.yaml': unready })
  expect((await scene.app('refresh step')).text).toBe('application/step refreshed: healthy, out-of-sync\n')
  expect(await runSyncStep({ ...step, checks: 12 })).toMatchObject({ health: 'HEALTHY', rolledBackTo: 0 })
  const { status } = await scene.until('step', ({ operation }) => operation === undefined)
  expect(status?.operationState?.operation.sync).toMatchObject({ revision: first, prune: true })
  await expect
    .poll(deployments, { timeout: 60_000, interval: 200 })
    .toEqual(['2 healthy', expect.stringMatching(/^1 (progressing|degraded)$/), '0 healthy'])
  expect((await scene.app('delete step --yes')).code).toBe(0)
})

test('a sync that waits for its hook is ended, and others wait for it (O042)', async () => {
  const hook = `apiVersion: batch/v1
kind: Job
metadata: { name: slow, annotations: { argocd.argoproj.io/hook: PreSync } }
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{ name: main, image: "${image}", command: [sleep, '3600'] }]
`
  await scene.push({ 'slow/hook.yaml': hook, 'slow/config.yaml': configMap('slow', { a: 'b' }) })
  await scene.create('slow')
  await scene.until('slow', ({ status }) => status?.sync?.status === 'OutOfSync')
  expect((await scene.app('sync slow')).text).toBe('application/slow sync started\n')
  await scene.until('slow', ({ status }) => status?.operationState?.phase === 'Running')
  const second = await scene.app('sync slow')
  expect([second.code, second.text]).toEqual([
    1,
    expect.stringContaining('Another operation of the application "slow" is in progress.'),
  ])
  const ended = await scene.app('terminate slow --wait')
  expect([ended.code, fixed(ended.text)]).toMatchInlineSnapshot(`
    [
      0,
      "application/slow failed in AGE (by admin): Operation terminated
      Job/SHOP/slow PreSync Failed: Terminated
    ",
    ]
  `)
  const again = await scene.app('terminate slow')
  expect([again.code, again.text]).toEqual([1, expect.stringContaining('No operation of the application "slow" is in progress.')])
  expect(await valueOf('slow')).toBeUndefined()
})

test('a viewer changes nothing, and the account of the app-proxy reads nothing else in the cluster', async () => {
  const { admin } = scene.http
  await admin.users.create({ name: 'vera', role: 'viewer', password: 'correct horse battery' })
  const { token } = await admin.keys.create({ name: 'vera-key', role: 'viewer', owner: 'vera' })
  expect((await scene.app('list', token)).code).toBe(0)
  for (const words of ['sync shop', 'refresh shop', 'rollback shop', 'terminate shop', 'delete shop --yes']) {
    const refused = await scene.app(words, token)
    expect([words, refused.code, refused.text]).toEqual([
      words,
      4,
      expect.stringContaining('The right change-gitops is missing.'),
    ])
  }
  for (const kind of ['Pod', 'Deployment', 'ConfigMap'] as const)
    await expect(scene.proxyKube.list({ kind, namespace: scene.target })).rejects.toThrow(/forbidden/)
})

test('an object and an application with all its objects are deleted (O046)', async () => {
  const { target: namespace } = scene
  const uid = async (): Promise<unknown> =>
    (await scene.cluster.kube.find({ kind: 'ConfigMap', namespace, name: 'settings' }))?.metadata.uid
  expect(await uid()).toBeDefined()
  const removed = await scene.app(`delete-resource shop ConfigMap/${namespace}/settings`)
  expect([removed.code, removed.text]).toEqual([0, `ConfigMap/${namespace}/settings deleted\n`])
  await expect.poll(uid, { timeout: 60_000, interval: 200 }).toBeUndefined()
  const unsure = await scene.app('delete shop')
  expect([unsure.code, unsure.text]).toEqual([2, expect.stringContaining('Add --yes to delete it.')])
  expect((await scene.app('delete shop --yes')).text).toBe('application/shop deleted\n')
  const left = async (): Promise<string[]> => scene.cluster.names({ kind: 'Deployment', namespace })
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual([])
  await expect.poll(async () => (await scene.app('get shop')).code, { timeout: 60_000, interval: 500 }).toBe(3)
})

test('an application is created by a commit, applied by Argo CD, changed by another commit after its difference, and a delivery pipeline is applied too (O031, O035, O038, O039, O052)', async () => {
  const git = await openFromGit(scene)
  await git.write('shop', 'deploy/level.yaml', configMap('level', { level: 'low' }))
  await git.write('shop', 'deploy/level.yaml', configMap('level', { level: 'high' }), 'v2')
  const fields = `--repo ${git.forge.url}/ann/shop.git --path deploy --dest-namespace ${scene.target} --sync-policy automatic --self-heal`
  const created = await git.run(`app create level ${fields} --revision main --wait`)
  expect([created.code, fixed(created.text)]).toMatchInlineSnapshot(`
    [
      0,
      "application/level created
    The application "level" is synced.
    Commit on main: http://git/ann/apps/commit/COMMIT
    healthy, synced
    ",
    ]
  `)
  expect(await valueOf('level')).toEqual({ level: 'low' })
  const { metadata } = await scene.until('level', ({ status }) => status?.health?.status === 'Healthy')
  expect(metadata.annotations?.['argocd.argoproj.io/tracking-id']).toMatch(/^apps:/)

  const edited = await git.run('app edit level --revision v2 --sync-option PruneLast=true --yes --wait')
  expect([edited.code, fixed(edited.text)]).toMatchInlineSnapshot(`
    [
      0,
      "--- a/level.yaml
    +++ b/level.yaml
    @@ -8,10 +8,12 @@
      source:
      repoURL: http://git/ann/shop.git
      path: deploy
    -  targetRevision: main
    +  targetRevision: v2
      destination:
      server: https://kubernetes.default.svc
      namespace: SHOP
      syncPolicy:
      automated:
      selfHeal: true
    +  syncOptions:
    +  - PruneLast=true
    application/level changed
    The application "level" is synced.
    Commit on main: http://git/ann/apps/commit/COMMIT
    healthy, synced
    ",
    ]
  `)
  expect(await valueOf('level')).toEqual({ level: 'high' })
  const again = await git.run('app edit level --revision v2 --yes --wait')
  expect([again.code, again.text]).toEqual([
    0,
    'application/level unchanged\nThe application "level" is synced.\nhealthy, synced\n',
  ])

  const absent = await git.run('app edit level --path absent --yes --wait')
  expect([absent.code, absent.text]).toEqual([1, expect.stringContaining('absent: app path does not exist')])
  const wrong = await git.run('app edit shop --revision v2 --yes')
  expect(wrong).toMatchObject({
    code: 3,
    text: expect.stringContaining('No Git source of the runtime has the application "shop".'),
  })

  const { cluster, http, namespace, proxyUrl } = scene
  await http.admin.gitopsRuntimes.createToken('prod', { installation: { namespace, ingressUrl: proxyUrl } })
  const repo = `${git.forge.url}/ann/shop.git`
  const pipeline = await git.run(`pipeline create on-push --repo ${repo} --branch main --workflow-template build`)
  expect([pipeline.code, fixed(pipeline.text)]).toEqual([
    0,
    `delivery-pipeline/on-push created
Commit on main: http://git/ann/apps/commit/COMMIT
Webhook created: ${fixed(proxyUrl)}/webhooks/ARGOCD/on-push
`,
  ])
  const kinds = ['eventsource', 'sensor']
  const applied = async (): Promise<string> =>
    cluster.kubectl('get', kinds.join(','), '--namespace', namespace, '--output', 'name').catch(String)
  await expect
    .poll(applied, { timeout: 60_000, interval: 200 })
    .toBe('eventsource.argoproj.io/on-push\nsensor.argoproj.io/on-push')
  const list = await git.run('pipeline list')
  expect(fixed(list.text)).toMatchInlineSnapshot(`
    "NAME  SENSOR  EVENTS  TEMPLATE  GIT SOURCE  FILE
    on-push-push  on-push  on-push/git  build  apps  on-push.sensor.yaml
    "
  `)
})

test('the fields that a manifest in Git may have are those of the definition of Argo CD (O038)', async () => {
  const text = await scene.cluster.kubectl('get', 'customresourcedefinition', 'applications.argoproj.io', '--output', 'json')
  const { spec } = JSON.parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Definition } }[] } }
  const defined = spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec']
  const own = z.toJSONSchema(ApplicationShape, { io: 'input', unrepresentable: 'any' }) as unknown as Definition
  expect(namesOf(own.properties?.['spec'])).toEqual(namesOf(defined))
})

interface Definition {
  readonly properties?: Readonly<Record<string, Definition>>
  readonly items?: Definition
}

/** Returns the paths of all fields of a definition. */
function namesOf(definition: Definition | undefined, path = 'spec'): string[] {
  const { properties = {}, items } = definition ?? {}
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [`${path}.${name}`, ...namesOf(inner, `${path}.${name}`)]),
    ...(items === undefined ? [] : namesOf(items, `${path}[]`)),
  ].toSorted()
}
