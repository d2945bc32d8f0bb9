import type { KubeObject } from '@windlass/kube'
import { MONITORED_KINDS } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { summarize } from './summarize.ts'

const metadata = { name: 'x', namespace: 'shop' }

test('shows why a pod does not run, and nothing of its environment', () => {
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      nodeName: 'node-1',
      containers: [{ image: 'shop:1', env: [{ name: 'PASSWORD', value: 'hunter2' }], args: ['--key=hunter2'] }],
    },
    status: {
      phase: 'Pending',
      containerStatuses: [{ ready: false, restartCount: 3, state: { waiting: { reason: 'ImagePullBackOff' } } }],
    },
  }
  const summary = summarize('Pod', pod)
  expect(summary).toEqual({ status: 'ImagePullBackOff', ready: '0/1', restarts: 3, node: 'node-1', images: 'shop:1' })
})

test('shows how many replicas of a workload are ready and why its rollout is stuck', () => {
  const spec = { replicas: 3, template: { spec: { containers: [{ image: 'a:1' }, { image: 'b:2' }] } } }
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec, status: { readyReplicas: 1, conditions } }
  expect(summarize('Deployment', deployment)).toEqual({
    ready: '1/3',
    updated: 0,
    reason: 'ProgressDeadlineExceeded',
    images: 'a:1 b:2',
  })
})

test('shows a Helm release by the labels of its Secret', () => {
  const labels = { name: 'shop', owner: 'helm', status: 'deployed', version: '4' }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, labels }, data: { release: 'c2VjcmV0' } }
  expect(summarize('HelmRelease', secret)).toEqual({ status: 'deployed', revision: '4', release: 'shop' })
})

test.each(MONITORED_KINDS)('summarizes an object of kind %s without any field', (kind) => {
  expect(() => summarize(kind, { apiVersion: 'v1', kind, metadata })).not.toThrow()
})
