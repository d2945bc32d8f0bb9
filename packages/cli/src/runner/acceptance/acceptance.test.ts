import { expect, test } from 'vitest'
import { evaluateNodes } from './nodes.ts'
import { evaluateRights, neededRights } from './rights.ts'
import { evaluateVersion } from './version.ts'

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
  const messages = evaluateRights(answers).map(({ message }) => message)
  expect(messages).toContain(
    'Missing permission to create, update, delete clusterrolebindings.rbac.authorization.k8s.io in the whole cluster.',
  )
  expect(messages).toContain('Missing permission to delete pods in namespace builds.')
  expect(evaluateRights(rights.map((right) => ({ right, allowed: true })))).toMatchObject([{ status: 'pass' }])
})
