import { expect, test } from 'vitest'
import { originsOf } from './origins.ts'

test('names the highest layer that sets a value, also one that sets it again to the same', () => {
  const origins = originsOf([
    { name: 'base', layer: { capacity: 1, runtimeScheduler: { image: 'a', envVars: { A: '1', B: '1' } } } },
    { name: 'middle', layer: { runtimeScheduler: { envVars: { B: '2' } } } },
    { name: 'own', layer: { extends: ['middle'], capacity: 1, runtimeScheduler: { envVars: { A: null } } } },
  ])
  expect(Object.fromEntries(origins)).toEqual({
    capacity: 'own',
    extends: 'own',
    'runtimeScheduler.envVars.B': 'middle',
    'runtimeScheduler.image': 'base',
  })
})

test('a list of tolerations keeps its layer when a layer above adds entries by name', () => {
  const origins = originsOf([
    { name: 'base', layer: { runtimeScheduler: { tolerations: [{ key: 'a' }] } } },
    { name: 'own', layer: { runtimeScheduler: { tolerations: { spot: { key: 'b' } } } } },
  ])
  expect(Object.fromEntries(origins)).toEqual({
    'runtimeScheduler.tolerations.0.key': 'base',
    'runtimeScheduler.tolerations.spot.key': 'own',
  })
})

test('a volume comes as a whole from the layer that replaces it', () => {
  const origins = originsOf([
    { name: 'base', layer: { runtimeScheduler: { volumes: { v: { configMap: { name: 'c' } } } } } },
    { name: 'own', layer: { runtimeScheduler: { volumes: { v: { emptyDir: {} } } } } },
  ])
  expect(Object.fromEntries(origins)).toEqual({ 'runtimeScheduler.volumes.v.emptyDir': 'own' })
})
