/** Which logs are read in the cluster and which in the archive, and at which keys. */
import type { RuntimeWorkflow, WorkflowLogQuery } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { archivedPods, requireLogKey } from './archived-logs.ts'
import { sourcesOf } from './log-sources.ts'
import { readWorkflow, type Workflow } from './manifest.ts'

const nodes = {
  w: { id: 'w', name: 'w', type: 'DAG', outputs: { exitCode: '1' } },
  'w-11': {
    id: 'w-11',
    name: 'w.build',
    type: 'Pod',
    startedAt: '2027-01-15T09:00:00Z',
    finishedAt: '2027-01-15T09:00:05Z',
    outputs: {
      artifacts: [
        { name: 'site', s3: { key: 'prod/w/w-build-11/site.tgz' } },
        { name: 'main-logs', s3: { key: 'prod/w/w-build-11/main.log' } },
        { name: 'lint-logs', s3: { key: 'prod/w/w-build-11/lint.log' } },
        { name: 'raw-logs', raw: { data: 'x' } },
      ],
    },
  },
  // Keys of an operator that do not have the name of the pod.
  'w-22': {
    id: 'w-22',
    name: 'w.test',
    type: 'Pod',
    outputs: { artifacts: [{ name: 'main-logs', s3: { key: 'prod/2027/main.log' } }] },
  },
  'w-33': { id: 'w-33', name: 'w.send', type: 'Pod', outputs: null },
}
const workflow: Workflow = await readWorkflow({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Workflow',
  metadata: { name: 'w', namespace: 'prod' },
  spec: {},
  status: { nodes },
})
const [startedAt, finishedAt] = ['2027-01-15T09:00:00Z', '2027-01-15T09:00:05Z'].map((time) => Date.parse(time))

interface Given extends Partial<Omit<WorkflowLogQuery, 'tail' | 'since'>> {
  readonly pods?: RuntimeWorkflow['pods']
  readonly prefix?: string | undefined
}

const find = ({ pods = [], container = 'main', live = false, ...rest }: Given): unknown[] => {
  const { pod, after } = rest
  const prefix = 'prefix' in rest ? rest.prefix : 'prod'
  return sourcesOf(workflow, { live: pods, prefix }, { container, live, pod, after }).map(({ pod: name, isLive, key }) => [
    name,
    isLive ? 'live' : 'archived',
    key,
  ])
}

test('pods with archived logs have the name of the folder of their key, or the id of their node', () => {
  expect(archivedPods(workflow)).toMatchObject([
    { name: 'w-build-11', node: 'w-11', startedAt, finishedAt },
    { name: 'w-22', node: 'w-22' },
  ])
})

test('a pod that exists is read in the cluster, and a deleted one in the archive', () => {
  const build = { name: 'w-build-11', node: 'w-11' }
  expect(find({})).toEqual([
    ['w-build-11', 'archived', 'prod/w/w-build-11/main.log'],
    ['w-22', 'archived', 'prod/2027/main.log'],
  ])
  expect(find({ container: 'lint' })).toEqual([['w-build-11', 'archived', 'prod/w/w-build-11/lint.log']])
  expect(find({ pods: [build] })).toEqual([
    ['w-build-11', 'live', 'prod/w/w-build-11/main.log'],
    ['w-22', 'archived', 'prod/2027/main.log'],
  ])
  expect(find({ pod: 'w-11' })).toEqual([['w-build-11', 'archived', 'prod/w/w-build-11/main.log']])
  // One that the workflow does not name has the usual key.
  expect(find({ pod: 'w-send-33' })).toEqual([['w-send-33', 'archived', 'prod/w/w-send-33/main.log']])
  expect(find({ pod: 'w-build-11', container: 'wait' })).toEqual([['w-build-11', 'archived', 'prod/w/w-build-11/wait.log']])
})

test('calls that follow a log, and runtimes without an archive, read pods that exist only', () => {
  const pods = [{ name: 'w-send-33', node: 'w-33' }]
  const alone = [['w-send-33', 'live', undefined]]
  for (const given of [{ live: true }, { after: '2027-01-15T09:00:00Z' }, { prefix: undefined }]) {
    expect(find({ ...given, pods })).toEqual(alone)
    expect(() => find({ ...given, pods, pod: 'w-build-11' })).toThrow('has no pod "w-build-11" any more')
  }
  expect(() => find({ pod: 'other-pod' })).toThrow('has no pod "other-pod" any more')
  expect(() => find({ pod: 'www' })).toThrow('has no pod')
})

test.each([
  ['another runtime', 'staging/w/w-1/main.log'],
  ['the begin of another name', 'production/w/main.log'],
  ['a step upwards', 'prod/../staging/w/main.log'],
  ['the same folder', 'prod/./w/main.log'],
  ['no name', 'prod//main.log'],
  ['the root', '/prod/w/main.log'],
  ['another file', 'prod/w/w-1/site.tgz'],
  ['the log of another container', 'prod/w/w-1/lint.log'],
  ['a folder', 'prod/w/w-1/main.log/'],
  ['a control character', 'prod/w\n/main.log'],
  ['a backslash', 'prod/..\\staging/main.log'],
  ['half a character', 'prod/\ud800/main.log'],
  ['too many bytes', `prod/${'ß'.repeat(510)}/main.log`],
])('a key with %s is refused', (_, key) => {
  expect(() => requireLogKey(key, 'prod', { pod: 'w-1', container: 'main' })).toThrow('which the runtime does not read')
})

test.each(['prod/w/w-1/main.log', 'prod/2027/01 15/w?#%2e%2e/main.log'])('a key below the prefix is read: %s', (key) => {
  expect(requireLogKey(key, 'prod', { pod: 'w-1', container: 'main' })).toBe(key)
})
