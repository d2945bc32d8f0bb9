/** The cleaner jobs against a real API server: cloud disks that were unused for long, and leftovers of builds. */
import { silentLog, systemClock, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { removeLeftovers } from '../../../packages/volumes/src/cleaner/leftovers.ts'
import { removeUnusedDisks } from '../../../packages/volumes/src/cleaner/unused-disks.ts'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { eventually } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { programFile } from '../../support/programs.ts'

const NAMESPACE = `cleaner-${process.pid}`
const PROVISIONER = `codefresh.io/dind-volume-provisioner-${NAMESPACE}`
const DAY = 86_400_000

let cluster: Cluster
let kube: Kube
beforeAll(async () => {
  cluster = await startCluster()
  kube = cluster.kube
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
})
afterEach(async () => {
  await cluster.clear({ kind: 'Pod', namespace: NAMESPACE }, { graceSeconds: 0 })
  await cluster.clear({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE })
  await cluster.clear({ kind: 'PersistentVolume', labels: `test=${NAMESPACE}` })
})
afterAll(() => kube.delete({ kind: 'Namespace', name: NAMESPACE }))

const Phase = z.object({ status: z.object({ phase: z.string() }) })

interface DiskOptions {
  readonly usedDaysAgo: number
  readonly mounts?: number
  readonly annotations?: Record<string, string>
  /** The claim of the volume; absent for a claim that is gone. */
  readonly claim?: { readonly name: string; readonly uid: string }
}

/** Adds a cloud disk as the provisioner leaves it at the end of a build. */
async function addDisk(name: string, { usedDaysAgo, mounts = 9, annotations = {}, claim }: DiskOptions): Promise<void> {
  const { name: claimName, uid } = claim ?? { name: `gone-${name}`, uid: crypto.randomUUID() }
  const notes = {
    'pv.kubernetes.io/provisioned-by': PROVISIONER,
    'codefresh.io/lastUsedTimestamp': new Date(Date.now() - usedDaysAgo * DAY).toISOString(),
    'codefresh.io/mount-count': String(mounts),
    ...annotations,
  }
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${NAMESPACE}-${name}`, labels: { 'codefresh-app': 'dind', test: NAMESPACE }, annotations: notes },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: NAMESPACE,
      csi: { driver: 'test.windlass.io', volumeHandle: `vol-${name}` },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: claimName, namespace: NAMESPACE, uid },
    },
  })
  const wanted = claim === undefined ? 'Released' : 'Bound'
  await eventually(`the volume is ${wanted}`, async () => {
    const volume = await kube.find({ kind: 'PersistentVolume', name: `${NAMESPACE}-${name}` })
    return Phase.safeParse(volume).data?.status.phase === wanted || undefined
  })
}

async function addClaim(name: string, labels: Record<string, string> = {}): Promise<{ name: string; uid: string }> {
  const spec = { storageClassName: NAMESPACE, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const metadata = { name, namespace: NAMESPACE, labels }
  const { metadata: made } = await kube.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }, [])
  return { name, uid: made.uid ?? '' }
}

const Policy = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ persistentVolumeReclaimPolicy: z.string() }),
})

/** Returns the names of the disks whose removal was requested, without their common prefix. */
async function doomed(): Promise<string[]> {
  const volumes = await kube.list({ kind: 'PersistentVolume', labels: `test=${NAMESPACE}` })
  const gone = volumes.map((volume) => Policy.parse(volume)).filter(({ spec }) => spec.persistentVolumeReclaimPolicy === 'Delete')
  return gone.map(({ metadata }) => metadata.name.slice(NAMESPACE.length + 1)).toSorted()
}

/** Runs the job as the chart does. */
async function runJob(args: string[], env: Record<string, string> = {}): Promise<string> {
  const settings = {
    WINDLASS_CLEANER_KUBECONFIG: cluster.kubeconfig,
    PROVISIONED_BY: PROVISIONER,
    WINDLASS_CLEANER_LOG_LEVEL: 'silent',
  }
  return runProgram(process.execPath, [programFile('cleaner'), ...args], { env: { ...process.env, ...settings, ...env } })
}

test('removes disks unused for four days; keeps those in use, with longer retention or of others (R111, R113, R114, V12, V13)', async () => {
  await addDisk('five-days', { usedDaysAgo: 5 })
  await addDisk('three-days', { usedDaysAgo: 3 })
  await addDisk('kept-7d', { usedDaysAgo: 5, annotations: { 'codefresh.io/volume-retention': '7d' } })
  await addDisk('bound', { usedDaysAgo: 99, claim: await addClaim('held') })
  await addDisk('of-others', { usedDaysAgo: 99, annotations: { 'pv.kubernetes.io/provisioned-by': 'ebs.csi.aws.com' } })
  await addDisk('approval', {
    usedDaysAgo: 99,
    annotations: { 'windlass.io/kept-until': new Date(Date.now() + DAY).toISOString() },
  })
  await runJob([], { DRY_RUN: 'true' })
  expect(await doomed()).toEqual([])
  await runJob([])
  expect(await doomed()).toEqual(['five-days'])
  await runJob([], { RETENTION_DAYS: '2' })
  expect(await doomed()).toEqual(['five-days', 'three-days'])
})

test('removes disks used more than a day ago by fewer than three builds with -m (R112, V14)', async () => {
  await addDisk('twice', { usedDaysAgo: 25 / 24, mounts: 2 })
  await addDisk('three-times', { usedDaysAgo: 25 / 24, mounts: 3 })
  await addDisk('today', { usedDaysAgo: 0.5, mounts: 1 })
  await runJob([])
  expect(await doomed()).toEqual([])
  await runJob(['-m'])
  expect(await doomed()).toEqual(['twice'])
})

test('keeps a disk that a build takes at the last moment, and limits removals per run', async () => {
  for (let n = 0; n < 7; n += 1) await addDisk(`d${n}`, { usedDaysAgo: 20 - n })
  const rules = { retentionDays: 4, mountMin: undefined, provisionedBy: PROVISIONER }
  const options = { clock: systemClock, log: silentLog, rules, dryRun: false, signal: new AbortController().signal }
  const late: Pick<Kube, 'list' | 'find' | 'patch'> = {
    list: (...args) => kube.list(...args),
    find: (...args) => kube.find(...args),
    async patch(ref, patch, more) {
      if (ref.name.endsWith('-d0')) await kube.patch(ref, { metadata: { labels: { taken: 'yes' } } })
      return kube.patch(ref, patch, more)
    },
  }
  const first = await removeUnusedDisks({ ...options, kube: Object.assign(Object.create(kube), late) })
  expect(await doomed()).toEqual(['d1', 'd2', 'd3', 'd4', 'd5'])
  expect(first.kept).toMatchObject({ changed: 1, 'next-time': 1 })
  await removeUnusedDisks({ ...options, kube })
  expect(await doomed()).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6'])
})

test('removes an old daemon without engine and an old claim without daemon, and keeps complete attempts (R211)', async () => {
  const pod = (kind: 'dind' | 'runtime', build: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${kind}-${build}`,
      namespace: NAMESPACE,
      labels: { app: kind, 'windlass.io/build': build, 'windlass.io/attempt': '1' },
    },
    // It never runs, because the scheduler of this name does not exist.
    spec: { schedulerName: 'none', containers: [{ name: 'c', image: 'none' }] },
  })
  await cluster.apply(pod('dind', 'orphan'), pod('dind', 'whole'), pod('runtime', 'whole'))
  const labels = { 'windlass.io/build': 'forgotten', 'windlass.io/attempt': '1' }
  await addDisk('forgotten', { usedDaysAgo: 0, claim: await addClaim('forgotten', labels) })
  const after = (minutes: number): Clock => ({ ...systemClock, now: () => Date.now() + minutes * 60_000 })
  const options = { kube, log: silentLog, namespaces: [NAMESPACE], dryRun: false, signal: new AbortController().signal }
  expect(await removeLeftovers({ ...options, clock: after(5) })).toEqual([])
  expect(await removeLeftovers({ ...options, clock: after(12), dryRun: true })).toEqual(['dind-orphan'])
  expect(await removeLeftovers({ ...options, clock: after(12) })).toEqual(['dind-orphan'])
  const claims = await eventually('the claim is bound', async () => {
    const removed = await removeLeftovers({ ...options, clock: after(62) })
    return removed.length > 0 ? removed : undefined
  })
  expect(claims).toEqual(['forgotten'])
  expect(await cluster.names({ kind: 'Pod', namespace: NAMESPACE })).toEqual(['dind-whole', 'runtime-whole'])
})
