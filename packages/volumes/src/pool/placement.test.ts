import type { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { NOTE } from './notes.ts'
import { acceptsPod, inLabel, isWithinReach, onNode, Placement } from './placement.ts'
import { Volume } from './volume.ts'

function node(
  name: string,
  parts: { labels?: Record<string, string>; taints?: object[]; closed?: boolean; ready?: string } = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...parts.labels } },
    spec: { unschedulable: parts.closed ?? false, taints: parts.taints ?? [] },
    status: { conditions: [{ type: 'Ready', status: parts.ready ?? 'True' }] },
  }
}

const disk = (spec: object, annotations: Record<string, string> = {}): Volume =>
  Volume.parse({ metadata: { name: 'd', resourceVersion: '1', annotations }, spec: { capacity: { storage: '1Gi' }, ...spec } })
const affinity = (expression: object): Placement =>
  Placement.parse({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
      },
    },
  })

test('does not place pods on a node that is cordoned, not ready, not selected or not tolerated (V8)', () => {
  const dind = { key: 'codefresh.io', value: 'dinds', effect: 'NoSchedule' }
  const tolerant = Placement.parse({
    tolerations: [{ key: 'codefresh.io', operator: 'Equal', value: 'dinds', effect: 'NoSchedule' }],
  })
  expect(acceptsPod(node('n'), undefined)).toBe(true)
  expect(acceptsPod(node('n', { closed: true }), undefined)).toBe(false)
  expect(acceptsPod(node('n', { ready: 'Unknown' }), undefined)).toBe(false)
  expect(acceptsPod(node('n'), Placement.parse({ nodeSelector: { 'node-type': 'dind' } }))).toBe(false)
  expect(
    acceptsPod(node('n', { labels: { 'node-type': 'dind' } }), Placement.parse({ nodeSelector: { 'node-type': 'dind' } })),
  ).toBe(true)
  expect(acceptsPod(node('n', { taints: [dind] }), Placement.parse({}))).toBe(false)
  expect(acceptsPod(node('n', { taints: [dind] }), tolerant)).toBe(true)
  expect(acceptsPod(node('n', { taints: [{ ...dind, effect: 'PreferNoSchedule' }] }), Placement.parse({}))).toBe(true)
  expect(acceptsPod(node('n', { taints: [dind] }), Placement.parse({ tolerations: [{ operator: 'Exists' }] }))).toBe(true)
})

test.each([
  [{ key: 'arch', operator: 'In', values: ['arm'] }, true],
  [{ key: 'arch', operator: 'NotIn', values: ['arm'] }, false],
  [{ key: 'arch', operator: 'Exists' }, true],
  [{ key: 'gpu', operator: 'DoesNotExist' }, true],
  [{ key: 'cores', operator: 'Gt', values: ['4'] }, true],
  [{ key: 'cores', operator: 'Lt', values: ['4'] }, false],
])('evaluates an affinity of %j', (expression, isTaken) => {
  expect(acceptsPod(node('n', { labels: { arch: 'arm', cores: '8' } }), affinity(expression))).toBe(isTaken)
})

test('reaches a disk from its node, or from the nodes of its zone (R093, R202)', () => {
  const [here, there] = ['a', 'b'].map((zone) => node(`n-${zone}`, { labels: { 'topology.kubernetes.io/zone': zone } }))
  if (here === undefined || there === undefined) throw new Error('two nodes')
  const zonal = disk({ nodeAffinity: inLabel('topology.kubernetes.io/zone', 'a') })
  expect([isWithinReach(zonal, here), isWithinReach(zonal, there)]).toEqual([true, false])
  const local = disk({ nodeAffinity: onNode(there) }, { [NOTE.node]: 'n-b' })
  expect([isWithinReach(local, here), isWithinReach(local, there)]).toEqual([false, true])
  expect(isWithinReach(disk({}), here)).toBe(true)
})
