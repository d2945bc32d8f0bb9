import { SyncInput } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { toSyncInput } from './applications.ts'
import { forgeUrlOf } from './integrations.ts'

test.each([
  ['GITHUB', undefined, 'https://github.com'],
  ['GITHUB', 'https://api.github.com', 'https://github.com'],
  ['GITHUB', 'https://git.corp.test/x/api/v3/', 'https://git.corp.test/x'],
  ['GITLAB', '', 'https://gitlab.com'],
  ['GITLAB', 'https://gitlab.corp.test/api/v4', 'https://gitlab.corp.test'],
  ['GITEA', 'http://gitea.test:3000/api/v1', 'http://gitea.test:3000'],
  ['GITEA', 'http://gitea.test:3000', 'http://gitea.test:3000'],
  ['BITBUCKET_SERVER', 'https://git.test/scm/rest/api/1.0', 'https://git.test/scm'],
  ['BITBUCKET', 'https://bitbucket.test', 'https://bitbucket.test'],
] as const)('the forge %s with the API %s is at %s', (provider, apiUrl, url) => {
  expect(forgeUrlOf(provider, apiUrl)).toBe(url)
})

test('a forge of an own server needs its URL', () => {
  expect(() => forgeUrlOf('GITEA', null)).toThrow('needs the argument apiUrl')
})

test('options of a sync become the input of the route', () => {
  const defaults = { prune: false, dryRun: false, force: false, applyOnly: false, options: [], resources: [] }
  const parsed = (options: Parameters<typeof toSyncInput>[0]): unknown => SyncInput.parse(toSyncInput(options))
  expect(parsed(undefined)).toEqual(defaults)
  expect(parsed({ prune: true })).toEqual({ ...defaults, prune: true })
  expect(parsed({ strategy: { hook: { force: true } } })).toEqual({ ...defaults, force: true })
  expect(parsed({ strategy: { apply: {} }, revision: 'v2', dryRun: true })).toEqual({
    ...defaults,
    applyOnly: true,
    revision: 'v2',
    dryRun: true,
  })
  expect(
    parsed({
      syncOptions: { items: ['CreateNamespace=true', null] },
      resources: [
        { group: 'apps', kind: 'Deployment', name: 'api', namespace: 'shop' },
        { kind: 'Secret', name: 'x' },
      ],
      retryStrategy: { limit: 3, backoff: { duration: '10s', factor: 3, maxDuration: '1m' } },
    }),
  ).toEqual({
    ...defaults,
    options: ['CreateNamespace=true'],
    resources: [
      { group: 'apps', kind: 'Deployment', name: 'api', namespace: 'shop' },
      { group: '', kind: 'Secret', name: 'x', namespace: '' },
    ],
    retry: { limit: 3, duration: '10s', factor: 3, maxDuration: '1m' },
  })
})
