/** What operations on workflows write into them. */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { labelOf, resubmissionOf, retryOf, shutdownPatch } from './changes.ts'
import { packNodes, readWorkflow, toRuntimeWorkflow } from './manifest.ts'
import { planRetry } from './retry.ts'

const NOW = new Date('2027-01-15T09:00:00.250Z')

interface Given {
  readonly type?: string
  readonly phase?: string
  readonly boundary?: string
  readonly children?: readonly string[]
  readonly outbound?: readonly string[]
  readonly retried?: boolean
  readonly name?: string
}

const node = (id: string, given: Given = {}): object => ({
  id,
  name: given.name ?? id,
  displayName: id,
  type: given.type ?? 'Pod',
  phase: given.phase ?? 'Succeeded',
  ...(given.boundary !== undefined && { boundaryID: given.boundary }),
  ...(given.children !== undefined && { children: given.children }),
  ...(given.outbound !== undefined && { outboundNodes: given.outbound }),
  ...(given.retried === true && { nodeFlag: { retried: true } }),
})

const workflow = (
  nodes: Readonly<Record<string, object>>,
  more: { status?: object; spec?: object; metadata?: object } = {},
): KubeObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Workflow',
  metadata: { name: 'w', namespace: 'prod', resourceVersion: '7', ...more.metadata },
  spec: { entrypoint: 'main', ...more.spec },
  status: { phase: 'Failed', nodes, ...more.status },
})

const nodesOf = (given: Readonly<Record<string, Given>>): Record<string, object> =>
  Object.fromEntries(Object.entries(given).map(([id, one]) => [id, node(id, one)]))

async function plan(given: Readonly<Record<string, Given>>): Promise<{ removed: string[]; reset: string[] }> {
  const { nodes } = await readWorkflow(workflow(nodesOf(given)))
  const { removed, reset } = planRetry('w', nodes ?? new Map())
  return { removed: [...removed].toSorted(), reset: [...reset].toSorted() }
}

/** Two steps; the second one runs two pods, of which one fails. */
const STEPS = {
  w: { type: 'Steps', phase: 'Failed', children: ['g0'], outbound: ['b', 'c'] },
  g0: { type: 'StepGroup', boundary: 'w', children: ['a'] },
  a: { boundary: 'w', children: ['g1'] },
  g1: { type: 'StepGroup', phase: 'Failed', boundary: 'w', children: ['b', 'c'] },
  b: { phase: 'Failed', boundary: 'w', children: ['d'] },
  c: { boundary: 'w', children: ['d'] },
  d: { phase: 'Omitted', boundary: 'w' },
} as const satisfies Record<string, Given>

test.each([
  { why: 'steps', given: STEPS, removed: ['b', 'd'], reset: ['g1', 'w'] },
  {
    why: 'a graph in a graph, whose tries have all failed',
    given: {
      w: { type: 'DAG', phase: 'Failed', children: ['a'] },
      a: { boundary: 'w', children: ['inner'] },
      inner: { type: 'DAG', phase: 'Failed', boundary: 'w', children: ['tries'] },
      tries: { type: 'Retry', phase: 'Failed', boundary: 'inner', children: ['t0', 't1'] },
      t0: { phase: 'Failed', boundary: 'inner', retried: true },
      t1: { phase: 'Error', boundary: 'inner', retried: true },
    },
    removed: ['t0', 't1'],
    reset: ['inner', 'tries', 'w'],
  },
  {
    why: 'a failed try before one that succeeded, and a failure that may be',
    given: {
      w: { type: 'DAG', phase: 'Failed', children: ['tries', 'mayFail'] },
      tries: { type: 'Retry', boundary: 'w', children: ['t0', 't1'] },
      t0: { phase: 'Failed', boundary: 'w', retried: true },
      t1: { boundary: 'w', retried: true },
      mayFail: { phase: 'Failed', boundary: 'w', children: ['next'] },
      next: { boundary: 'w', children: ['last'] },
      last: { phase: 'Failed', boundary: 'w' },
    },
    removed: ['last'],
    reset: ['w'],
  },
  {
    why: 'one of several containers of a pod, and the exit handler',
    given: {
      w: { type: 'Pod', phase: 'Failed', children: ['c1', 'c2'] },
      c1: { type: 'Container' },
      c2: { type: 'Container', phase: 'Failed' },
      exit: { type: 'Steps', name: 'w.onExit', children: ['x'] },
      x: {},
    },
    removed: ['c1', 'c2', 'exit', 'w', 'x'],
    reset: [],
  },
  {
    why: 'nodes that contain themselves',
    given: {
      w: { type: 'DAG', phase: 'Failed', boundary: 'a', children: ['a'] },
      a: { phase: 'Failed', boundary: 'b', children: ['b'] },
      b: { type: 'DAG', phase: 'Failed', boundary: 'b', children: ['a', 'gone'] },
    },
    removed: ['a', 'b'],
    reset: [],
  },
])('a retry removes what failed, and runs what contains it again: $why', async ({ given, removed, reset }) => {
  expect(await plan(given)).toEqual({ removed, reset })
})

test('a retry is written as the server of Argo Workflows does, also into compressed nodes', async () => {
  const more = {
    spec: { shutdown: 'Stop', activeDeadlineSeconds: 0 },
    status: {
      message: 'child failed',
      conditions: [
        { type: 'PodRunning', status: 'False' },
        { type: 'Completed', status: 'True' },
      ],
      storedWorkflowTemplateSpec: { shutdown: 'Stop' },
    },
  }
  const { patch } = await retryOf(await readWorkflow(workflow(nodesOf(STEPS), more)), 'Mira <m@x>', NOW)
  const running = { phase: 'Running', message: null, startedAt: '2027-01-15T09:00:00Z', finishedAt: null }
  const nodes = {
    w: { ...running, outboundNodes: ['c'] },
    g1: { ...running, children: ['c'] },
    b: null,
    c: { children: [] },
    d: null,
  }
  expect(patch).toEqual({
    metadata: {
      labels: {
        'workflows.argoproj.io/completed': null,
        'workflows.argoproj.io/workflow-archiving-status': null,
        'workflows.argoproj.io/actor': 'Mira--m-x',
        'workflows.argoproj.io/action': 'Retry',
      },
    },
    spec: { shutdown: null, activeDeadlineSeconds: null },
    status: {
      nodes,
      phase: null,
      message: null,
      startedAt: '2027-01-15T09:00:00Z',
      finishedAt: null,
      persistentVolumeClaims: null,
      conditions: [
        { type: 'PodRunning', status: 'False' },
        { type: 'Completed', status: 'False' },
      ],
      storedWorkflowTemplateSpec: { shutdown: null },
    },
  })
  const compressedNodes = await packNodes(nodesOf(STEPS))
  const packed = await readWorkflow(workflow({}, { status: { nodes: undefined, compressedNodes } }))
  const { status } = (await retryOf(packed, 'mira', NOW)).patch as { status: { compressedNodes: string; nodes?: object } }
  expect(status.nodes).toBeUndefined()
  const written = JSON.parse(gunzipSync(Buffer.from(status.compressedNodes, 'base64')).toString())
  expect(Object.keys(written)).toEqual(['w', 'g0', 'a', 'g1', 'c'])
  expect(written.g1).toEqual({
    ...node('g1', { ...STEPS.g1, children: ['c'] }),
    phase: 'Running',
    startedAt: '2027-01-15T09:00:00Z',
  })
})

test('what has no place in the object or in time is refused, and broken nodes are told', async () => {
  const elsewhere = await readWorkflow(workflow({}, { status: { offloadNodeStatusVersion: 'fnv:1' } }))
  await expect(retryOf(elsewhere, 'mira', NOW)).rejects.toThrow('in its database')
  expect(toRuntimeWorkflow(elsewhere, [])).toMatchObject({ areNodesElsewhere: true, nodes: [] })
  const done = await readWorkflow(workflow({}, { status: { phase: 'Succeeded' } }))
  await expect(retryOf(done, 'mira', NOW)).rejects.toThrow('has not failed: Succeeded')
  expect(() => shutdownPatch(done, 'Stop', 'mira')).toThrow('has ended: Succeeded')
  await expect(readWorkflow(workflow({}, { status: { compressedNodes: 'AAAA' } }))).rejects.toThrow('the form of Argo')
  await expect(readWorkflow(workflow({ w: { id: 1 } }))).rejects.toThrow('"w" does not have the form of Argo Workflows')
})

test('a resubmission has the spec and labels of a workflow, and nothing of its end', async () => {
  const owner = { apiVersion: 'argoproj.io/v1alpha1', kind: 'CronWorkflow', name: 'nightly', uid: 'u' }
  const labels = {
    team: 'shop',
    'workflows.argoproj.io/phase': 'Failed',
    'workflows.argoproj.io/completed': 'true',
    'workflows.argoproj.io/creator': 'ben',
    'workflows.argoproj.io/workflow-template': 'build',
  }
  const spec = {
    shutdown: 'Terminate',
    activeDeadlineSeconds: 0,
    arguments: {
      parameters: [
        { name: 'a', value: '1' },
        { name: 'b', value: 2 },
      ],
      artifacts: [{ name: 'x' }],
    },
  }
  const metadata = { labels, annotations: { note: 'n' }, ownerReferences: [owner], generateName: 'build-' }
  const made = resubmissionOf(await readWorkflow(workflow({}, { metadata, spec })), 'prod', [{ name: 'b', value: '3' }])
  expect(made).toEqual({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Workflow',
    metadata: {
      name: expect.stringMatching(/^build-[a-z0-9]{5}$/),
      generateName: 'build-',
      namespace: 'prod',
      labels: {
        team: 'shop',
        'workflows.argoproj.io/workflow-template': 'build',
        'workflows.argoproj.io/resubmitted-from-workflow': 'w',
      },
      annotations: { note: 'n' },
      ownerReferences: [owner],
    },
    spec: {
      entrypoint: 'main',
      arguments: {
        parameters: [
          { name: 'b', value: '3' },
          { name: 'a', value: '1' },
        ],
        artifacts: [{ name: 'x' }],
      },
    },
  })
})

test('names become values of labels', () => {
  expect(labelOf('Mira Lee <mira@example.com>')).toBe('Mira-Lee--mira-example.com')
  expect(labelOf('é')).toBe('')
  expect(labelOf('a'.repeat(70))).toHaveLength(63)
})

test('nodes of a small object that would take much memory are refused', async () => {
  const compressedNodes = gzipSync(`{"a":{"children":[${'{},'.repeat(600_000)}{}]}}`).toString('base64')
  expect(compressedNodes.length).toBeLessThan(10_000)
  await expect(readWorkflow(workflow({}, { status: { nodes: undefined, compressedNodes } }))).rejects.toMatchObject({
    code: 'conflict',
    cause: { message: 'it has more than 500000 fields and list items' },
  })
})
