/** What a state of a pod means for its job, and the words of it in the log. */
import { defined } from '@windlass/kit'
import { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { podState, type PodState } from './pod-state.ts'

/** Returns the state of a pod with this status. */
function stateOf(status: object, { spec = {}, deletionTimestamp }: { spec?: object; deletionTimestamp?: string } = {}): PodState {
  const metadata = { name: 'runner-1', namespace: 'jobs', ...defined({ deletionTimestamp }) }
  return podState(KubeObject.parse({ apiVersion: 'v1', kind: 'Pod', metadata, spec, status }))
}

const container = (name: string, state: object): object => ({ name, state })
const running = { running: {} }

test('a pod runs when build and helper run, and is over when build has ended by itself', () => {
  const status = (build: object, helper: object): PodState =>
    stateOf({ phase: 'Running', containerStatuses: [container('build', build), container('helper', helper)] })
  expect(status(running, running)).toEqual({ type: 'running', isOver: false })
  expect(status({ terminated: { exitCode: 0 } }, running)).toEqual({ type: 'running', isOver: true })
  expect(status({ waiting: { reason: 'ContainerCreating' } }, running)).toEqual({
    type: 'pending',
    why: 'Waiting for pod jobs/runner-1 to be running, status is Running (build ContainerCreating)',
    isPlaced: false,
  })
})

test('a pod that waits says for what', () => {
  expect(stateOf({})).toEqual({
    type: 'pending',
    why: 'Waiting for pod jobs/runner-1 to be running, status is Pending',
    isPlaced: false,
  })
  const message = '0/3 nodes are available: 3 Insufficient cpu.'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  expect(stateOf({ phase: 'Pending', conditions })).toEqual({
    type: 'pending',
    why: `Waiting for pod jobs/runner-1 to be scheduled: Unschedulable: ${message}`,
    isPlaced: false,
  })
  expect(stateOf({ phase: 'Pending' }, { spec: { nodeName: 'n1' } })).toMatchObject({
    why: 'Waiting for pod jobs/runner-1 to be running on the node n1, status is Pending',
    isPlaced: true,
  })
})

test.each([
  ['ErrImagePull', 'dial tcp: i/o timeout', 'runner_external_dependency_failure'],
  ['ImagePullBackOff', 'manifest unknown', 'runner_configuration_error'],
  ['ErrImageNeverPull', '', 'image_pull_failure'],
])('the image of a container with %s: %s is a failure of the reason %s', (waiting, message, reason) => {
  const state = stateOf(
    { phase: 'Pending', containerStatuses: [container('build', { waiting: { reason: waiting, message } })] },
    { spec: { containers: [{ name: 'build', image: 'debian:13' }] } },
  )
  expect(state).toEqual({ type: 'image', image: 'debian:13', message: message === '' ? waiting : message, reason })
})

test.each(['InvalidImageName', 'CreateContainerConfigError', 'CrashLoopBackOff'])(
  'a container with %s is a wrong configuration',
  (reason) => {
    expect(stateOf({ containerStatuses: [container('db', { waiting: { reason, message: 'no' } })] })).toEqual({
      type: 'failed',
      message: `the container db cannot start: ${reason}: no`,
      reason: 'runner_configuration_error',
    })
  },
)

test('a container that is killed says why, and a service may end', () => {
  const killed = { terminated: { reason: 'OOMKilled', exitCode: 137 } }
  const pod = (name: string, state: object, limits: object = {}): PodState =>
    stateOf(
      { phase: 'Running', containerStatuses: [container(name, state)] },
      { spec: { containers: [{ name, resources: { limits } }] } },
    )
  expect(pod('build', killed, { memory: '1Gi' })).toMatchObject({
    type: 'failed',
    message: 'the container build was killed because it used more memory than its limit of 1Gi (OOMKilled)',
    reason: 'runner_system_failure',
  })
  expect(pod('helper', killed)).toMatchObject({ message: expect.stringContaining('than what its node has') })
  expect(pod('helper', { terminated: { reason: 'Error', exitCode: 2 } })).toMatchObject({
    message: 'the container helper ended with exit code 2 (Error)',
  })
  expect(pod('db', killed)).toMatchObject({ type: 'pending' })
})

test('a pod that was deleted, evicted or took too long has failed', () => {
  expect(stateOf({ phase: 'Running' }, { deletionTimestamp: new Date(0).toISOString() })).toMatchObject({
    type: 'failed',
    message: 'the pod jobs/runner-1 was deleted',
  })
  expect(stateOf({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' })).toEqual({
    type: 'failed',
    message: 'the pod jobs/runner-1 has ended: Evicted: The node was low on memory.',
    reason: 'runner_system_failure',
  })
  expect(stateOf({ phase: 'Failed', reason: 'DeadlineExceeded' })).toMatchObject({ reason: 'job_execution_timeout' })
  expect(stateOf({ phase: 'Succeeded' })).toMatchObject({ message: 'the pod jobs/runner-1 has ended: Succeeded' })
})

test('a status that is not that of a pod is a pod that waits', () => {
  expect(stateOf({ containerStatuses: 'none' })).toMatchObject({ type: 'pending' })
})
