import type { KubeObject, StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { checkPolicy, type AgentPolicy } from './policy.ts'

const policy: AgentPolicy = {
  namespaces: ['builds'],
  serviceAccounts: ['windlass-engine'],
  privilegedImages: [],
  secrets: [],
  claims: [],
  hostPaths: [],
  volumeTypes: [],
  isPermissive: false,
}
const BUILD = '65a1b2c3d4e5f60718293a4b'
const labels = { 'windlass.io/build': BUILD, 'windlass.io/attempt': '1' }

function pod(spec: Record<string, unknown>, more: { app?: string; container?: Record<string, unknown> } = {}): KubeObject {
  const container = { name: 'main', image: 'registry.example.com/engine:1', ...more.container }
  const metadata = { name: 'pod', namespace: 'builds', labels: { ...labels, app: more.app ?? 'runtime' } }
  const base = { serviceAccountName: 'windlass-engine', automountServiceAccountToken: false, containers: [container] }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...base, ...spec } }
}

function task(...objects: KubeObject[]): StartTask {
  const id = BUILD
  const engine = { bootstrap: 'x', serverUrl: 'http://x' }
  return { kind: 'start-attempt', id, revision: 1, buildId: BUILD, attempt: 1, runtime: 'r', leaseMs: 1, engine, objects }
}

function problem(object: KubeObject, rules: AgentPolicy = policy): string {
  try {
    checkPolicy(task(object), rules)
    return 'allowed'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

test('a plain pod of the build is allowed, and a privileged one when it is dind', () => {
  expect(problem(pod({}))).toBe('allowed')
  expect(problem(pod({}, { app: 'dind', container: { securityContext: { privileged: true } } }))).toBe('allowed')
})

test.each<[string, KubeObject]>([
  ['kind Deployment', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x', namespace: 'builds', labels } }],
  ['namespace kube-system', { ...pod({}), metadata: { name: 'pod', namespace: 'kube-system', labels } }],
  ['namespace (none)', { ...pod({}), metadata: { name: 'pod', labels } }],
  ['not labelled', { ...pod({}), metadata: { name: 'pod', namespace: 'builds', labels: { 'windlass.io/build': 'other' } } }],
  ['owners', { ...pod({}), metadata: { name: 'pod', namespace: 'builds', labels, ownerReferences: [] } }],
  ['may not be privileged', pod({}, { container: { securityContext: { privileged: true } } })],
  ['may not be privileged', pod({}, { container: { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } } })],
  ['hostNetwork', pod({ hostNetwork: true })],
  ['hostPID', pod({ hostPID: true })],
  ['nodeName', pod({ nodeName: 'node1' })],
  ['hostPath', pod({ volumes: [{ name: 'host', hostPath: { path: '/' } }] })],
  ['host ports', pod({}, { container: { ports: [{ containerPort: 1, hostPort: 1 }] } })],
  ['secret other', pod({ volumes: [{ name: 'keys', secret: { secretName: 'other' } }] })],
  ['claim other', pod({ volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: 'other' } }] })],
  ['secret other', pod({}, { container: { env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } }] } })],
  ['secret other', pod({}, { container: { envFrom: [{ secretRef: { name: 'other' } }] } })],
  ['service account admin', pod({ serviceAccountName: 'admin' })],
  ['service account token', pod({ automountServiceAccountToken: true })],
])('an object is refused for its %s', (reason, object) => {
  expect(problem(object)).toContain(reason)
})

test('privileged images can be limited to some', () => {
  const dind = pod({}, { app: 'dind', container: { image: 'evil/dind:1', securityContext: { privileged: true } } })
  expect(problem(dind, { ...policy, privilegedImages: ['registry.example.com/'] })).toContain('may not be privileged')
})

test('an init container is held to the same rules', () => {
  const initContainers = [{ name: 'init', image: 'x', securityContext: { privileged: true } }]
  expect(problem(pod({ initContainers }))).toContain('container init may not be privileged')
})

test('R194, R195: the owner of the cluster lends builds Secrets, claims, folders of nodes and further kinds of volumes, each by name', () => {
  const lent = { ...policy, secrets: ['team'], claims: ['cache'], hostPaths: ['/mnt/tools'], volumeTypes: ['nfs'] }
  const volume = (source: object): KubeObject => pod({ volumes: [{ name: 'more', ...source }] })
  const env = (name: string): KubeObject =>
    pod({}, { container: { env: [{ name: 'X', valueFrom: { secretKeyRef: { name, key: 'k' } } }] } })
  for (const object of [
    volume({ secret: { secretName: 'team' } }),
    volume({ persistentVolumeClaim: { claimName: 'cache' } }),
    volume({ hostPath: { path: '/mnt/tools/node' } }),
    volume({ nfs: { server: 'files', path: '/' } }),
    env('team'),
  ])
    expect([problem(object, lent), problem(object)]).toEqual(['allowed', expect.stringContaining('not ')])
  for (const path of ['/mnt', '/mnt/tools-of-others', '/mnt/tools/../..'])
    expect(problem(volume({ hostPath: { path } }), lent)).toContain('WINDLASS_AGENT_ALLOWED_HOST_PATHS')
  expect(problem(env('other'), lent)).toContain('WINDLASS_AGENT_ALLOWED_SECRETS')
  expect(problem(env('other'), { ...policy, secrets: ['*'] })).toBe('allowed')
})

test('a permissive policy still keeps builds to their namespaces, kinds and service accounts', () => {
  const permissive = { ...policy, isPermissive: true }
  expect(problem(pod({ hostNetwork: true, volumes: [{ name: 'host', hostPath: { path: '/' } }] }), permissive)).toBe('allowed')
  expect(problem(pod({ serviceAccountName: 'admin' }), permissive)).toContain('service account admin')
  expect(problem({ ...pod({}), metadata: { name: 'pod', namespace: 'kube-system', labels } }, permissive)).toContain('namespace')
})
