import { windlassImage } from '@windlass/plan'
import { ApiKeyCreated, BASE_LAYERS, page, Pipeline, Runtime, RuntimeDiff, RuntimeVersion } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { helloAgent } from '../../support/fakes/fake-agent.ts'
import { HELLO, openHttpScene } from '../../support/http-scene.ts'

const Document = z.looseObject({
  version: z.number(),
  metadata: z.looseObject({ name: z.string(), changedBy: z.string() }),
  runtimeScheduler: z.looseObject({}).optional(),
  dockerDaemonScheduler: z.looseObject({}).optional(),
  extends: z.array(z.string()).optional(),
})
const NAME = 'gke_team/europe/builds'
const PATH = `/api/runtime-environments/${encodeURIComponent(NAME)}`

/** A document as in the public documentation, with field names of old and new versions. */
const WRITTEN = {
  version: null,
  metadata: {
    agent: true,
    changedBy: 'someone',
    creationTime: '2024/01/01',
    name: NAME,
    trial: { endingAt: 1, reason: 'x', started: 2 },
  },
  extends: ['system/default/hybrid/k8s'],
  description: 'Runtime environment configure to cluster',
  accountId: '5c1658d1736122ee1114c842',
  appProxy: { externalIP: 'https://git.example.com/app-proxy' },
  runtimeScheduler: {
    type: 'KubernetesPod',
    cluster: { clusterProvider: { accountId: 'a', selector: 'gke' }, namespace: 'builds', serviceAccount: 'codefresh-engine' },
    envVars: { RETRIES: 3 },
    userEnvVars: [{ name: 'K', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
    annotations: {},
    internalInfra: true,
  },
  dockerDaemonScheduler: {
    type: 'DindPodPvc',
    cluster: { clusterProvider: { accountId: 'a', selector: 'gke' }, namespace: 'builds' },
    dockerDaemonParams: null,
    defaultDindResources: { requests: '' },
    pvc: { dind: { storageClassName: 'fast', reuseVolumeSelector: 'codefresh-app,pipeline_id' } },
    userAccess: true,
    ofAnotherChart: { kept: true },
  },
}

test('keeps a document of public clients unchanged through writing and reading (R175, R176, R178, R180, R204)', async () => {
  await using scene = await openHttpScene()
  const put = (body: unknown): Promise<z.output<typeof Document>> => scene.admin.call('PUT', PATH, Document, { body })
  const first = await put(WRITTEN)
  expect(first).toMatchObject({
    version: 1,
    metadata: { name: NAME, agent: true, changedBy: 'admin' },
    accountId: WRITTEN.accountId,
    runtimeScheduler: { envVars: { RETRIES: '3' } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: 'fast' } }, ofAnotherChart: { kept: true } },
  })
  const read = await scene.admin.call('GET', `${PATH}?extend=false`, Document)
  expect(await put(read)).toEqual(read)
  expect(await put({ ...read, description: 'other' })).toMatchObject({ version: 2, description: 'other' })
  expect(await scene.admin.call('GET', `${PATH}?version=1`, Document)).toMatchObject({
    version: 1,
    description: WRITTEN.description,
  })
  const history = await scene.admin.call('GET', `${PATH}?history=true`, z.array(Document))
  expect(history.map(({ version }) => version)).toEqual([2, 1])
})

test('extend merges the parents of the document and hides admin-only fields from users (R179, R256)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.call('PUT', `${PATH}?extend=system/default/hybrid/k8s&description=new`, Document, {
    body: { ...WRITTEN, extends: undefined },
  })
  const merged = await scene.admin.call('GET', `${PATH}?extend=true`, Document)
  expect(merged).toMatchObject({
    extends: ['system/default/hybrid/k8s'],
    runtimeScheduler: { internalInfra: true },
    dockerDaemonScheduler: { envVars: { CLEAN_DOCKER: 'true' }, defaultDindResources: { limits: { cpu: '2500m' } } },
  })
  const { token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'reader', role: 'viewer' } })
  const viewer = scene.admin.withToken(token)
  const seen = await viewer.call('GET', `${PATH}?extend=true`, Document)
  expect(seen.runtimeScheduler).not.toHaveProperty('internalInfra')
  expect(seen.dockerDaemonScheduler).not.toHaveProperty('dockerDaemonParams')
  const ours = await viewer.call('GET', `/v1/runtimes/${encodeURIComponent(NAME)}?merged=true`, Runtime)
  expect(ours.spec['runtimeScheduler']).not.toHaveProperty('internalInfra')
  await expect(viewer.call('PUT', PATH, Document, { body: WRITTEN })).rejects.toMatchObject({ code: 'forbidden' })
})

test('public clients list runtimes, set the default one, show its images, and delete it with force (R071, R072)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.call('PUT', PATH, Document, { body: WRITTEN })
  await scene.admin.call('PUT', `/api/runtime-environments/default/${encodeURIComponent(NAME)}`, Document)
  const listed = await scene.admin.call('GET', '/api/runtime-environments?limit=25&offset=0', z.array(Document))
  expect(listed.map(({ metadata, isDefault }) => [metadata.name, isDefault])).toEqual([
    [NAME, true],
    ['local', false],
  ])
  const images = z.array(z.object({ component: z.string(), image: z.string() }))
  expect(await scene.admin.call('GET', `${PATH}/base-images`, images)).toContainEqual({
    component: 'dind',
    image: windlassImage('dind'),
  })
  await expect(scene.admin.text('DELETE', PATH)).rejects.toMatchObject({ code: 'conflict' })
  await scene.admin.text('DELETE', `${PATH}?force=true`)
  await expect(scene.admin.call('GET', PATH, Document)).rejects.toMatchObject({ code: 'not-found', status: 404 })
})

const BuildPod = z.looseObject({
  kind: z.literal('Pod'),
  metadata: z.looseObject({ labels: z.looseObject({ app: z.string() }) }),
  spec: z.looseObject({
    nodeSelector: z.record(z.string(), z.string()),
    containers: z.array(z.looseObject({ image: z.string() })),
  }),
})
const BuildClaim = z.looseObject({ kind: z.literal('PersistentVolumeClaim'), spec: z.looseObject({}) })

test('a patched runtime places its next build: class and size of the disk, zone of both pods, image of the engine (R092, R166)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.runtimes.put('local', { name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec: {} })
  const agent = await helloAgent(scene.server.url, scene.agentToken, undefined, { executor: 'kubernetes' })
  const zone = { 'topology.kubernetes.io/zone': 'us-east-1a', 'kubernetes.io/arch': 'arm64' }
  const path = '/api/runtime-environments/local'
  const document = await scene.admin.call('GET', `${path}?extend=false`, Document)
  await scene.admin.call('PUT', path, Document, {
    body: {
      ...document,
      runtimeScheduler: { image: 'registry.example.com/engine-arm64:1', cluster: { nodeSelector: zone } },
      dockerDaemonScheduler: {
        cluster: { nodeSelector: zone },
        pvcs: { dind: { storageClassName: 'ebs-us-east-1a', volumeSize: '47Gi' } },
      },
    },
  })
  await scene.submit()
  const [task] = await agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error(`no start task but ${JSON.stringify(task)}`)
  const pods = task.objects.flatMap((object) => BuildPod.safeParse(object).data ?? [])
  expect(new Map(pods.map(({ metadata, spec }) => [metadata.labels.app, spec.nodeSelector]))).toEqual(
    new Map([
      ['dind', zone],
      ['runtime', zone],
    ]),
  )
  const engine = pods.find(({ metadata }) => metadata.labels.app === 'runtime')
  expect(engine?.spec.containers[0]?.image).toBe('registry.example.com/engine-arm64:1')
  const [claim] = task.objects.flatMap((object) => BuildClaim.safeParse(object).data ?? [])
  expect(claim?.spec).toMatchObject({ storageClassName: 'ebs-us-east-1a', resources: { requests: { storage: '47Gi' } } })
})

test('admins list, replace and delete platform layers, and set their accounts (R055)', async () => {
  await using scene = await openHttpScene()
  const path = '/api/admin/runtime-environments'
  const names = async (): Promise<string[]> =>
    (await scene.admin.call('GET', path, z.array(Document))).map(({ metadata }) => metadata.name)
  expect(await names()).toEqual(Object.keys(BASE_LAYERS).toSorted())
  const own = encodeURIComponent('system/agentless')
  await scene.admin.call('PUT', `${path}/${own}`, Document, { body: { extends: ['system/default'], systemHybrid: true } })
  const modified = await scene.admin.call('PUT', `${path}/account/modify/${own}`, Document, { body: { accounts: ['a1', 'a2'] } })
  expect(modified).toMatchObject({ version: 2, accounts: ['a1', 'a2'], systemHybrid: true })
  expect(await names()).toContain('system/agentless')
  await scene.admin.text('DELETE', `${path}/${own}`)
  expect(await names()).not.toContain('system/agentless')
})

test('rejects an unknown key with its path, and rejects a change based on an older version', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const body = (spec: object): object => ({ name: 'prod', agent: 'agent', spec })
  await expect(
    admin.call('POST', '/v1/runtimes', Runtime, { body: body({ dockerDaemonScheduler: { pvcs: { dind: { size: '1Gi' } } } }) }),
  ).rejects.toMatchObject({ code: 'request-invalid', message: /spec\.dockerDaemonScheduler\.pvcs\.dind: .*"size"/ })
  await admin.call('POST', '/v1/runtimes', Runtime, { body: body({ capacity: 1 }) })
  await admin.call('PUT', '/v1/runtimes/prod?description=grow', Runtime, {
    body: body({ capacity: 2 }),
    headers: { 'if-match': '"1"' },
  })
  await expect(
    admin.call('PUT', '/v1/runtimes/prod', Runtime, { body: body({ capacity: 3 }), headers: { 'if-match': '"1"' } }),
  ).rejects.toMatchObject({ code: 'conflict' })
  const { items } = await admin.call('GET', '/v1/runtimes/prod/versions', page(RuntimeVersion))
  expect(items.map(({ version, description }) => [version, description])).toEqual([
    [2, 'grow'],
    [1, undefined],
  ])
  expect(await admin.call('GET', '/v1/runtimes/prod/diff?from=1', RuntimeDiff)).toMatchObject({
    changes: [{ path: 'capacity', from: 1, to: 2 }],
  })
})

test('a viewer does not see fields of the operator in merged specs and their differences (R256)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const spec = {
    accounts: ['of-operator'],
    dockerDaemonScheduler: { clientCertPath: '/of-operator' },
    runtimeScheduler: { envVars: { FOR: 'for all' } },
  }
  await admin.text('PUT', `/v1/runtime-bases/${encodeURIComponent('system/corp')}`, { body: { spec } })
  await admin.text('POST', '/v1/runtimes', { body: { name: 'prod', type: 'fake', spec: {} } })
  const extended = { name: 'prod', type: 'fake', spec: { extends: ['system/corp', 'system/default'] } }
  await admin.text('PUT', '/v1/runtimes/prod', { body: extended })
  const { token } = await admin.keys.create({ name: 'viewer', role: 'viewer' })
  for (const path of ['/v1/runtimes/prod?merged=true', '/v1/runtimes/prod/diff?from=1&to=2&merged=true']) {
    const shown = await scene.nobody.withToken(token).text('GET', path)
    expect([shown.includes('for all'), shown.includes('of-operator')], path).toEqual([true, false])
    expect(await admin.text('GET', path), path).toContain('of-operator')
  }
})

test('a merged spec names the layer of each value, also of an older version, without hidden fields for a viewer', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.runtimeBases.put('system/corp', {
    spec: { accounts: ['of-operator'], capacity: 7, runtimeScheduler: { envVars: { A: '1' } } },
  })
  const spec = { extends: ['system/corp', 'system/default'], capacity: 3 }
  await admin.runtimes.create({ name: 'prod', type: 'fake', spec })
  await admin.runtimes.put('prod', { name: 'prod', type: 'fake', spec: { extends: ['system/corp', 'system/default'] } })
  const { origins = {} } = await admin.runtimes.get('prod', { query: { merged: true } })
  expect(origins).toMatchObject({ accounts: 'system/corp', capacity: 'system/corp', 'runtimeScheduler.envVars.A': 'system/corp' })
  expect(new Set(Object.values(origins))).toEqual(new Set(['system/corp', 'system/default', 'prod']))
  expect((await admin.runtimes.get('prod', { query: { merged: true, version: 1 } })).origins).toMatchObject({ capacity: 'prod' })
  expect((await admin.runtimes.get('prod')).origins).toBeUndefined()
  const { token } = await admin.keys.create({ name: 'viewer', role: 'viewer' })
  const shown = await scene.nobody.withToken(token).runtimes.get('prod', { query: { merged: true } })
  expect(shown.origins).toMatchObject({ capacity: 'system/corp' })
  expect(shown.origins).not.toHaveProperty('accounts')
})

test('an agent shows how many tasks it has taken and not reported', async () => {
  await using scene = await openHttpScene()
  await scene.submit()
  const [task] = await scene.agent.claim()
  expect((await scene.admin.agents.get('agent')).tasks).toBe(1)
  if (task !== undefined) await scene.agent.report(task, 'done')
  expect((await scene.admin.agents.get('agent')).tasks).toBe(0)
})

test('a pipeline that named a deleted runtime uses the default one (R209)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.call('POST', '/v1/runtimes', Runtime, { body: { name: 'gone', agent: 'agent' } })
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'p', document: HELLO, runtime: 'gone' } })
  await scene.admin.text('DELETE', '/v1/runtimes/gone')
  expect((await scene.admin.call('GET', '/v1/pipelines/p', Pipeline)).runtime).toBeUndefined()
  expect(await scene.submit({ pipeline: 'p', document: undefined })).toMatchObject({ runtime: 'local' })
})
