import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { silentLog, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import type { RuntimeWorkflow } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { imageReportRoute } from '../http/image-report-route.ts'
import { route, type Call } from '../http/route.ts'
import { followImageReport, readDataHeader, readImageJob } from './image-report.ts'
import { openWorkflows, type Workflows } from './workflows.ts'

const read = (variables: Record<string, string>): Record<string, string> =>
  Object.fromEntries(readImageJob(Object.entries(variables)).parameters.map(({ name, value }) => [name, value]))

test('variables of a job become parameters, with and without their prefix, and logins do not', () => {
  expect(read({ CF_IMAGE: 'acme/shop:1', GIT_BRANCH: 'main', CF_RUNTIME_VERSION: 'x', CF_JIRA_INTEGRATION: 'jira' })).toEqual({
    image: 'acme/shop:1',
    'git-branch': 'main',
    'jira-integration': 'jira',
  })
  const job = readImageJob([
    ['CF_IMAGE', 'a/b'],
    ['CF_GITHUB_TOKEN', 'ghp_1'],
    ['CF_JIRA_API_TOKEN', ''],
    ['CF_REGISTRY_PASSWORD', 'p'],
  ])
  expect(job).toEqual({ parameters: [{ name: 'image', value: 'a/b' }], unused: ['CF_GITHUB_TOKEN', 'CF_REGISTRY_PASSWORD'] })
  // Readers that the job does not want have nothing to read.
  expect(read({ IMAGE: 'a/b', GIT_REPO: 'a/b', JIRA_MESSAGE: 'X-1', ENRICHERS: 'git' })).toEqual({
    image: 'a/b',
    'git-repo': 'a/b',
    'jira-message': '',
  })
})

test('a job without an image, and names that would be other Secrets, are refused', () => {
  expect(() => read({ CF_GIT_BRANCH: 'main' })).toThrow('CF_IMAGE is missing')
  for (const name of ['../x', 'a.b', 'UPPER', '-a', 'a'.repeat(41), '{{workflow.name}}'])
    expect(() => read({ CF_IMAGE: 'a/b', CF_CONTAINER_REGISTRY_INTEGRATION: name })).toThrow('is not the name of an integration')
  expect(() => read({ CF_IMAGE: 'a\nb' })).toThrow('control characters')
})

test('the header has pairs in base64, whose values may contain equals signs', () => {
  expect(readDataHeader(btoa('CF_IMAGE=a/b:1&CF_WORKFLOW_URL=https://ci.test/?a=b&CF_EMPTY'))).toEqual([
    ['CF_IMAGE', 'a/b:1'],
    ['CF_WORKFLOW_URL', 'https://ci.test/?a=b'],
    ['CF_EMPTY', ''],
  ])
  expect(() => readDataHeader('A'.repeat(40_000))).toThrow('cannot be read')
})

const BEGUN: RuntimeWorkflow = {
  name: 'report-1',
  phase: 'pending',
  createdAt: 0,
  parameters: [],
  locks: [],
  nodes: [],
  pods: [],
}

interface Cluster {
  readonly workflows: Workflows
  /** Paths that were called. */
  readonly calls: string[]
}

/** Starts an API server whose workflow has these phases, one at each call; a number is the status of an error instead. The last one stays. */
async function openCluster(...answers: (string | number)[]): Promise<Cluster> {
  const calls: string[] = []
  const server = http.createServer(({ url = '' }, response) => {
    calls.push(url)
    const isPods = url.includes('/pods')
    const next = isPods ? 'none' : answers.length > 1 ? answers.shift() : answers[0]
    const status = typeof next === 'number' ? next : 200
    const metadata = { name: 'report-1', namespace: 'prod' }
    const workflow = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow', metadata, spec: {}, status: { phase: next } }
    const failure = { kind: 'Status', apiVersion: 'v1', reason: 'Failed', message: `status ${status}`, code: status }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isPods ? { metadata: { resourceVersion: '1' }, items: [] } : status === 200 ? workflow : failure))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const found = server.address()
  const place = `http://127.0.0.1:${typeof found === 'object' && found !== null ? found.port : 0}`
  const kube = openKube({ access: { server: place, insecure: false, namespace: 'prod' }, log: silentLog })
  return { workflows: openWorkflows({ kube, namespace: 'prod', clock: systemClock, archive: undefined }), calls }
}

/** Returns the events for a job. `heard` is called with each. */
async function follow(workflows: Workflows, signal: AbortSignal, heard: (event: string) => void = () => undefined) {
  const events: string[] = []
  for await (const event of followImageReport(BEGUN, { unused: [] }, { workflows, clock: systemClock, heartbeatMs: 1, signal })) {
    events.push(event)
    heard(event)
  }
  return events
}

test('a job waits on while the cluster does not answer, and each heartbeat costs one call', async () => {
  const { workflows, calls } = await openCluster('Running', 503, 500, 'Running', 'Succeeded')
  const events = await follow(workflows, new AbortController().signal)
  expect(events.map((event) => /^event: (.*)/.exec(event)?.[1])).toEqual(['info', ...Array(5).fill('heartbeat'), 'end'])
  const path = '/apis/argoproj.io/v1alpha1/namespaces/prod/workflows/report-1'
  expect(calls.slice(0, 5)).toEqual(Array(5).fill(path))
})

test('a job is told that its workflow is gone, and that the app-proxy stops', async () => {
  const gone = await openCluster('Running', 404)
  expect((await follow(gone.workflows, new AbortController().signal)).at(-1)).toMatch(/^event: error\ndata: .*does not exist/)
  const { workflows } = await openCluster('Running')
  const closing = new AbortController()
  const events = await follow(workflows, closing.signal, (event) => {
    if (event.startsWith('event: heartbeat')) closing.abort()
  })
  expect(events.slice(1)).toEqual([
    'event: heartbeat\ndata: 1\n\n',
    expect.stringMatching(/^event: error\ndata: .*The app-proxy stops\. The workflow report-1 goes on\./),
  ])
})

test('ten jobs of a user wait at once, and those of others have their places', async () => {
  const { workflows } = await openCluster('Running')
  const submit = route('POST', '/workflow-templates/{name}/submit', { right: 'change-gitops', handle: async () => BEGUN })
  const reports = { template: 'report', heartbeatMs: 1_000 }
  const report = imageReportRoute({ reports, workflows, routes: [submit], clock: systemClock })
  const job = async (userId: string, callRoute: Call<unknown, unknown, unknown>['callRoute']): Promise<Readable> => {
    const stream = await report.run({
      params: {},
      query: { CF_IMAGE: 'acme/shop:1' },
      body: undefined,
      caller: { userId, userName: userId, rights: new Set(), isReadOnly: false },
      key: '',
      confirm: async () => undefined,
      header: () => undefined,
      callRoute,
      signal: new AbortController().signal,
    })
    if (!(stream instanceof Readable)) throw new Error('the answer is no stream')
    onTestFinished(() => void stream.destroy())
    return stream
  }
  const begun = async (): Promise<object> => BEGUN
  const refused = async (): Promise<object> => {
    throw new Error('refused')
  }
  for (let count = 0; count < 11; count += 1) await expect(job('mira', refused)).rejects.toThrow('refused')
  const streams: Readable[] = []
  for (let count = 0; count < 10; count += 1) streams.push(await job('mira', begun))
  await expect(job('mira', begun)).rejects.toMatchObject({ code: 'rate-limited' })
  await job('ben', begun)
  const [first] = streams
  if (first === undefined) throw new Error('there is no stream')
  first.destroy()
  await once(first, 'close')
  await job('mira', begun)
})
