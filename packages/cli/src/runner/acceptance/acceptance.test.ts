import { expect, test } from 'vitest'
import { judgeNodes } from './nodes.ts'
import { judgeRights, neededRights } from './rights.ts'
import { judgeVersion } from './version.ts'

test('R001: a cluster that is too old is refused with both versions', () => {
  expect(judgeVersion('v1.9.11')).toMatchObject({ status: 'fail', message: expect.stringContaining('v1.9.11') })
  expect(judgeVersion('v1.20.0').message).toContain('1.21 is the oldest')
  for (const fine of ['v1.21.0', 'v1.34.4', 'v1.29.3-eks-ae9a62a', 'v2.0.0']) expect(judgeVersion(fine).status).toBe('pass')
  expect(judgeVersion('unknown').status).toBe('warn')
})

const node = (name: string, cpu: string, memory: string, disk?: string): unknown => ({
  metadata: { name },
  status: { capacity: { cpu, memory }, ...(disk !== undefined && { allocatable: { 'ephemeral-storage': disk } }) },
})

test('R041: one node that is large enough will do; the small ones are told', () => {
  const found = judgeNodes([node('small', '250m', '512Mi'), node('large', '4', '8Gi')], { localDisks: false })
  expect(found.map(({ status }) => status)).toEqual(['warn', 'pass'])
  expect(found[0]?.message).toContain('250m CPU and 512Mi')
  expect(judgeNodes([node('small', '250m', '512Mi')], { localDisks: false })).toMatchObject([{ status: 'fail' }])
  expect(judgeNodes([], { localDisks: false })).toMatchObject([{ status: 'fail' }])
})

test('R002: a node with little disk is told where disks of builds are folders of nodes', () => {
  const nodes = [node('n', '4', '8Gi', '20G')]
  expect(judgeNodes(nodes, { localDisks: true })).toMatchObject([
    { check: 'node-disk', status: 'warn', message: expect.stringContaining('20 GB') },
    { status: 'pass' },
  ])
  expect(judgeNodes(nodes, { localDisks: false })).toMatchObject([{ status: 'pass' }])
})

test('R041: every right that lacks is listed by its resource and place', () => {
  const parts = { agent: true, runtime: true, provisioner: false, monitor: false }
  const rights = neededRights({ namespace: 'builds', parts })
  expect(rights.some(({ resource }) => resource === 'persistentvolumes')).toBe(false)
  const answers = rights.map((right) => ({ right, allowed: right.resource !== 'clusterrolebindings' && right.verb !== 'delete' }))
  const messages = judgeRights(answers).map(({ message }) => message)
  expect(messages).toContain(
    'You may not create, update, delete clusterrolebindings.rbac.authorization.k8s.io in the whole cluster.',
  )
  expect(messages).toContain('You may not delete pods in namespace builds.')
  expect(judgeRights(rights.map((right) => ({ right, allowed: true })))).toMatchObject([{ status: 'pass' }])
})
