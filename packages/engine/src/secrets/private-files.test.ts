import { expect, test } from 'vitest'
import { kubeconfigSecrets, mergeKubeconfigs } from './private-files.ts'

const access = (name: string, user: object) => ({
  context: name,
  kubeconfig: JSON.stringify({
    clusters: [{ name, cluster: { server: `https://${name}` } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }),
})

test('merges the clusters into one kubeconfig with a context for each (P181)', () => {
  const merged = mergeKubeconfigs([
    access('one', { token: 't1' }),
    access('two', { token: 't2' }),
    { context: 'bad', kubeconfig: ':' },
  ])
  expect(merged).toMatchObject({
    'current-context': 'one',
    contexts: [{ name: 'one' }, { name: 'two' }],
    clusters: [{ cluster: { server: 'https://one' } }, { name: 'two' }],
    users: [{ user: { token: 't1' } }, { name: 'two' }],
  })
})

test('treats the credentials of clusters as secrets of the build', () => {
  const clusters = [
    access('one', { token: 'tok', 'client-certificate-data': 'open' }),
    access('two', { 'client-key-data': 'key' }),
  ]
  expect(kubeconfigSecrets({ clusters })).toEqual(['tok', 'key'])
})
