/** The node disk cleaner, on a small file system and against a real API server. */
import { spawn } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined, silentLog, systemClock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { nodeDiskCleanerConfig } from '../../../packages/volumes/src/node-disk-cleaner/config.ts'
import { runCycle } from '../../../packages/volumes/src/node-disk-cleaner/cycle.ts'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { eventually } from '../../support/installation.ts'
import { freePort, startService } from '../../support/process.ts'
import { programFile } from '../../support/programs.ts'
import { mountLoopDisk, type LoopDisk } from './loop-disk.ts'

const NAMESPACE = `node-disk-cleaner-${process.pid}`
const NODE = 'node-under-test'
const DAY = 86_400

let cluster: Cluster
let kube: Kube
let disk: LoopDisk
beforeAll(async () => {
  cluster = await startCluster()
  kube = cluster.kube
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
})
beforeEach(async () => {
  disk = await mountLoopDisk(256)
})
afterEach(async () => {
  await disk.close()
  await cluster.clear({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE })
  await cluster.clear({ kind: 'PersistentVolume', labels: `test=${NAMESPACE}` })
})
afterAll(() => kube.delete({ kind: 'Namespace', name: NAMESPACE }))

const Phase = z.object({ status: z.object({ phase: z.string() }) })

interface DiskOptions {
  readonly usedDaysAgo: number
  readonly megabytes?: number
  readonly annotations?: Record<string, string>
  readonly claimRef?: object
  /** False: a folder without a volume. */
  readonly hasVolume?: boolean
}

/** Adds a folder as a build leaves it, and its volume. Returns the name of the volume. */
async function addDisk(name: string, options: DiskOptions): Promise<string> {
  const path = join(disk.path, `vol-${name}`)
  const usedAt = Math.floor(Date.now() / 1000) - options.usedDaysAgo * DAY
  await mkdir(join(path, 'dind-volume'), { recursive: true })
  await writeFile(join(path, '.windlass.lock'), '')
  await writeFile(join(path, 'dind-volume/created'), `${usedAt - DAY}\n`)
  await writeFile(join(path, 'dind-volume/last_used'), `${usedAt}\n`)
  await writeFile(join(path, 'dind-volume/pods'), `dind-a ${usedAt - 60}\ndind-b ${usedAt}\n`)
  await writeFile(join(path, 'content'), Buffer.alloc((options.megabytes ?? 20) * 1_048_576))
  const volume = `${NAMESPACE}-${name}`
  if (options.hasVolume === false) return volume
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volume,
      labels: { 'codefresh-app': 'dind', test: NAMESPACE },
      // Kubernetes removes folders below /tmp itself, unless the volume has another provisioner.
      annotations: { 'pv.kubernetes.io/provisioned-by': NAMESPACE, ...options.annotations },
    },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: NAMESPACE,
      hostPath: { path },
      ...defined({ claimRef: options.claimRef }),
    },
  })
  // Waits for the changes that Kubernetes writes on a new volume, so that they do not conflict with a check.
  await eventually('the volume has a phase', async () => {
    const phase = Phase.safeParse(await kube.find({ kind: 'PersistentVolume', name: volume })).data?.status.phase
    return phase === undefined || phase === 'Pending' ? undefined : true
  })
  return volume
}

/** Creates a claim and returns the reference for a volume. */
async function addClaim(name: string): Promise<object> {
  const spec = { storageClassName: NAMESPACE, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const created = await kube.apply(
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: NAMESPACE }, spec },
    [],
  )
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace: NAMESPACE, uid: created.metadata.uid }
}

function settings(more: Record<string, string> = {}): Parameters<typeof runCycle>[0] {
  const config = nodeDiskCleanerConfig({ NODE_NAME: NODE, VOLUME_PARENT_DIR: disk.path, ...more })
  return { config, kube, clock: systemClock, log: silentLog, signal: new AbortController().signal }
}

const folders = async (): Promise<string[]> =>
  (await readdir(disk.path)).filter((name) => name !== 'lost+found' && name !== 'fill').toSorted()
const volumes = async (): Promise<string> =>
  (await cluster.names({ kind: 'PersistentVolume', labels: `test=${NAMESPACE}` })).join()

test('removes nothing at 79 % of the space, and at 80 % the least recently used disk with its volume (R116, R118, V10)', async () => {
  for (const [name, days] of [
    ['new', 1],
    ['old', 3],
    ['middle', 2],
  ] as const)
    await addDisk(name, { usedDaysAgo: days })
  const outside = join(disk.path, 'fill')
  await disk.fillTo(0.785, outside)
  expect(await runCycle(settings())).toBe(0)
  await rm(outside)
  await disk.fillTo(0.8, outside)
  expect(await runCycle(settings())).toBe(1)
  expect(await folders()).toEqual(['vol-middle', 'vol-new'])
  await eventually('the volume is gone', async () => ((await volumes()).includes('-old') ? undefined : true))
  expect(await volumes()).toContain('-middle')
})

test('removes disks in one check until the target is reached, and none in a dry run', async () => {
  for (const days of [1, 2, 3, 4]) await addDisk(`d${days}`, { usedDaysAgo: days })
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  expect(await runCycle(settings({ DRY_RUN: 'true' }))).toBe(1)
  expect(await folders()).toHaveLength(4)
  // Each disk is about 8 % of the file system.
  expect(await runCycle(settings({ WINDLASS_LOCAL_MONITOR_KB_TARGET: '76' }))).toBe(2)
  expect(await folders()).toEqual(['vol-d1', 'vol-d2'])
})

test('keeps a disk that is claimed, locked or kept for a build, although the file system is full (R117)', async () => {
  const stranger = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    name: 'gone',
    namespace: NAMESPACE,
    uid: crypto.randomUUID(),
  }
  await addDisk('claimed', { usedDaysAgo: 9, claimRef: await addClaim('held') })
  await addDisk('locked', { usedDaysAgo: 8 })
  await addDisk('kept', {
    usedDaysAgo: 7,
    annotations: { 'windlass.io/kept-until': new Date(Date.now() + DAY * 1000).toISOString() },
  })
  await addDisk('elsewhere', { usedDaysAgo: 6, annotations: { 'codefresh.io/assignedNode': 'another-node' } })
  await addDisk('released', { usedDaysAgo: 1, claimRef: stranger })
  await disk.fillTo(0.97, join(disk.path, 'fill'))
  const holder = spawn('flock', [join(disk.path, 'vol-locked/.windlass.lock'), 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
  holder.stdin.write('locked\n')
  await new Promise((resolve) => holder.stdout.once('data', resolve))
  try {
    // Kubernetes may write on the volume at the same moment; the next check removes it then.
    const removed = await eventually('one disk is removed', async () => (await runCycle(settings())) || undefined)
    expect(removed).toBe(1)
    expect(await folders()).toEqual(['vol-claimed', 'vol-elsewhere', 'vol-kept', 'vol-locked'])
    const locked = await kube.find({ kind: 'PersistentVolume', name: `${NAMESPACE}-locked` })
    expect(JSON.stringify(locked)).not.toContain('node_requested_deletion')
  } finally {
    holder.stdin.end()
  }
})

test('removes the volume of a disk whose folder the provisioner has removed first (V9)', async () => {
  await addDisk('shared', { usedDaysAgo: 5 })
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  const fast: Pick<Kube, 'list' | 'find' | 'patch' | 'delete'> = {
    list: (...args) => kube.list(...args),
    find: (...args) => kube.find(...args),
    delete: (...args) => kube.delete(...args),
    async patch(ref, patch, more) {
      const patched = await kube.patch(ref, patch, more)
      expect(patched.metadata.annotations).toMatchObject({ node_requested_deletion: NODE })
      await rm(join(disk.path, 'vol-shared'), { recursive: true })
      return patched
    },
  }
  const removed = await eventually('the disk is removed', async () => {
    return (await runCycle({ ...settings(), kube: Object.assign(Object.create(kube), fast) })) || undefined
  })
  expect(removed).toBe(1)
  await eventually('the volume is gone', async () => ((await volumes()).includes('-shared') ? undefined : true))
})

test('keeps a disk that a build takes at the last moment (R117)', async () => {
  const name = await addDisk('wanted', { usedDaysAgo: 5 })
  await disk.fillTo(0.97, join(disk.path, 'fill'))
  const options = settings()
  // Another writer changes the volume between the check and the write.
  const late: Pick<Kube, 'list' | 'find' | 'patch' | 'delete'> = {
    list: (...args) => kube.list(...args),
    find: (...args) => kube.find(...args),
    delete: (...args) => kube.delete(...args),
    async patch(ref, patch, more) {
      await kube.patch(ref, { metadata: { labels: { taken: 'yes' } } })
      return kube.patch(ref, patch, more)
    },
  }
  expect(await runCycle({ ...options, kube: Object.assign(Object.create(kube), late) })).toBe(0)
  expect(await folders()).toEqual(['vol-wanted'])
  await expect(access(join(disk.path, 'vol-wanted/deleted'))).rejects.toThrow('ENOENT')
  const left = await kube.find({ kind: 'PersistentVolume', name })
  expect(left).toMatchObject({ metadata: { labels: { taken: 'yes' } }, spec: { persistentVolumeReclaimPolicy: 'Retain' } })
})

test('marks a folder without a volume, and removes it after the grace period (V11)', async () => {
  await addDisk('orphan', { usedDaysAgo: 5, hasVolume: false })
  await addDisk('in-use', { usedDaysAgo: 5, claimRef: await addClaim('user') })
  const now = Math.floor(Date.now() / 1000)
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  expect(await runCycle(settings())).toBe(0)
  const mark = Number(await readFile(join(disk.path, 'vol-orphan/deleted'), 'utf8'))
  expect(mark).toBeGreaterThanOrEqual(now)
  await rm(join(disk.path, 'fill'))
  await writeFile(join(disk.path, 'vol-orphan/deleted'), `${now - 880}\n`)
  await writeFile(join(disk.path, 'vol-in-use/deleted'), `${now - 5_000}\n`)
  expect(await runCycle(settings())).toBe(0)
  await writeFile(join(disk.path, 'vol-orphan/deleted'), `${now - 901}\n`)
  expect(await runCycle(settings())).toBe(1)
  expect(await folders()).toEqual(['vol-in-use'])
  await expect(access(join(disk.path, 'vol-in-use/deleted'))).rejects.toThrow('ENOENT')
})

test('does not follow links that builds leave, and finishes an interrupted removal', async () => {
  const outside = await mkdtemp(join(tmpdir(), 'windlass-outside-'))
  await writeFile(join(outside, 'precious'), 'yes')
  await addDisk('trap', { usedDaysAgo: 9 })
  await symlink(outside, join(disk.path, 'vol-trap/link'))
  await symlink(join(outside, 'precious'), join(disk.path, 'vol-trap/deleted'))
  await symlink(outside, join(disk.path, 'vol-link'))
  await mkdir(join(disk.path, '.removing-vol-half'))
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  expect(await runCycle(settings())).toBe(1)
  expect(await folders()).toEqual(['vol-link'])
  expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('yes')
  await rm(outside, { recursive: true })
})

test('a check that runs removes nothing more once removals are paused (R119)', async () => {
  for (const days of [1, 2]) await addDisk(`d${days}`, { usedDaysAgo: days })
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  let isPaused = false
  const pausing: Pick<Kube, 'list'> = {
    list(...args) {
      isPaused = true
      return kube.list(...args)
    },
  }
  const options = { ...settings(), kube: Object.assign(Object.create(kube), pausing), isPaused: () => isPaused }
  expect(await runCycle(options)).toBe(0)
  expect(await folders()).toEqual(['vol-d1', 'vol-d2'])
})

test('serves metrics of its disks, and SIGUSR2 pauses and resumes it (R119)', async () => {
  await addDisk('old', { usedDaysAgo: 3 })
  const port = await freePort()
  const cleaner = await startService({
    command: process.execPath,
    args: [programFile('node-disk-cleaner')],
    env: {
      NODE_NAME: NODE,
      VOLUME_PARENT_DIR: disk.path,
      SLEEP_INTERVAL: '0.3',
      WINDLASS_LOCAL_MONITOR_PORT: String(port),
      WINDLASS_LOCAL_MONITOR_KUBECONFIG: cluster.kubeconfig,
    },
    ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true,
  })
  const untilLogged = (line: string): Promise<true> =>
    eventually(line, async () => (cleaner.log().includes(line) ? true : undefined))
  try {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(metrics).toContain(`mounts_count{node_name="${NODE}",volume_path="${disk.path}/vol-old",backend_type="local"} 2`)
    cleaner.signal('SIGUSR2')
    await untilLogged('"isPaused":true')
    await disk.fillTo(0.9, join(disk.path, 'fill'))
    cleaner.signal('SIGUSR1')
    await untilLogged('"isDebugging":true')
    expect(await folders()).toEqual(['vol-old'])
    cleaner.signal('SIGUSR2')
    await untilLogged('disk removed')
    expect(await folders()).toEqual([])
  } finally {
    await cleaner.stop('SIGTERM')
  }
  expect(cleaner.log()).toContain('use of the file system in percent')
})
