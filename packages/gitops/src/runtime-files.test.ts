import { expect, test } from 'vitest'
import { clusterPath, gitSourcePath, IN_CLUSTER } from './layout.ts'
import {
  clusterFile,
  clusterServerOf,
  editInClusterFile,
  inClusterFile,
  isConfigurationFile,
  runtimeApplication,
} from './runtime-files.ts'

const shared = { clone: 'https://git.example.com/acme/gitops.git', path: '', branch: 'main' }
const place = { runtime: 'prod', namespace: 'gitops-prod' }
const edit = (text: string, isConfigurationRuntime: boolean): string | undefined =>
  editInClusterFile(text, shared, { runtime: 'prod', isConfigurationRuntime })

test('the application of a runtime points to its folder (O030)', () => {
  expect(clusterPath('prod', IN_CLUSTER)).toBe('runtimes/prod/in-cluster.yaml')
  expect(gitSourcePath('prod', 'apps')).toBe('resources/runtimes/prod/apps.yaml')
  expect(runtimeApplication({ ...shared, path: 'team/a' }, place)).toEqual({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {
      name: 'prod-isc',
      namespace: 'gitops-prod',
      labels: { 'codefresh.io/entity': 'internal-config', 'codefresh.io/internal': 'true' },
    },
    spec: {
      project: 'default',
      source: { repoURL: shared.clone, path: 'team/a/runtimes/prod', targetRevision: 'main' },
      destination: { namespace: 'gitops-prod', server: 'https://kubernetes.default.svc' },
      syncPolicy: { automated: { allowEmpty: true, prune: true, selfHeal: true }, syncOptions: ['allowEmpty=true'] },
    },
  })
})

test('in-cluster applies the four places of a runtime, and is the same text each time (O030)', () => {
  const text = inClusterFile(shared, place, { isConfigurationRuntime: false })
  expect(text).toBe(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: in-cluster
  namespace: gitops-prod
  labels:
    codefresh.io/entity: internal-config
    codefresh.io/internal: "true"
spec:
  project: default
  source:
    repoURL: https://git.example.com/acme/gitops.git
    path: resources
    targetRevision: main
    directory:
      include: "{all-runtimes-all-clusters/*.yaml,all-runtimes-all-clusters/**/*.yaml,runtimes/prod/*.yaml,runtimes/prod/**/*.yaml,control-planes/*.yaml,control-planes/**/*.yaml,app-projects/*.yaml,app-projects/**/*.yaml}"
      recurse: true
  destination:
    namespace: gitops-prod
    server: https://kubernetes.default.svc
  syncPolicy:
    automated:
      allowEmpty: true
      prune: true
      selfHeal: true
    syncOptions:
      - allowEmpty=true
`)
  expect(inClusterFile(shared, place, { isConfigurationRuntime: false })).toBe(text)
})

test('only a configuration runtime applies configurations, and the change keeps what people have added (O072)', () => {
  const plain = inClusterFile(shared, place, { isConfigurationRuntime: false })
  const configured = inClusterFile(shared, place, { isConfigurationRuntime: true })
  expect(plain).not.toContain('configurations/')
  expect(configured).toContain('configurations/*.yaml,configurations/**/*.yaml}')
  expect([plain, configured].map(isConfigurationFile)).toEqual([false, true])
  expect(edit(plain, true)).toBe(configured)
  expect(edit(configured, false)).toBe(plain)
  expect(edit(plain, false)).toBe(plain)
  const own = configured
    .replace('{all-runtimes', '{extra/*.yaml,all-runtimes')
    .replace('  project: default\n', '  # for the audit\n  project: special\n  ignoreDifferences: []\n')
  const edited = edit(own, false)
  for (const part of ['# for the audit', 'project: special', 'ignoreDifferences: []', '{extra/*.yaml,'])
    expect(edited).toContain(part)
  expect(isConfigurationFile(edited ?? '')).toBe(false)
  expect(edit(edited ?? '', true)).toContain('{extra/*.yaml,')
})

test('a file that is not such an application is not edited', () => {
  for (const text of ['', 'a: [', '- x', 'kind: Application', 'a: 1\n---\nb: 2\n', 'a: &a [*a, *a]\n']) {
    expect(edit(text, true)).toBeUndefined()
    expect(isConfigurationFile(text)).toBeUndefined()
  }
  const aliases = inClusterFile(shared, place, { isConfigurationRuntime: false }).replace(
    /source:[\s\S]*?destination:/,
    'source: *nothing\n  destination:',
  )
  expect(edit(aliases, true)).toBeUndefined()
})

test('a managed cluster gets only what is for all clusters, and its file names its API server', () => {
  const text = clusterFile(shared, place, { name: 'staging', server: 'https://10.1.2.3:6443' })
  expect(text).toContain('include: "{all-runtimes-all-clusters/*.yaml,all-runtimes-all-clusters/**/*.yaml}"')
  expect(text).not.toContain('control-planes')
  // The namespace of the runtime need not be there.
  expect(text).toContain('      - CreateNamespace=true\n')
  expect(clusterServerOf(text)).toBe('https://10.1.2.3:6443')
})

test('a hosted runtime applies its Git sources to its own cluster, with a project for that, and the rest to managed clusters', () => {
  const hosted = { ...place, isHosted: true }
  const text = inClusterFile(shared, hosted, { isConfigurationRuntime: false })
  expect(text).toContain('include: "{runtimes/prod/*.yaml,runtimes/prod/**/*.yaml}"\n')
  expect(text).toContain('project: windlass-runtime\n')
  expect(editInClusterFile(text, shared, { ...hosted, isConfigurationRuntime: false })).toBe(text)
  expect(runtimeApplication(shared, hosted)).toMatchObject({ spec: { project: 'windlass-runtime' } })
  const eu = clusterFile(shared, hosted, { name: 'eu', server: 'https://eu.example.com' })
  expect(eu).toContain('project: default\n')
  expect(eu).toContain('include: "{all-runtimes-all-clusters/*.yaml,all-runtimes-all-clusters/**/*.yaml}"\n')
})
