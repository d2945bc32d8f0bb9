/** How an agent of protocol v1 carries out tasks: against a scripted platform and a small API server, over HTTP. */
import http from 'node:http'
import { once } from 'node:events'
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { recordPauses } from '../../../e2e/support/clocks.ts'
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

test('makes no call to the cluster for a poll without tasks, and polls again (A01)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  await until('five polls', () => scene.platform.polls.length >= 5)
  expect(scene.kube.calls).toEqual([])
})

test('polls every three seconds by default (R070, R225)', async () => {
  await using scene = await openV1Scene()
  const clock = recordPauses(manualClock())
  scene.agent({ pollMs: undefined, clock })
  for (let polls = 1; polls <= 3; polls += 1) {
    await until('the agent waits for its next poll', () => clock.pauses.filter((ms) => ms === 3_000).length === polls)
    expect(scene.platform.polls).toHaveLength(polls)
    clock.advance(3_000)
  }
})

test('creates the claim before the pods and keeps the order of the pods (R226, R227, A02)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const tasks = [task('CreatePod', { name: 'engine' }), task('CreatePod', { name: 'dind' }), task('CreatePvc', { name: 'pvc' })]
  await play(scene, ...tasks)
  expect(lines(scene)).toEqual(['POST persistentvolumeclaims/pvc', 'POST pods/engine', 'POST pods/dind'])
})

test('creates a pod when its claim is bound, after writing its placement to the claim', async () => {
  await using scene = await openV1Scene()
  const key = 'persistentvolumeclaims/pvc-wf1'
  const order: string[] = []
  scene.kube.intercept = ({ line, body }) => {
    order.push(line)
    const claim = scene.kube.objects.get(key)
    // The agent lists the claim, then watches it. The watch breaks, and the claim is bound meanwhile.
    const isWatch = line === 'GET persistentvolumeclaims/' && order.filter((each) => each === line).length === 2
    if (isWatch && claim !== undefined) {
      const metadata = { ...Object(claim['metadata']), annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }
      scene.kube.objects.set(key, { ...claim, metadata, spec: { volumeName: 'disk' } })
      order.push('bound')
      return { status: 500 }
    }
    if (line === `PATCH ${key}`) order.push(JSON.stringify(body))
    return undefined
  }
  scene.agent()
  const pod = task('CreatePod', { name: 'dind-wf1' })
  Object.assign(Object(pod['spec']).spec, {
    nodeSelector: { pool: 'builds' },
    volumes: [{ name: 'dind', persistentVolumeClaim: { claimName: 'pvc-wf1' } }],
  })
  await play(scene, task('CreatePvc', { name: 'pvc-wf1' }), pod)
  const note = { 'windlass.io/placement': JSON.stringify({ nodeSelector: { pool: 'builds' } }) }
  const steps = [
    `POST ${key}`,
    `PATCH ${key}`,
    JSON.stringify({ metadata: { annotations: note } }),
    'bound',
    'POST pods/dind-wf1',
  ]
  expect(order.filter((line) => steps.includes(line))).toEqual(steps)
})

test('creates claim and pods, then deletes pods and claim in one batch (A03, A04)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  await play(scene, task('DeletePvc'), task('CreatePod'), task('DeletePod'), task('CreatePvc'))
  const names = ['POST persistentvolumeclaims', 'POST pods', 'DELETE pods', 'DELETE persistentvolumeclaims']
  expect(lines(scene)).toEqual(names.map((name) => `${name}/x-wf1`))
})

test('starts the older of two workflows first (A05)', async () => {
  await using scene = await openV1Scene()
  scene.agent({ concurrency: 1 })
  const young = task('CreatePod', { workflow: 'young', createdAt: '2026-01-02T00:00:00Z' })
  const old = task('CreatePod', { workflow: 'old', createdAt: '2026-01-01T00:00:00Z' })
  await play(scene, young, old)
  expect(lines(scene)).toEqual(['POST pods/x-old', 'POST pods/x-young'])
})

test('processes the two batches of a workflow one after the other (R228, A06)', async () => {
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

test('processes fifty of sixty workflows on a slow cluster and queues ten (A07)', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  // The client of the cluster has 16 sockets, so the number in progress is read from the agent.
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

test('stops polling while the buffer is full (R228)', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  const agent = scene.agent({ concurrency: 1, buffer: 3, heartbeatMs: 50 })
  for (let n = 0; n < 10; n += 1) scene.platform.script.push([task('CreatePod', { workflow: `wf${n}` })])
  await until('a full buffer', () => agent.status().tasks === 4)
  const polls = scene.platform.polls.length
  // Heartbeats continue at their interval, so the agent had time to poll.
  const beats = scene.platform.heartbeats.length
  await until('three heartbeats', () => scene.platform.heartbeats.length >= beats + 3)
  expect(agent.status().tasks).toBe(4)
  expect(scene.platform.polls).toHaveLength(polls)
  held.open()
  await until('all are made', () => lines(scene).length === 10)
})

test('reports success with the next revision and without a reason (R121, R229, A08)', async () => {
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
])('%s: for status %d %s of the API server, isRetriable is %s (R231)', async (_, status, reason, isRetriable) => {
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

test('treats an existing object as success if it is of the same workflow, else as a permanent error (R232, A11)', async () => {
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

test('reports the deletion of a missing object as success (R232, A12)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const gone = [task('DeletePod', { spec: { name: 'x', NAMESPACE: 'builds' } }), task('DeletePvc')]
  expect(await play(scene, ...gone)).toMatchObject([{ status: 'Success' }, { status: 'Success' }])
})

test.each([404, 410])('reports a deletion as transient failure after a %i page of a proxy', async (status) => {
  await using scene = await openV1Scene()
  const page = '<html>default backend - 404</html>'
  scene.kube.intercept = ({ method }: KubeCall) => (method === 'DELETE' ? { status, page } : undefined)
  scene.agent()
  const [deleted] = await play(scene, task('DeletePod'))
  expect(deleted).toMatchObject({ status: 'Error', isRetriable: true })
  scene.kube.intercept = ({ method }: KubeCall) => (method === 'DELETE' ? { status, reason: 'Gone' } : undefined)
  expect(await play(scene, task('DeletePod'))).toMatchObject([{ status: 'Success' }])
})

test.each([404, 422])('does not take a %i page of a proxy for a claim without finalizers', async (status) => {
  await using scene = await openV1Scene()
  scene.kube.intercept = ({ method }: KubeCall) => (method === 'PATCH' ? { status, page: '<html>' } : undefined)
  scene.agent({ forceDeletePvc: true })
  expect(await play(scene, task('DeletePvc'))).toMatchObject([{ status: 'Error', isRetriable: true }])
})

test('does not report a task that wants no report (A13)', async () => {
  await using scene = await openV1Scene()
  const agent = scene.agent()
  const [, quiet] = [await play(scene, task('CreatePod')), task('CreatePod', { name: 'quiet', report: false })]
  scene.platform.script.push([quiet])
  await until('the quiet one is made', () => lines(scene).includes('POST pods/quiet'))
  await agent.idle()
  expect(scene.platform.reportsOf(quiet._id)).toEqual([])
})

test('reports a permanent error that names a runtime that it does not serve (A14)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const [body] = await play(scene, task('CreatePod', { runtime: 'elsewhere/ns' }))
  expect(body).toMatchObject({ status: 'Error', isRetriable: false, reason: expect.stringContaining('elsewhere/ns') })
})

test('reports permanent errors for unknown types and invalid tasks, and carries out the rest of the poll (A15)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const broken = { _id: 'broken', type: 7, metadata: { shouldReportStatus: true, currentStatusRevision: 2 } }
  const [unsupported, unread, good] = await play(scene, task('CreateDeployment'), broken, task('CreatePod'))
  expect(unsupported).toMatchObject({ status: 'Error', isRetriable: false, reason: 'unknown task type CreateDeployment' })
  expect(unread).toMatchObject({ status: 'Error', isRetriable: false, statusRevision: 3 })
  expect(good).toMatchObject({ status: 'Success' })
})

test('reports a permanent error for a manifest of another kind or an invalid one (A16)', async () => {
  await using scene = await openV1Scene()
  scene.agent()
  const spec = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'builds' } }
  const [other, none] = await play(
    scene,
    task('CreatePod', { spec }),
    task('CreatePod', { workflow: 'wf2', spec: { kind: 'Pod' } }),
  )
  expect(other).toMatchObject({ isRetriable: false, reason: expect.stringContaining('unsupported kind Deployment') })
  expect(none).toMatchObject({ isRetriable: false, reason: expect.stringContaining('invalid manifest') })
  expect(scene.kube.calls).toEqual([])
})

test('after a permanent failure of a create, skips the other creates, deletes the created objects and still does the deletions', async () => {
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
  expect(reports[2]).toMatchObject({ isRetriable: false, reason: expect.stringContaining('skipped') })
})

test('after a transient failure of a create, keeps the created objects and retries the rest', async () => {
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

test('removes the finalizers of a claim that is deleted by force; a claim without any is not an error (R234, A26)', async () => {
  await using scene = await openV1Scene()
  // The claim stays in Terminating, like one with finalizers.
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

test('counts engines by retry number (A28)', async () => {
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

test('sends all params of a proxy task with the headers of the app-proxy (R137, A25)', async () => {
  await using scene = await openV1Scene()
  await using appProxy = await openAppProxy()
  scene.agent({ appProxies: ['127.0.0.1'] })
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

test('retries 5xx of an app-proxy, fails on 4xx, and does not report the body (R137)', async () => {
  await using scene = await openV1Scene()
  await using appProxy = await openAppProxy()
  scene.agent({ appProxies: ['127.0.0.1'] })
  appProxy.answers = [503]
  const [passed] = await play(scene, proxyTask(paramsOf({ proxyUrl: appProxy.url })))
  expect(passed).toMatchObject({ status: 'Success' })
  expect(appProxy.heard).toHaveLength(2)
  appProxy.answers = [404]
  const [failed] = await play(scene, proxyTask(paramsOf({ proxyUrl: appProxy.url })))
  expect(failed).toMatchObject({ status: 'Error', isRetriable: false, reason: 'the app-proxy answered 404' })
})

test('fails proxy tasks without address or token and tasks of another type permanently (A24)', async () => {
  await using scene = await openV1Scene()
  scene.agent({ appProxies: ['127.0.0.1'] })
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

test('forwards requests only to listed hosts, and the report names the setting', async () => {
  await using scene = await openV1Scene()
  await using appProxy = await openAppProxy()
  const { host, port } = new URL(appProxy.url)
  const reportFor = async (proxyUrl: string): Promise<unknown> => (await play(scene, proxyTask(paramsOf({ proxyUrl }))))[0]
  const refusal = (name: string): object => ({
    status: 'Error',
    isRetriable: false,
    reason: expect.stringMatching(`does not forward requests to ${name}.*WINDLASS_AGENT_APP_PROXIES`),
  })
  const silent = scene.agent({ appProxies: [] })
  expect(await reportFor(appProxy.url)).toMatchObject(refusal(host))
  await silent.close()
  scene.agent({ appProxies: [`localhost:${port}`, 'app-proxy.example.com'] })
  expect(await reportFor(appProxy.url)).toMatchObject(refusal(host))
  expect(await reportFor('http://169.254.169.254/latest/meta-data')).toMatchObject(refusal('169.254.169.254'))
  expect(await reportFor('http://app-proxy.example.com.evil.example/')).toMatchObject(
    refusal('app-proxy.example.com.evil.example'),
  )
  expect(await reportFor(`http://app-proxy.example.com@127.0.0.1:${port}/`)).toMatchObject(refusal(`${host} with a user name`))
  expect(appProxy.heard).toEqual([])
  expect(await reportFor(`http://localhost:${port}/`)).toMatchObject({ status: 'Success' })
})
