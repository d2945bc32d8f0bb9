import { expect, test } from 'vitest'
import { explain, type Explained } from './why.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'

const application = (more: Partial<Explained>): Explained => ({
  health: 'healthy',
  sync: 'synced',
  revisions: [COMMIT],
  isAutomatic: false,
  isDeleting: false,
  conditions: [],
  resources: [],
  failures: [],
  ...more,
})

const pod = { kind: 'Pod', name: 'a', health: 'degraded', message: 'CrashLoopBackOff' } as const
const service = { kind: 'Service', name: 's', sync: 'out-of-sync' } as const

test('says nothing about an application that is healthy and synced, whatever it was before', () => {
  expect(explain(application({}))).toBeUndefined()
  expect(
    explain(application({ operation: { phase: 'failed' }, conditions: [{ type: 'OrphanedResourceWarning', message: 'x' }] })),
  ).toBe(undefined)
})

test.each([
  [{ health: 'degraded', resources: [pod] }, 'Pod a is degraded: CrashLoopBackOff.'],
  [{ health: 'degraded', resources: [pod, pod, pod] }, 'Pod a is degraded, like 2 other resources: CrashLoopBackOff.'],
  [{ health: 'degraded' }, 'The application is degraded.'],
  [{ health: 'progressing', healthMessage: 'waits for hooks' }, 'The application is not ready yet: waits for hooks.'],
  [{ health: 'unknown' }, 'Argo CD does not know the health of the application.'],
  [
    { health: 'missing', sync: 'out-of-sync', resources: [{ ...service, health: 'missing' }] },
    'Service s does not exist in the cluster. 1 of 1 resource differs from revision 01234567: Service s. Automatic sync is off.',
  ],
  [
    {
      sync: 'out-of-sync',
      isAutomatic: true,
      revisions: ['v1.2.3'],
      resources: [{ ...service, isExtra: true }, service, service, service, pod],
    },
    '4 of 5 resources differ from revision v1.2.3: Service s (to be deleted), Service s, Service s and 1 more. Argo CD syncs automatically.',
  ],
  [{ sync: 'out-of-sync', revisions: [] }, 'The cluster differs from the source. Automatic sync is off.'],
  [{ sync: 'unknown' }, 'Argo CD has not compared the cluster with the source.'],
  [
    { sync: 'unknown', health: 'unknown', conditions: [{ type: 'ComparisonError', message: 'repository not found' }] },
    'Argo CD cannot compare the cluster with the source: repository not found.',
  ],
  [
    { sync: 'out-of-sync', operation: { phase: 'failed', message: 'one or more objects failed to apply' } },
    'The last sync failed: one or more objects failed to apply.',
  ],
  [
    {
      sync: 'out-of-sync',
      operation: { phase: 'error' },
      failures: [
        { kind: 'Ingress', name: 'web', message: 'denied by a webhook' },
        { kind: 'Job', name: 'x' },
      ],
    },
    'The last sync could not apply Ingress web and 1 other object: denied by a webhook.',
  ],
  [{ health: 'progressing', operation: { phase: 'running' } }, 'A sync runs. The application is not ready yet.'],
  [{ isDeleting: true }, 'Argo CD deletes the application.'],
] satisfies [Partial<Explained>, string][])('%j', (more, sentence) => {
  expect(explain(application(more))).toBe(sentence)
})
