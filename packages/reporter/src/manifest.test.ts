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
