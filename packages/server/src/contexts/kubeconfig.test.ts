import { expect, test } from 'vitest'
import { readKubeconfig } from './kubeconfig.ts'

const config = (user: string, cluster = 'certificate-authority-data: YQ==') => `
apiVersion: v1
kind: Config
current-context: work
clusters:
  - { name: far, cluster: { server: 'https://far', ${cluster} } }
  - { name: other, cluster: { server: 'https://other' } }
users: [{ name: me, user: { ${user} } }]
contexts:
  - { name: work, context: { cluster: far, user: me, namespace: team } }
  - { name: play, context: { cluster: other, user: me } }
`

test('keeps only the current context of a kubeconfig, renamed to the integration (P181)', () => {
  const read = readKubeconfig(config('token: t'), 'prod')
  expect('json' in read && JSON.parse(read.json)).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'prod', cluster: { server: 'https://far', 'certificate-authority-data': 'YQ==' } }],
    users: [{ name: 'prod', user: { token: 't' } }],
    contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod', namespace: 'team' } }],
    'current-context': 'prod',
  })
})

test('rejects a kubeconfig that depends on files or programs of one machine, with what to do', () => {
  const problemOf = (text: string): string => {
    const read = readKubeconfig(text, 'prod')
    return 'problem' in read ? read.problem : ''
  }
  expect(problemOf(config('client-key: /home/me/key'))).toContain('--flatten')
  expect(problemOf(config('token: t', 'certificate-authority: ca.crt'))).toContain('--flatten')
  expect(problemOf(config('exec: { command: aws }'))).toContain('program')
  expect(problemOf(config('token: t').replace('work\n', 'nowhere\n'))).toContain('has no current context')
  expect(problemOf('a: b')).toContain('not a kubeconfig')
  expect(problemOf('{')).toContain('not valid YAML')
})
