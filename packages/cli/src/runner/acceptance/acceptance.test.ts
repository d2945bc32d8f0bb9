import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { silentLog } from '@windlass/kit'
import { evaluateRights, openKube } from '@windlass/kube'
import { expect, test } from 'vitest'
import { nodeCheckOf } from './network.ts'
import { evaluateNodes } from './nodes.ts'
import { INSTALLER_HINT, neededRights } from './rights.ts'
import { evaluateVersion, OLDEST_KUBERNETES } from './version.ts'

const root = join(import.meta.dirname, '../../../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('rejects a cluster that is too old, naming both versions (R001)', () => {
  expect(evaluateVersion('v1.9.11')).toMatchObject({ status: 'fail', message: expect.stringContaining('v1.9.11') })
  expect(evaluateVersion('v1.24.17').message).toContain('the oldest supported version is 1.25')
  for (const fine of ['v1.25.0', 'v1.34.4', 'v1.29.3-eks-ae9a62a', 'v2.0.0']) expect(evaluateVersion(fine).status).toBe('pass')
  expect(evaluateVersion('unknown').status).toBe('warn')
})

const node = (name: string, cpu: string, memory: string, disk?: string): unknown => ({
  metadata: { name },
  status: { capacity: { cpu, memory }, ...(disk !== undefined && { allocatable: { 'ephemeral-storage': disk } }) },
})

test('requires one node that is large enough, and warns about small ones (R041)', () => {
  const found = evaluateNodes([node('small', '250m', '512Mi'), node('large', '4', '8Gi')], { localDisks: false })
  expect(found.map(({ status }) => status)).toEqual(['warn', 'pass'])
  expect(found[0]?.message).toContain('250m CPU and 512Mi')
  expect(evaluateNodes([node('small', '250m', '512Mi')], { localDisks: false })).toMatchObject([{ status: 'fail' }])
  expect(evaluateNodes([], { localDisks: false })).toMatchObject([{ status: 'fail' }])
})

test('warns about a node with little disk space if build disks are folders on nodes (R002)', () => {
  const nodes = [node('n', '4', '8Gi', '20G')]
  expect(evaluateNodes(nodes, { localDisks: true })).toMatchObject([
    { check: 'node-disk', status: 'warn', message: expect.stringContaining('20 GB') },
    { status: 'pass' },
  ])
  expect(evaluateNodes(nodes, { localDisks: false })).toMatchObject([{ status: 'pass' }])
})

test('lists missing permissions by resource and namespace (R041)', () => {
  const parts = { agent: true, runtime: true, provisioner: false, monitor: false }
  const rights = neededRights({ namespace: 'builds', parts })
  expect(rights.some(({ resource }) => resource === 'persistentvolumes')).toBe(false)
  const answers = rights.map((right) => ({ right, allowed: right.resource !== 'clusterrolebindings' && right.verb !== 'delete' }))
  const messages = evaluateRights(answers, INSTALLER_HINT).map(({ message }) => message)
  expect(messages).toContain(
    'Missing permission to create, update, patch, delete clusterrolebindings.rbac.authorization.k8s.io in the whole cluster.',
  )
  expect(messages).toContain('Missing permission to delete pods in namespace builds.')
  expect(
    evaluateRights(
      rights.map((right) => ({ right, allowed: true })),
      INSTALLER_HINT,
    ),
  ).toMatchObject([{ status: 'pass' }])
})

test('the pages of GKE and Rancher grant the role that the review of permissions asks for, and check one of its permissions (R147, R159)', () => {
  const rights = neededRights({ namespace: 'n', parts: { agent: true, runtime: true, provisioner: true, monitor: true } })
  const [missing] = evaluateRights(
    rights.map((right) => ({ right, allowed: false })),
    INSTALLER_HINT,
  )
  const [, role = ''] = /kubectl create clusterrolebinding \S+ --clusterrole (\S+)/.exec(read('docs/runner/clouds/gke.md')) ?? []
  expect(missing?.hint).toContain(`such as ${role}.`)
  for (const page of ['gke', 'rke']) {
    const [, verb, resource] = /kubectl auth can-i (\w+) (\w+)/.exec(read(`docs/runner/clouds/${page}.md`)) ?? []
    expect(rights.map((right) => [right.verb, right.resource, right.namespace])).toContainEqual([verb, resource, undefined])
  }
})

test('pages and charts name the oldest version that the check accepts, and older steps as unsupported (R220)', () => {
  const oldest = `${OLDEST_KUBERNETES.major}.${OLDEST_KUBERNETES.minor}`
  for (const page of ['install-helm', 'install-wizard'])
    expect(read(`docs/runner/${page}.md`)).toContain(`Kubernetes ${oldest} or later`)
  for (const chart of ['windlass', 'windlass-runtime'])
    expect(read(`charts/${chart}/Chart.yaml`)).toContain(`kubeVersion: '>=${oldest}.0-0'`)
  expect(read('docs/runner/migrate.md')).toContain(
    `Kubernetes before ${oldest} is not supported, including feature gates for local volumes and the extra cluster role`,
  )
})

test('the pod that checks a node has the disk and the privileges of the daemon of the runtime (R053)', () => {
  const access = { server: 'https://127.0.0.1:1', ca: undefined, token: () => 't', insecure: false, namespace: 'n' }
  const kube = openKube({ access, log: silentLog })
  const given = { kube, namespace: 'n', serverUrl: 'https://w', caFile: undefined }
  expect(nodeCheckOf({ ...given, runtime: {} })).toMatchObject({
    diskPath: '/var/lib/docker',
    podSecurity: undefined,
    daemonSecurity: { privileged: true },
  })
  const rootless = {
    podSecurityContext: { fsGroup: 1000 },
    containerSecurityContext: { privileged: true, runAsUser: 1000 },
    volumeMounts: { dind: { mountPath: '/home/rootless/.local/share/docker' } },
  }
  expect(nodeCheckOf({ ...given, runtime: { dockerDaemonScheduler: rootless } })).toMatchObject({
    diskPath: '/home/rootless/.local/share/docker',
    podSecurity: { fsGroup: 1000 },
    daemonSecurity: { privileged: true, runAsUser: 1000 },
  })
  kube.close()
})
