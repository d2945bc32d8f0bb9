/** Disks of a cluster: what the agent reports, and which it asks to remove. */
import { silentLog, systemClock } from '@windlass/kit'
import { DiskFacts } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { kubernetesExecutor, type Executor } from '../src/index.ts'
import { policyWith } from './support/attempt-objects.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'

const BUILD = '65f0a1b2c3d4e5f607182930'
const signal = new AbortController().signal

function executorOf(fake: FakeKube): Executor {
  const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default' })
  return kubernetesExecutor({ kube: fake.kube(), policy, starts: { perCore: 1 } })({
    report: () => undefined,
    clock: systemClock,
    log: silentLog,
  })
}

interface Given {
  readonly namespace?: string
  readonly annotations?: Record<string, string>
  readonly app?: string
  readonly size?: string
}

async function addVolume(
  fake: FakeKube,
  name: string,
  { namespace = 'builds', annotations = {}, app = 'dind', size = '1Gi' }: Given = {},
): Promise<string> {
  const created = await fake.kube().create({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      labels: { 'codefresh-app': app, runtime_env: 'prod' },
      annotations: { 'windlass.io/last-build': BUILD, ...annotations },
    },
    spec: {
      capacity: { storage: size },
      storageClassName: 'disks',
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { name: `pvc-${name}`, namespace, uid: `claim-of-${name}` },
    },
    status: { phase: 'Released' },
  })
  return created.metadata.uid ?? name
}

test('reports the disks of its namespaces, and says which runtimes cannot be read', async () => {
  await using fake = await openFakeKube()
  await addVolume(fake, 'own')
  await addVolume(fake, 'foreign', { namespace: 'elsewhere' })
  const executor = executorOf(fake)
  const found = await executor.disks?.list(signal)
  expect(found?.failed).toEqual([])
  expect(found?.disks.map(({ name, state, buildId }) => ({ name, state, buildId }))).toEqual([
    { name: 'own', state: 'warm', buildId: BUILD },
  ])
  fake.intercept = ({ plural }) => (plural === 'persistentvolumes' ? { status: 403, reason: 'Forbidden' } : undefined)
  expect(await executor.disks?.list(signal)).toMatchObject({ disks: [], failed: [{ runtime: '' }] })
  await executor.close()
})

test('says that a cluster cannot be read if its answer is cut off', async () => {
  await using fake = await openFakeKube()
  fake.intercept = ({ plural }) => (plural === 'persistentvolumes' ? { status: 200, page: '{"items": [' } : undefined)
  const executor = executorOf(fake)
  expect(await executor.disks?.list(signal)).toMatchObject({ disks: [], failed: [{ runtime: '' }] })
  await executor.close()
})

test('reports what a report can hold of a disk with odd notes, and the other disks', async () => {
  await using fake = await openFakeKube()
  await addVolume(fake, 'own')
  await addVolume(fake, 'odd', { annotations: { 'codefresh.io/assignedNode': 'n'.repeat(300) }, size: '8Ei' })
  const executor = executorOf(fake)
  const found = await executor.disks?.list(signal)
  expect(found?.disks.map((disk) => DiskFacts.safeParse(disk).success)).toEqual([true, true])
  expect(found?.disks.find(({ name }) => name === 'odd')).toMatchObject({ buildId: BUILD, sizeBytes: Number.MAX_SAFE_INTEGER })
  await executor.close()
})

test('reports disks without the right to list nodes', async () => {
  await using fake = await openFakeKube()
  await addVolume(fake, 'own')
  fake.intercept = ({ plural }) => (plural === 'nodes' ? { status: 403, reason: 'Forbidden' } : undefined)
  const executor = executorOf(fake)
  expect(await executor.disks?.list(signal)).toMatchObject({ disks: [{ name: 'own', state: 'warm' }], failed: [] })
  await executor.close()
})

test('asks to remove a free disk once, and keeps one that a claim holds or that is reserved', async () => {
  await using fake = await openFakeKube()
  const executor = executorOf(fake)
  const remove = async (name: string, uid: string) => executor.disks?.remove({ runtime: 'prod', name, uid }, signal)
  const free = await addVolume(fake, 'free', { annotations: { 'pv.kubernetes.io/provisioned-by': 'disks.example.com' } })
  expect(await remove('free', free)).toEqual({ outcome: 'requested', message: 'The provisioner disks.example.com removes it.' })
  expect(fake.objects.get('persistentvolumes/free')).toMatchObject({
    metadata: { annotations: { 'windlass.io/removing-since': expect.any(String) } },
    spec: { persistentVolumeReclaimPolicy: 'Delete' },
  })
  const writes = fake.writes().length
  expect(await remove('free', free)).toMatchObject({ outcome: 'requested' })
  expect(fake.writes()).toHaveLength(writes)

  const reserved = await addVolume(fake, 'reserved', { annotations: { 'windlass.io/kept-until': '2999-01-01T00:00:00Z' } })
  expect(await remove('reserved', reserved)).toMatchObject({ outcome: 'in-use', buildId: BUILD })
  const claimed = await addVolume(fake, 'claimed')
  const claim = await fake.kube().create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'pvc-claimed', namespace: 'builds' },
  })
  fake.change('persistentvolumes/claimed', {
    spec: {
      capacity: { storage: '1Gi' },
      claimRef: { name: 'pvc-claimed', namespace: 'builds', uid: claim.metadata.uid },
    },
  })
  expect(await remove('claimed', claimed)).toMatchObject({ outcome: 'in-use', buildId: BUILD, message: 'A build uses the disk.' })
  expect(fake.objects.get('persistentvolumes/claimed')).not.toHaveProperty('metadata.annotations.["windlass.io/removing-since"]')
  await executor.close()
})

test('leaves a later disk of the same name and volumes that are no disks of its builds alone', async () => {
  await using fake = await openFakeKube()
  const executor = executorOf(fake)
  await addVolume(fake, 'again')
  const before = fake.writes().length
  expect(await executor.disks?.remove({ runtime: 'prod', name: 'again', uid: 'earlier' }, signal)).toMatchObject({
    outcome: 'gone',
  })
  for (const [name, given] of [
    ['database', { app: 'postgres' }],
    ['elsewhere', { namespace: 'elsewhere' }],
  ] as const) {
    const uid = await addVolume(fake, name, given)
    await expect(executor.disks?.remove({ runtime: 'prod', name, uid }, signal)).rejects.toMatchObject({ code: 'policy-refused' })
  }
  expect(fake.writes()).toHaveLength(before + 2)
  await executor.close()
})
