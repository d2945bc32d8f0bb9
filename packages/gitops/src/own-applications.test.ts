import { expect, test } from 'vitest'
import { ownApplications } from './own-applications.ts'

test('the applications of a runtime are removed in an order in which none creates another one again, and those of users are none of them', () => {
  const application = (name: string, entity?: string): { metadata: { name: string; labels?: Record<string, string> } } => ({
    metadata: { name, ...(entity !== undefined && { labels: { 'codefresh.io/entity': entity } }) },
  })
  const all = [
    application('apps', 'git-source'),
    application('in-cluster', 'internal-config'),
    application('prod', 'runtime'),
    application('prod-isc', 'internal-config'),
    application('shop'),
    application('web', 'product'),
    application('staging-eu', 'internal-config'),
    application('argo-rollouts-eu', 'argo-rollouts'),
  ]
  expect(ownApplications(all, 'prod')).toEqual(['prod-isc', 'in-cluster', 'apps', 'prod', 'staging-eu', 'argo-rollouts-eu'])
})
