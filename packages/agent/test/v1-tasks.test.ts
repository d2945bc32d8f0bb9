/** What an agent of protocol v1 does with tasks: against a scripted platform and a small API server, over HTTP. */
import http from 'node:http'
import { once } from 'node:events'
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import type { KubeCall } from './support/fake-kube.ts'
import { gate, openV1Scene, task, until, type V1Scene } from './support/v1-scene.ts'

const lines = (scene: V1Scene, method?: string): string[] =>
  scene.kube.calls.filter((call) => method === undefined || call.method === method).map(({ line }) => line)

async function report(scene: V1Scene, id: string): Promise<Record<string, unknown>> {
  await until(`a report of ${id}`, () => scene.platform.reportsOf(id).length > 0)
  return scene.platform.reportsOf(id)[0] ?? {}
}

/** Plays one poll and waits for the reports of all its tasks. */
async function play(scene: V1Scene, ...tasks: { _id: string }[]): Promise<Record<string, unknown>[]> {
  scene.platform.script.push(tasks)
  return Promise.all(tasks.map(({ _id }) => report(scene, _id)))
}

test('A01: a poll without tasks makes no call to the cluster, and the next poll follows', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  await until('five polls', () => scene.platform.polls.length >= 5)
  expect(scene.kube.calls).toEqual([])
})

test('R070, R225: polls come every three seconds when nothing else is set', async () => {
  await using scene = await openV1Scene()
  scene.agent({ pollMs: undefined })
  await until('two polls', () => scene.platform.polls.length >= 2)
  const [first, second] = scene.platform.polls.map(({ at }) => at)
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(1_500)
  expect((second ?? 0) - (first ?? 0)).toBeLessThan(20_000)
})

test('R226, R227, A02: the claim is made before the pods, and the pods keep their order', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const tasks = [task('CreatePod', { name: 'engine' }), task('CreatePod', { name: 'dind' }), task('CreatePvc', { name: 'pvc' })]
  await play(scene, ...tasks)
  expect(lines(scene)).toEqual(['POST persistentvolumeclaims/pvc', 'POST pods/engine', 'POST pods/dind'])
})

test('A03, A04: one batch makes claim and pods, then deletes pods and claim, in this order', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  await play(scene, task('DeletePvc'), task('CreatePod'), task('DeletePod'), task('CreatePvc'))
  const names = ['POST persistentvolumeclaims', 'POST pods', 'DELETE pods', 'DELETE persistentvolumeclaims']
  expect(lines(scene)).toEqual(names.map((name) => `${name}/x-wf1`))
})

test('A05: of two workflows the older one is first', async () => {
  await using scene = await openV1Scene()
  scene.agent({ concurrency: 1 })
  const young = task('CreatePod', { workflow: 'young', createdAt: '2026-01-02T00:00:00Z' })
  const old = task('CreatePod', { workflow: 'old', createdAt: '2026-01-01T00:00:00Z' })
  await play(scene, young, old)
  expect(lines(scene)).toEqual(['POST pods/x-old', 'POST pods/x-young'])
})

test('R228, A06: a workflow of two polls is never in two hands, and the second comes after the first', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = ({ line }) => (line === 'POST pods/first' ? held.opened : undefined)
  scene.agent()
  const first = task('CreatePod', { name: 'first' })
  const second = task('CreatePod', { name: 'second' })
  const other = task('CreatePod', { workflow: 'wf2' })
  scene.platform.script.push([first], [second], [other])
  await report(scene, other._id)
  expect(lines(scene)).toEqual(['POST pods/first', 'POST pods/x-wf2'])
  held.open()
  await report(scene, second._id)
  expect(lines(scene)).toEqual(['POST pods/first', 'POST pods/x-wf2', 'POST pods/second'])
})

test('A07: of sixty workflows on a slow cluster fifty are in hand and ten wait', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  // The client of the cluster has 16 sockets: what is in hand is asked of the agent, not of the cluster.
  const agent = scene.agent()
  const tasks = Array.from({ length: 60 }, (_, n) => task('CreatePod', { workflow: `wf${n}`, report: n === 59 }))
  scene.platform.script.push(tasks)
  await until('sixty in hand', () => agent.status().tasks === 60)
  expect(await agent.metrics()).toContain('runner_queue_size 10')
  held.open()
  await agent.idle()
  expect(lines(scene)).toHaveLength(60)
  expect(await agent.metrics()).toContain('runner_queue_size 0')
})

test('R228: with a full buffer no more is pulled, until there is room again', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  const agent = scene.agent({ concurrency: 1, buffer: 3 })
  for (let n = 0; n < 10; n += 1) scene.platform.script.push([task('CreatePod', { workflow: `wf${n}` })])
  await until('a full buffer', () => agent.status().tasks === 4)
  await systemClock.sleep(200)
  expect(agent.status().tasks).toBe(4)
  held.open()
  await until('all are made', () => lines(scene).length === 10)
})

test('R121, R229, A08: success is reported with the next revision and without a reason', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const [body] = await play(scene, task('CreatePod', { revision: 4 }))
  expect(body).toEqual({ status: 'Success', occurredAt: expect.any(String), statusRevision: 5, isRetriable: false })
  expect(Number.isNaN(Date.parse(String(body?.['occurredAt'])))).toBe(false)
  expect(scene.platform.polls[0]).toMatchObject({ path: '/api/agent/cluster%2Fone/tasks', query: 'waitForStatusReport=true' })
})

test.each([
  ['A09', 403, 'Forbidden', false],
  ['A10', 500, 'InternalError', true],
  ['A10', 504, 'Timeout', true],
  ['A10', 409, 'Conflict', true],
  ['A09', 400, 'BadRequest', false],
  ['A09', 401, 'Unauthorized', false],
  ['A09', 405, 'MethodNotAllowed', false],
  ['A09', 406, 'NotAcceptable', false],
  ['A09', 413, 'RequestEntityTooLarge', false],
  ['A09', 415, 'UnsupportedMediaType', false],
  ['A09', 422, 'Invalid', false],
])('%s, R231: an API server that answers %d %s: worth another try is %s', async (_, status, reason, isRetriable) => {
  await using scene = await openV1Scene()
  scene.kube.intercept = () => ({ status, reason })
  scene.agent()
  const [body] = await play(scene, task('CreatePod'))
  expect(body).toMatchObject({
    status: 'Error',
    isRetriable,
    reason: expect.stringContaining('failed creating resource: builds\\x-wf1'),
  })
})

test('R232, A11: an object that exists is a success when it is of the same workflow, an error for good otherwise', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  await play(scene, task('CreatePod', { name: 'mine', workflow: 'a' }))
  const [again, foreign] = await play(
    scene,
    task('CreatePod', { name: 'mine', workflow: 'a' }),
    task('CreatePod', { name: 'mine', workflow: 'b' }),
  )
  expect(again).toMatchObject({ status: 'Success' })
  expect(foreign).toMatchObject({ status: 'Error', isRetriable: false, reason: expect.stringContaining('already exists') })
})

test('R232, A12: deleting what is not there is a success', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const gone = [task('DeletePod', { spec: { name: 'x', NAMESPACE: 'builds' } }), task('DeletePvc')]
  expect(await play(scene, ...gone)).toMatchObject([{ status: 'Success' }, { status: 'Success' }])
})

test('A13: a task that wants no report gets none', async () => {
  await using scene = await openV1Scene()
  const agent = scene.agent()
  const [, quiet] = [await play(scene, task('CreatePod')), task('CreatePod', { name: 'quiet', report: false })]
  scene.platform.script.push([quiet])
  await until('the quiet one is made', () => lines(scene).includes('POST pods/quiet'))
  await agent.idle()
  expect(scene.platform.reportsOf(quiet._id)).toEqual([])
})

test('A14: a runtime that is not served is an error for good that names it', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const [body] = await play(scene, task('CreatePod', { runtime: 'elsewhere/ns' }))
  expect(body).toMatchObject({ status: 'Error', isRetriable: false, reason: expect.stringContaining('elsewhere/ns') })
})

test('A15: unknown types, and what cannot be read at all, are errors for good; the rest of the poll is carried out', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const broken = { _id: 'broken', type: 7, metadata: { shouldReportStatus: true, currentStatusRevision: 2 } }
  const [strange, unread, good] = await play(scene, task('CreateDeployment'), broken, task('CreatePod'))
  expect(strange).toMatchObject({ status: 'Error', isRetriable: false, reason: 'unknown task type CreateDeployment' })
  expect(unread).toMatchObject({ status: 'Error', isRetriable: false, statusRevision: 3 })
  expect(good).toMatchObject({ status: 'Success' })
})

test('A16: a manifest of another kind, or one that cannot be read, is an error for good', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const spec = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'builds' } }
  const [other, none] = await play(
    scene,
    task('CreatePod', { spec }),
    task('CreatePod', { workflow: 'wf2', spec: { kind: 'Pod' } }),
  )
  expect(other).toMatchObject({ isRetriable: false, reason: expect.stringContaining('unsupported kind Deployment') })
  expect(none).toMatchObject({ isRetriable: false, reason: expect.stringContaining('cannot be read') })
  expect(scene.kube.calls).toEqual([])
})

test('after a create that failed for good the rest is not tried, what was made goes again, and deletions are still done', async () => {
  await using scene = await openV1Scene()
  scene.kube.intercept = ({ line }) => (line === 'POST pods/dind' ? { status: 403, reason: 'Forbidden' } : undefined)
  scene.agent()
  const reports = await play(
    scene,
    task('CreatePvc', { name: 'pvc' }),
    task('CreatePod', { name: 'dind' }),
    task('CreatePod', { name: 'engine' }),
    task('DeletePod', { name: 'old' }),
  )
  expect(lines(scene)).toEqual([
    'POST persistentvolumeclaims/pvc',
    'POST pods/dind',
    'DELETE persistentvolumeclaims/pvc',
    'DELETE pods/old',
  ])
  expect(reports.map(({ status }) => status)).toEqual(['Success', 'Error', 'Error', 'Success'])
  expect(reports[2]).toMatchObject({ isRetriable: false, reason: expect.stringContaining('not tried') })
})

test('after a create that may succeed later the rest comes again with it, and what was made stays', async () => {
  await using scene = await openV1Scene()
  let refusals = 1
  scene.kube.intercept = ({ line }) => (line === 'POST pods/dind' && refusals-- > 0 ? { status: 500 } : undefined)
  scene.agent()
  const [pvc, dind, engine] = [
    task('CreatePvc', { name: 'pvc' }),
    task('CreatePod', { name: 'dind' }),
    task('CreatePod', { name: 'engine' }),
  ]
  const reports = await play(scene, pvc, dind, engine)
  expect(reports.map(({ status, isRetriable }) => [status, isRetriable])).toEqual([
    ['Success', false],
    ['Error', true],
    ['Error', true],
  ])
  const again = [dind, engine].map((each) => ({
    ...each,
    metadata: { ...(each['metadata'] as object), currentStatusRevision: 1 },
  }))
  scene.platform.script.push(again)
  await until('both are reported again', () => [dind, engine].every(({ _id }) => scene.platform.reportsOf(_id).length === 2))
  expect([...scene.kube.objects.keys()].toSorted()).toEqual(['persistentvolumeclaims/pvc', 'pods/dind', 'pods/engine'])
})

test('R234, A26: a claim that is deleted by force loses its finalizers, and one without any is no error', async () => {
  await using scene = await openV1Scene()
  // The claim stays in Terminating, as one with finalizers does.
  scene.kube.intercept = ({ method, name }: KubeCall) =>
    method === 'PATCH' && name === 'bare' ? { status: 422, reason: 'Invalid' } : undefined
  scene.agent({ forceDeletePvc: true })
  const reports = await play(scene, task('DeletePvc', { name: 'pvc' }), task('DeletePvc', { name: 'bare', workflow: 'wf2' }))
  expect(reports).toMatchObject([{ status: 'Success' }, { status: 'Success' }])
  const patch = scene.kube.calls.find(({ line }) => line === 'PATCH persistentvolumeclaims/pvc')
  expect(patch).toMatchObject({
    contentType: 'application/json-patch+json',
    body: [{ op: 'remove', path: '/metadata/finalizers' }],
  })
})

test('A28: engines are counted by the number of their retry', async () => {
  await using scene = await openV1Scene()
  const agent = scene.agent()
  await play(
    scene,
    task('CreatePod', { name: 'engine-x' }),
    task('CreatePod', { name: 'engine-x-retry-2' }),
    task('CreatePod', { name: 'dind-x' }),
  )
  const text = await agent.metrics()
  expect(text).toContain('runner_wf_tasks_retries{retry="0"} 1')
  expect(text).toContain('runner_wf_tasks_retries{retry="2"} 1')
  expect(text).toContain('runner_wf_tasks 3')
})

test('pods of protocol v1 are checked by the policy of the cluster when there is one', async () => {
  await using scene = await openV1Scene()
  const lists = { privilegedImages: [], secrets: ['codefresh-certs-server'], claims: [], hostPaths: [], volumeTypes: [] }
  const policy = { namespaces: ['builds'], serviceAccounts: ['engine'], isPermissive: false, ...lists }
  const cluster = { kube: scene.kube.kube(), namespaces: ['builds'], policy }
  scene.agent({ clusterOf: () => cluster })
  const pod = (name: string, volumes: object[], namespace = 'builds'): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'dind' } },
    spec: {
      serviceAccountName: 'engine',
      automountServiceAccountToken: false,
      containers: [{ name: 'dind', image: 'dind', securityContext: { privileged: true } }],
      volumes,
    },
  })
  const own = [
    { name: 'dind', persistentVolumeClaim: { claimName: 'pvc-dind-w1' } },
    { name: 'certs', secret: { secretName: 'codefresh-certs-server' } },
  ]
  const reports = await play(
    scene,
    task('CreatePod', { workflow: 'w1', spec: pod('good', own) }),
    task('CreatePod', { workflow: 'w2', spec: pod('host', [{ name: 'h', hostPath: { path: '/' } }]) }),
    task('CreatePod', {
      workflow: 'w3',
      spec: pod('foreign', [{ name: 'd', persistentVolumeClaim: { claimName: 'pvc-dind-w1' } }]),
    }),
    task('CreatePod', { workflow: 'w4', spec: pod('elsewhere', [], 'kube-system') }),
  )
  expect(reports.map(({ status, isRetriable }) => [status, isRetriable])).toEqual([
    ['Success', false],
    ['Error', false],
    ['Error', false],
    ['Error', false],
  ])
  expect(lines(scene)).toEqual(['POST pods/good'])
})

interface AppProxy extends AsyncDisposable {
  readonly url: string
  readonly heard: { readonly method: string | undefined; readonly headers: http.IncomingHttpHeaders; readonly body: string }[]
  answers: number[]
}

async function openAppProxy(): Promise<AppProxy> {
  const heard: AppProxy['heard'] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString('utf8')))
    request.on('end', () => {
      heard.push({ method: request.method, headers: request.headers, body })
      response.writeHead(appProxy.answers.shift() ?? 200).end('an answer that holds a secret')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const appProxy: AppProxy = {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/hook`,
    heard,
    answers: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return appProxy
}

const paramsOf = (variables: object, eventReporting: object = { token: 'report-token' }): object => ({
  runtimeContext: { context: { variables, eventReporting } },
  more: { of: 'it' },
})
const proxyTask = (params: object): ReturnType<typeof task> => task('AgentTask', { spec: { type: 'proxy', params } })

test('R137, A25: a proxy task sends all its params with the headers of the app-proxy', async () => {
  await using scene = await openV1Scene()
  await using appProxy = await openAppProxy()
  scene.agent()
  const params = paramsOf({ proxyUrl: appProxy.url, method: 'put' })
  const [body] = await play(scene, proxyTask(params))
  expect(body).toMatchObject({ status: 'Success' })
  const [heard] = appProxy.heard
  expect(heard?.method).toBe('PUT')
  expect(JSON.parse(heard?.body ?? '')).toEqual(params)
  expect(heard?.headers).toMatchObject({
    'x-req-type': 'workflow-request',
    'x-access-token': 'report-token',
    'content-type': 'application/json',
    'content-length': String(heard?.body.length),
  })
})

test('R137: what an app-proxy answers is checked: 5xx is tried again, 4xx is an error, and its words are not told', async () => {
  await using scene = await openV1Scene()
  await using appProxy = await openAppProxy()
  scene.agent()
  appProxy.answers = [503]
  const [passed] = await play(scene, proxyTask(paramsOf({ proxyUrl: appProxy.url })))
  expect(passed).toMatchObject({ status: 'Success' })
  expect(appProxy.heard).toHaveLength(2)
  appProxy.answers = [404]
  const [failed] = await play(scene, proxyTask(paramsOf({ proxyUrl: appProxy.url })))
  expect(failed).toMatchObject({ status: 'Error', isRetriable: false, reason: 'the app-proxy answered 404' })
})

test('A24: a proxy task without address or token, and one of another type, fail for good', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const reports = await play(
    scene,
    proxyTask(paramsOf({})),
    proxyTask(paramsOf({ proxyUrl: 'http://127.0.0.1:1' }, {})),
    task('AgentTask', { spec: { type: 'strange', params: {} } }),
  )
  expect(reports).toMatchObject([
    { isRetriable: false, reason: expect.stringContaining('proxyUrl') },
    { isRetriable: false, reason: expect.stringContaining('token') },
    { isRetriable: false, reason: 'unknown type strange' },
  ])
})
