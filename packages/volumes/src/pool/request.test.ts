import { defined } from '@windlass/kit'
import { expect, test } from 'vitest'
import { chooseDisks } from './choose-disk.ts'
import { addUser, NOTE } from './notes.ts'
import { Claim, placementOf, requestOf } from './request.ts'
import { Volume } from './volume.ts'

const claim = (annotations: Record<string, string>, labels: Record<string, string> = {}): Claim =>
  Claim.parse({
    metadata: { name: 'pvc-dind-1', namespace: 'ns', uid: 'u', labels, annotations },
    spec: { storageClassName: 'dind', resources: { requests: { storage: '16Gi' } } },
  })

test('reads the request of a disk from its claim', () => {
  const asked = claim(
    {
      'codefresh.io/reuse-volume-selector': 'codefresh-app, pipeline_id',
      'codefresh.io/reuse-volume-sort-order': 'trigger',
      'windlass.io/reset-volume': 'true',
      'windlass.io/reuse-builds': 'b1,b2',
      'windlass.io/minimum-space': '20Gi',
      'windlass.io/placement': '{"nodeSelector":{"zone":"a"},"tolerations":[{"operator":"Exists"}]}',
    },
    { pipeline_id: 'p' },
  )
  expect(requestOf(asked)).toEqual({
    storageClassName: 'dind',
    sizeBytes: 16 * 2 ** 30,
    selector: ['codefresh-app', 'pipeline_id'],
    sortOrder: ['trigger'],
    labels: { 'codefresh-app': 'dind', pipeline_id: 'p' },
    reset: true,
    builds: ['b1', 'b2'],
    minimumFreeBytes: 20 * 2 ** 30,
  })
  expect(placementOf(asked)).toMatchObject({ nodeSelector: { zone: 'a' } })
})

test('shares disks by account for a claim without annotations, and ignores invalid values', () => {
  expect(requestOf(claim({}))).toMatchObject({
    selector: ['codefresh-app', 'io.codefresh.accountName'],
    builds: [],
    reset: false,
  })
  for (const text of ['{', '[]', '{"nodeSelector":3}'])
    expect(placementOf(claim({ 'windlass.io/placement': text }))).toBeUndefined()
})

test('excludes a disk with too little free space, if it is known (R099, R202)', () => {
  const disk = (name: string, free?: number): Volume =>
    Volume.parse({
      metadata: { name, resourceVersion: '1', ...(free !== undefined && { annotations: { [NOTE.free]: String(free) } }) },
      spec: { capacity: { storage: '30Gi' } },
      status: { phase: 'Released' },
    })
  const request = { ...requestOf(claim({ 'windlass.io/minimum-space': '10Gi' })), selector: [] }
  const chosen = chooseDisks([disk('full', 2 ** 30), disk('roomy', 2 ** 34), disk('unknown')], request, 0)
  expect(chosen.map(({ metadata }) => metadata.name).toSorted()).toEqual(['roomy', 'unknown'])
})

test('treats a missing label like an empty one (V5)', () => {
  const disk = (branch?: string): Volume =>
    Volume.parse({
      metadata: { name: branch ?? 'none', resourceVersion: '1', labels: defined({ branch }) },
      spec: { capacity: { storage: '30Gi' } },
      status: { phase: 'Released' },
    })
  const names = (labels: Record<string, string>): string[] =>
    chooseDisks([disk(), disk(''), disk('main')], { ...requestOf(claim({})), selector: ['branch'], labels }, 0).map(
      ({ metadata }) => metadata.name,
    )
  expect(names({})).toEqual(['none', ''])
  expect(names({ branch: '' })).toEqual(['none', ''])
  expect(names({ branch: 'main' })).toEqual(['main'])
})

test('limits the list of pods that used a disk', () => {
  let list: string | undefined
  for (let n = 1; n <= 30; n += 1) list = addUser(list, `dind-${n}`)
  expect(list?.split(',')).toHaveLength(10)
  expect(list?.endsWith('dind-29,dind-30')).toBe(true)
})
