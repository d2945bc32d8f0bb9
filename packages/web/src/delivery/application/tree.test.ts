import type { ApplicationResource, ResourceNode } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { countStates, rowsOf, toTree, type StateFilter, type TreeObject } from './tree.ts'

const node = (kind: string, name: string, more: Partial<ResourceNode> = {}): ResourceNode => ({
  kind,
  name,
  namespace: 'shop',
  uid: `${kind}-${name}`,
  parents: [],
  info: [],
  images: [],
  ...more,
})

const RESOURCES: ApplicationResource[] = [
  { kind: 'Service', namespace: 'shop', name: 'front', sync: 'synced', health: 'healthy' },
  { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'front', sync: 'out-of-sync', health: 'progressing' },
  { kind: 'ConfigMap', namespace: 'shop', name: 'new', sync: 'out-of-sync', health: 'missing' },
  { kind: 'ConfigMap', namespace: 'shop', name: 'old', sync: 'out-of-sync', isExtra: true },
]
const NODES: ResourceNode[] = [
  node('Pod', 'front-a-1', { parents: ['ReplicaSet-front-a'], health: 'degraded', message: 'the image cannot be pulled' }),
  node('ReplicaSet', 'front-a', { group: 'apps', parents: ['Deployment-front'], health: 'progressing' }),
  node('Deployment', 'front', { group: 'apps', health: 'progressing', info: [{ name: 'Revision', value: 'Rev:2' }] }),
  node('Service', 'front', { health: 'healthy' }),
  node('EndpointSlice', 'front-x', { group: 'discovery.k8s.io', parents: ['Service-front', 'gone'] }),
  node('ConfigMap', 'old'),
]

const shown = (tree: readonly TreeObject[], filter?: StateFilter, opened: ReadonlyMap<string, boolean> = new Map()): string[] =>
  rowsOf(tree, { filter, opened }).map(({ object, depth }) => `${'  '.repeat(depth)}${object.kind}/${object.name}`)

test('objects stand below their owners, the parts that need attention first, and those that are missing too', () => {
  const tree = toTree(RESOURCES, NODES)
  expect(shown(tree)).toEqual([
    'Deployment/front',
    '  ReplicaSet/front-a',
    '    Pod/front-a-1',
    'ConfigMap/new',
    'ConfigMap/old',
    'Service/front',
    '  EndpointSlice/front-x',
  ])
  const rows = rowsOf(tree, { filter: undefined, opened: new Map() })
  expect(rows[0]).toMatchObject({ object: { sync: 'out-of-sync', message: 'Revision: Rev:2' }, isOpen: true })
  expect(rows[2]).toMatchObject({
    object: { message: 'the image cannot be pulled' },
    parent: 'ReplicaSet/shop/front-a',
    isOpen: undefined,
  })
  expect(rows[4]?.object.message).toBe('Not in the source anymore: a sync with pruning deletes it.')
})

test('a filter keeps the objects that have the state and those above them', () => {
  const tree = toTree(RESOURCES, NODES)
  expect(shown(tree, 'degraded')).toEqual(['Deployment/front', '  ReplicaSet/front-a', '    Pod/front-a-1'])
  expect(shown(tree, 'out-of-sync')).toEqual(['Deployment/front', 'ConfigMap/new', 'ConfigMap/old'])
  expect(shown(tree, 'suspended')).toEqual([])
  expect(Object.fromEntries(countStates(tree))).toEqual({
    undefined: 7,
    degraded: 1,
    progressing: 2,
    missing: 1,
    healthy: 1,
    'out-of-sync': 3,
  })
})

test('a closed object hides those below it, and a large tree opens only what needs attention', () => {
  expect(shown(toTree(RESOURCES, NODES), undefined, new Map([['Deployment.apps/shop/front', false]])).slice(0, 2)).toEqual([
    'Deployment/front',
    'ConfigMap/new',
  ])
  const many = Array.from({ length: 60 }, (_, index) => [
    node('ReplicaSet', `r${index}`, { health: index === 7 ? 'progressing' : 'healthy' }),
    node('Pod', `p${index}`, { parents: [`ReplicaSet-r${index}`] }),
  ])
  expect(shown(toTree([], many.flat())).slice(0, 3)).toEqual(['ReplicaSet/r7', '  Pod/p7', 'ReplicaSet/r0'])
  expect(shown(toTree([], many.flat()))).toHaveLength(61)
})

test('objects that own each other are shown once', () => {
  const ring = [node('A', 'a', { parents: ['B-b'] }), node('B', 'b', { parents: ['A-a'] }), node('C', 'c', { parents: ['C-c'] })]
  expect(shown(toTree([], ring))).toEqual(['A/a', '  B/b', 'C/c'])
})

test('without a tree of the cluster the reported objects are shown', () => {
  expect(shown(toTree(RESOURCES))).toEqual(['ConfigMap/new', 'Deployment/front', 'ConfigMap/old', 'Service/front'])
})
