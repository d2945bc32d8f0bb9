import { expect, test } from 'vitest'
import { RuntimeLayerInput } from './runtime.ts'
import { BASE_LAYERS } from './base-layers.ts'
import { completeSpec, layersOf, mergeAll, mergeLayers } from './merge.ts'
import type { RuntimeLayer } from './spec.ts'

const read = (value: unknown): RuntimeLayer => RuntimeLayerInput.parse(value)

test('merges maps by key, replaces other values, removes keys with null, and replaces volumes as a whole (R179)', () => {
  const parent = { a: { x: 1, y: [1, 2] }, volumes: { v: { configMap: { name: 'c' } }, w: { emptyDir: {} } }, b: 1 }
  const child = { a: { y: [3], z: 2 }, volumes: { v: { emptyDir: {} }, w: null }, b: null }
  expect(mergeLayers(parent, child)).toEqual({ a: { x: 1, y: [3], z: 2 }, volumes: { v: { emptyDir: {} } } })
  expect(parent.volumes.w, 'the parent stays as it was').toEqual({ emptyDir: {} })
})

test('a map of tolerations extends the parent, a list replaces it', () => {
  const merge = (child: unknown): unknown =>
    completeSpec(
      mergeLayers({ runtimeScheduler: { tolerations: [{ key: 'a' }] } }, read({ runtimeScheduler: { tolerations: child } })),
    ).runtimeScheduler.tolerations
  expect(merge({ spot: { key: 'b' } })).toEqual([{ key: 'a' }, { key: 'b' }])
  expect(merge([{ key: 'c' }])).toEqual([{ key: 'c' }])
})

test('applies each layer of a diamond once, below all layers that extend it', () => {
  const layers: Record<string, RuntimeLayer> = { base: {}, left: { extends: ['base'] }, right: { extends: ['base'] } }
  const found = layersOf({ name: 'top', layer: { extends: ['left', 'right'] } }, (name) => layers[name])
  expect('layers' in found && found.layers.map((layer) => layer['extends'])).toEqual([
    undefined,
    ['base'],
    ['base'],
    ['left', 'right'],
  ])
})

test('every base layer is a valid layer and yields a complete specification', () => {
  for (const [name, layer] of Object.entries(BASE_LAYERS)) {
    expect(read(layer), name).toEqual(layer)
    const found = layersOf({ name, layer }, (parent) => BASE_LAYERS[parent])
    expect('layers' in found && completeSpec(mergeAll(found.layers)).dockerDaemonScheduler.type).toBe('DindKubernetesPod')
  }
})

test('normalizes the spellings of the documentation and of older versions (R187, R191, R193, R204)', () => {
  const dind = { storageClassName: 'fast', volumeSize: '30Gi' }
  const canonical = read({
    dockerDaemonScheduler: {
      type: 'DindKubernetesPod',
      pvcs: { dind: { name: 'dind', ...dind } },
      defaultDindResources: { requests: null },
      imagePullSecrets: ['login'],
      userVolumes: { cache: { name: 'cache', emptyDir: {} } },
      envVars: { A: '1', B: 'true' },
    },
  })
  const written = {
    type: 'DindPodPvc',
    pvc: [{ name: 'dind', ...dind }],
    defaultDindResources: { requests: '' },
    imagePullSecrets: 'login',
    userVolumes: [{ name: 'cache', emptyDir: {} }],
    envVars: { A: 1, B: true },
  }
  expect(read({ dockerDaemonScheduler: written })).toEqual(canonical)
  const { pvc: _, ...newer } = written
  expect(read({ dockerDaemonScheduler: { ...newer, pvcs: [{ name: 'dind', ...dind }] } })).toEqual(canonical)
  expect(read(canonical), 'reading it again changes nothing').toEqual(canonical)
})

test('reads limits by the names of Codefresh and by ours, which take precedence (R183)', () => {
  const workflowLimits = {
    MAXIMUM_ELECTED_STATE_AGE_ALLOWED: '60',
    TIME_INACTIVE_UNTIL_TERMINATION: 30,
    SHOULD_CLEAN_PVCS: 'false',
  }
  const spec = completeSpec(read({ runtimeScheduler: { workflowLimits }, limits: { inactiveMs: 5 } }))
  expect(spec.limits).toMatchObject({ electedMs: 60_000, inactiveMs: 5, retries: 2 })
  expect(() => read({ runtimeScheduler: { workflowLimits: { MAXIMUM_AGE: 1 } } })).toThrow(/MAXIMUM_AGE/)
})
