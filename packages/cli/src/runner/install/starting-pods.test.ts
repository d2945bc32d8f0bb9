import { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { explainFirst } from './starting-pods.ts'

const pod = (name: string, status: object): KubeObject =>
  KubeObject.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'n' }, status })
const ready = pod('ready', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })
const done = pod('hook', { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False' }] })

test('names the first pod that is not ready, with the reason of Kubernetes', () => {
  const waiting = { reason: 'ErrImagePull', message: 'not found' }
  const pulling = pod('agent', { phase: 'Pending', containerStatuses: [{ name: 'agent', state: { waiting } }] })
  expect(explainFirst([ready, done, pulling])).toBe('pod agent is not ready: ErrImagePull: not found')
  const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }]
  expect(explainFirst([pod('agent', { phase: 'Pending', conditions })])).toBe('pod agent is not ready: 0/1 nodes are available')
})

test('explains nothing if all pods are ready or have ended', () => {
  expect(explainFirst([ready, done])).toBeUndefined()
})
