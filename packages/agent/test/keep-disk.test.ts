/** Keeping a disk in clusters where a provisioner makes the volumes. */
import { silentLog } from '@windlass/kit'
import { CLAIM_NOTE } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { skippingClock } from '../../../e2e/support/clocks.ts'
import { keepByNote } from '../src/kubernetes/keep-disk.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'

const ref = { buildId: '65f0a1b2c3d4e5f607182930', attempt: 1 }
const until = Date.UTC(2027, 0, 1)

/** Returns how long it waited by its own clock. Milliseconds. */
async function keep(fake: FakeKube): Promise<number> {
  const kube = fake.kube()
  const metadata = { name: 'pvc-dind', namespace: 'builds' }
  await kube.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
  const clock = skippingClock()
  await keepByNote({ kube, namespaces: ['builds'], clock, log: silentLog }, ref, until, new AbortController().signal)
  return clock.monotonic()
}

const patches = (fake: FakeKube): unknown[] => fake.calls.filter(({ method }) => method === 'PATCH').map(({ body }) => body)

test('annotates the claim with the time and waits until the provisioner has seen it (P078)', async () => {
  await using fake = await openFakeKube()
  fake.intercept = ({ method, name }) => {
    const claim = fake.objects.get('persistentvolumeclaims/pvc-dind')
    const looks = fake.calls.filter((call) => call.method === 'GET' && call.name === name).length
    if (method === 'GET' && name !== '' && looks === 2 && claim !== undefined)
      fake.objects.set('persistentvolumeclaims/pvc-dind', {
        ...claim,
        metadata: { name, namespace: 'builds', annotations: { [CLAIM_NOTE.kept]: 'true' } },
      })
    return undefined
  }
  await keep(fake)
  expect(fake.calls.filter(({ method, name }) => method === 'GET' && name !== '')).toHaveLength(2)
  expect(patches(fake)).toEqual([{ metadata: { annotations: { [CLAIM_NOTE.keepUntil]: '2027-01-01T00:00:00.000Z' } } }])
})

test('stops waiting after three seconds without a provisioner', async () => {
  await using fake = await openFakeKube()
  expect(await keep(fake)).toBe(3_000)
  expect(patches(fake)).toHaveLength(1)
})
