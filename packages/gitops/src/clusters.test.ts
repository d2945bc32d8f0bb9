import { expect, test } from 'vitest'
import { readClusterLogin } from './cluster-login.ts'
import { clusterNameOf } from './cluster-names.ts'
import { clusterSecret, readClusterSecret } from './cluster-secret.ts'

const config = {
  'current-context': 'c',
  contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
  clusters: [{ name: 'k', cluster: { server: 'https://10.1.2.3:6443/', 'certificate-authority-data': 'Q0E=' } }],
  users: [{ name: 'u', user: { token: 'secret-token' } }],
}
const withUser = (user: object): string => JSON.stringify({ ...config, users: [{ name: 'u', user }] })
const withCluster = (cluster: object): string =>
  JSON.stringify({ ...config, clusters: [{ name: 'k', cluster: { ...config.clusters[0]?.cluster, ...cluster } }] })

test('reads server, authority and token of a kubeconfig', () => {
  const login = { server: 'https://10.1.2.3:6443', token: 'secret-token', caData: 'Q0E=' }
  expect(readClusterLogin(JSON.stringify(config))).toEqual(login)
  expect(readClusterLogin(JSON.stringify({ clusters: config.clusters, users: config.users }))).toEqual(login)
})

test('a kubeconfig that names programs, files or no TLS is refused with its reason', () => {
  const cases: readonly (readonly [string, string])[] = [
    [withUser({ exec: { command: 'sh', args: ['-c', 'id'] } }), 'no token'],
    [withUser({ tokenFile: '/etc/shadow' }), 'no token'],
    [withUser({ 'client-certificate-data': 'x' }), 'no token'],
    [withCluster({ 'certificate-authority': '/etc/passwd' }), 'file'],
    [withCluster({ 'insecure-skip-tls-verify': true }), 'check of the certificate'],
    [withCluster({ server: 'http://10.1.2.3' }), 'https'],
    [withCluster({ server: 'file:///etc' }), 'https'],
    [JSON.stringify({ ...config, contexts: [{ name: 'c', context: { cluster: 'x', user: 'u' } }] }), 'lacks'],
    [JSON.stringify({ ...config, 'current-context': 'x', users: [...config.users, ...config.users] }), 'several'],
    ['a: [', 'not valid'],
    ['', 'not valid'],
    ['clusters: &a [*a]', 'not valid'],
  ]
  for (const [text, why] of cases) expect(readClusterLogin(text)).toContain(why)
})

test('the Secret of a cluster has its credentials, and reserved labels are left out', () => {
  const secret = clusterSecret({
    name: 'staging',
    namespace: 'gitops-prod',
    login: { server: 'https://10.1.2.3:6443', token: 'secret-token', caData: 'Q0E=' },
    labels: { team: 'shop', 'argocd.argoproj.io/secret-type': 'repository', 'windlass.io/managed-cluster': 'other' },
    annotations: { note: 'x', 'managed-by.argoproj.io/x': 'y' },
  })
  expect(secret.metadata).toEqual({
    name: 'cluster-staging',
    namespace: 'gitops-prod',
    labels: { team: 'shop', 'argocd.argoproj.io/secret-type': 'cluster', 'windlass.io/managed-cluster': 'staging' },
    annotations: { note: 'x' },
  })
  expect(readClusterSecret(secret)).toEqual({ name: 'staging', server: 'https://10.1.2.3:6443' })
  expect(JSON.parse(Buffer.from(secret.data['config'] ?? '', 'base64').toString())).toEqual({
    bearerToken: 'secret-token',
    tlsClientConfig: { insecure: false, caData: 'Q0E=' },
  })
  expect(readClusterSecret({ data: {} })).toBeUndefined()
})

test.each([
  ['kind-shop', [], 'kind-shop'],
  ['arn:aws:eks:eu-1:123:cluster/Shop_EU', [], 'arn-aws-eks-eu-1-123-cluster-shop-eu'],
  ['123-shop', [], 'shop'],
  ['--', [], 'cluster'],
  ['shop', ['shop'], 'shop-1'],
  ['shop', ['shop', 'shop-1'], 'shop-2'],
  [`a${'b'.repeat(100)}`, [], `a${'b'.repeat(60)}`],
  [`a${'b'.repeat(100)}`, [`a${'b'.repeat(60)}`], `a${'b'.repeat(60)}-1`],
  [`${'a'.repeat(60)}/b`, [], 'a'.repeat(60)],
])('the context %s beside %j becomes the cluster %s (O055)', (context, taken, name) => {
  expect(clusterNameOf(context, new Set(taken))).toBe(name)
  expect(name).toMatch(/^[a-z](?:[-a-z\d]{0,61}[a-z\d])?$/)
})
