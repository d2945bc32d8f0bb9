import { expect, test } from 'vitest'
import { fromPublicType, isOfType } from './context-types.ts'

const auth = (fields: object): Record<string, unknown> => ({
  sharingPolicy: 'AccountAdmins',
  auth: { type: 'basic', password: 'p', ...fields },
})

test.each([
  ['git.github', auth({}), { url: 'https://github.com', password: 'p' }],
  [
    'git.github',
    auth({ apiHost: 'git.example.com', apiPathPrefix: '/api/v3' }),
    { url: 'https://git.example.com', password: 'p' },
  ],
  ['git.gitlab', auth({ apiURL: 'https://lab.example.com/api/v4/' }), { url: 'https://lab.example.com', password: 'p' }],
  ['git.bitbucket', auth({ username: 'ann' }), { url: 'https://bitbucket.org', username: 'ann', password: 'p' }],
  [
    'git.stash',
    auth({ username: 'ann', apiURL: 'https://stash.example.com:7990/rest' }),
    { url: 'https://stash.example.com:7990', username: 'ann', password: 'p' },
  ],
])('converts %s with %j', (type, data, expected) => {
  expect(fromPublicType(type, data)).toEqual({ type: 'git', data: expected })
})

test('converts a store in the cluster of a runtime', () => {
  const data = { resourceType: 'secret', resourceName: 'passwords', runtimes: ['cluster/ns'] }
  expect(fromPublicType('secret-store.kubernetes-runtime', data)).toEqual({
    type: 'secret-store',
    data: { resourceType: 'secret', resourceName: 'passwords', runtime: 'cluster/ns' },
  })
})

test('keeps types of Windlass, and refuses types without a counterpart', () => {
  expect(fromPublicType('config', { A: 'b' })).toEqual({ type: 'config', data: { A: 'b' } })
  expect(() => fromPublicType('helm-repository', {})).toThrow('Windlass has no contexts of type "helm-repository".')
})

test('a family of types includes the contexts of Windlass', () => {
  expect(isOfType('git', 'git.github')).toBe(true)
  expect(isOfType('git', 'git')).toBe(true)
  expect(isOfType('secret', 'secret-yaml')).toBe(false)
  expect(isOfType('secret', 'secret.x')).toBe(false)
})
