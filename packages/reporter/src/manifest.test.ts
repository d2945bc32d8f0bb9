import { expect, test } from 'vitest'
import { manifestOf } from './manifest.ts'

test('only named fields leave the cluster: no values of charts, environments, logins or notes of kubectl', () => {
  const source = {
    repoURL: 'https://user:secret@git.test/shop.git',
    targetRevision: 'main',
    helm: { values: 'password: secret', parameters: [{ name: 'a', value: 'secret' }] },
    plugin: { env: [{ name: 'TOKEN', value: 'secret' }] },
  }
  const text = manifestOf({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {
      name: 'shop',
      namespace: 'argocd',
      resourceVersion: '7',
      labels: { team: 'shop' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'secret', 'codefresh.io/product': 'shop' },
      managedFields: [{ manager: 'secret' }],
    },
    spec: { project: 'default', source, sources: [source], syncPolicy: { automated: {} } },
    operation: { sync: { source } },
    status: {
      health: { status: 'Healthy' },
      sync: { status: 'Synced', revision: 'abc', comparedTo: { source } },
      history: [{ id: 1, source }],
      operationState: {
        phase: 'Failed',
        operation: { sync: { source }, initiatedBy: { username: 'mira' } },
        syncResult: {
          source,
          resources: [
            { kind: 'Service', name: 'fine', status: 'Synced' },
            { kind: 'Job', name: 'bad', status: 'SyncFailed', message: 'x'.repeat(10_000) },
          ],
        },
      },
    },
  })
  expect(text).not.toContain('secret')
  expect(JSON.parse(text)).toMatchObject({
    metadata: { name: 'shop', resourceVersion: '7', labels: { team: 'shop' }, annotations: { 'codefresh.io/product': 'shop' } },
    spec: { source: { repoURL: 'https://git.test/shop.git' }, syncPolicy: { automated: {} } },
    status: { operationState: { phase: 'Failed', operation: { initiatedBy: { username: 'mira' } } } },
  })
  expect(JSON.parse(text).status.operationState.syncResult.resources).toEqual([
    { kind: 'Job', name: 'bad', status: 'SyncFailed', message: 'x'.repeat(4_000) },
  ])
})

test('of rollouts, their ReplicaSets and workflows only states leave the cluster: no environments, parameters or arguments', () => {
  const metadata = {
    name: 'front',
    namespace: 'shop',
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'secret', 'rollout.argoproj.io/revision': '2' },
    labels: { team: 'secret', 'workflows.argoproj.io/workflow-template': 'build' },
  }
  const env = [{ name: 'TOKEN', value: 'secret' }]
  const containers = [{ name: 'main', image: 'registry.test/front:2', env, args: ['secret'] }]
  const analysis = { templates: [{ templateName: 'secret' }], args: env }
  const rollout = manifestOf({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    metadata: { ...metadata, generation: 3 },
    spec: {
      replicas: 2,
      template: { spec: { containers } },
      strategy: { canary: { steps: [{ setWeight: 20 }, { analysis }, { pause: { duration: 'secret' } }] } },
    },
    status: { phase: 'Paused', currentStepIndex: 1, conditions: [{ message: 'secret' }] },
  })
  expect(JSON.parse(rollout)).toEqual({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    metadata: {
      name: 'front',
      namespace: 'shop',
      generation: 3,
      labels: {},
      annotations: { 'rollout.argoproj.io/revision': '2' },
    },
    spec: { replicas: 2, strategy: { canary: { steps: [{ setWeight: 20 }, { analysis: {} }, { pause: {} }] } } },
    status: { phase: 'Paused', currentStepIndex: 1 },
  })
  const replicaSet = manifestOf({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { replicas: 1, template: { metadata: { annotations: { token: 'secret' } }, spec: { containers } } },
  })
  expect(JSON.parse(replicaSet).spec).toEqual({
    replicas: 1,
    template: { spec: { containers: [{ image: 'registry.test/front:2' }] } },
  })
  const pod = { type: 'Pod', displayName: 'test', inputs: { parameters: env } }
  const workflow = manifestOf({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Workflow',
    metadata,
    spec: { arguments: { parameters: env }, workflowTemplateRef: { name: 'build' } },
    status: {
      phase: 'Failed',
      progress: '1/2',
      nodes: {
        a: { ...pod, phase: 'Failed', message: 'exit code 1' },
        b: { ...pod, phase: 'Succeeded', outputs: { result: 'secret' } },
        c: { ...pod, type: 'Steps', phase: 'Failed' },
      },
      storedTemplates: { x: { container: { env } } },
    },
  })
  expect(rollout + replicaSet + workflow).not.toContain('secret')
  expect(JSON.parse(workflow)).toMatchObject({
    metadata: { labels: { 'workflows.argoproj.io/workflow-template': 'build' } },
    spec: { workflowTemplateRef: { name: 'build' } },
    status: {
      phase: 'Failed',
      progress: '1/2',
      nodes: { a: { displayName: 'test', type: 'Pod', phase: 'Failed', message: 'exit code 1' } },
    },
  })
  expect(Object.keys(JSON.parse(workflow).status.nodes)).toEqual(['a'])
})
