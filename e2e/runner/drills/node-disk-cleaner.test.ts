/** The node disk cleaner, killed repeatedly while it removes disks. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { chaosConfig } from '../../chaos/config.ts'
import { seededRandom } from '../../chaos/faults/random.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { eventually, restartable } from '../../support/installation.ts'
import { freePort } from '../../support/process.ts'
import { mountLoopDisk, type LoopDisk } from '../cleaners/loop-disk.ts'
import { rounds } from './stage.ts'

const NAMESPACE = `drill-cleaner-${process.pid}`
const OLD = ['a', 'b', 'c', 'd', 'e', 'f']
/** So many that a removal takes a while. */
const FILES = 1_500
const DAY = 86_400

let cluster: Cluster
let disk: LoopDisk
beforeAll(async () => {
  cluster = await startCluster()
  disk = await mountLoopDisk(256)
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
})
afterAll(async () => {
  await disk?.close()
  // The claim first, because a bound volume is not deleted.
  await cluster.kubectl('delete', 'namespace', NAMESPACE, '--timeout=60s')
  await cluster.kubectl('delete', 'persistentvolumes', '--selector', `test=${NAMESPACE}`, '--timeout=60s')
})

const Retained = z.object({ spec: z.object({ persistentVolumeReclaimPolicy: z.literal('Retain') }) })

const folders = async (): Promise<string[]> => (await readdir(disk.path)).filter((name) => /vol-/.test(name)).toSorted()
/** Returns the volumes that a build may still get. Those marked for deletion are removed by the provisioner. */
const usable = async (): Promise<string[]> => {
  const volumes = await cluster.kube.list({ kind: 'PersistentVolume', labels: `test=${NAMESPACE}` })
  return volumes.flatMap((volume) => (Retained.safeParse(volume).success ? [volume.metadata.name] : []))
}

/** Adds a disk as a build leaves it, and its volume; `claim` is the uid of a claim that holds it. */
async function addDisk(name: string, usedAt: number, claim?: string): Promise<void> {
  const path = join(disk.path, `vol-${name}`)
  await mkdir(join(path, 'dind-volume'), { recursive: true })
  await writeFile(join(path, '.windlass.lock'), '')
  await writeFile(join(path, 'dind-volume/created'), `${usedAt - DAY}\n`)
  await writeFile(join(path, 'dind-volume/last_used'), `${usedAt}\n`)
  await writeFile(join(path, 'dind-volume/pods'), `dind-a ${usedAt}\n`)
  await mkdir(join(path, 'layers'), { recursive: true })
  for (let n = 0; n < FILES; n += 1) await writeFile(join(path, 'layers', String(n)), 'x'.repeat(1_000))
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'live', namespace: NAMESPACE, uid: claim }
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${NAMESPACE}-${name}`, labels: { 'codefresh-app': 'dind', test: NAMESPACE } },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: NAMESPACE,
      hostPath: { path },
      ...(claim !== undefined && { claimRef }),
    },
  })
}

async function addClaim(): Promise<string> {
  const spec = { storageClassName: NAMESPACE, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await cluster.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'live', namespace: NAMESPACE }, spec })
  return cluster.kubectl('--namespace', NAMESPACE, 'get', 'persistentvolumeclaim', 'live', '--output', 'jsonpath={.metadata.uid}')
}

test('a cleaner that is killed during removals touches no live disk, and the next one finishes the removals (R-27, R117)', async () => {
  const random = seededRandom(chaosConfig.seed)
  const now = Math.floor(Date.now() / 1_000)
  await addDisk('live', now - 20 * DAY, await addClaim())
  let killed = 0
  for (let round = 0; round < rounds(5); round += 1) {
    for (const [n, name] of OLD.entries()) await addDisk(name, now - (n + 2) * DAY)
    const fill = join(disk.path, 'fill')
    await disk.fillTo(0.95, fill)
    const port = await freePort()
    const cleaner = await restartable('node-disk-cleaner', `http://127.0.0.1:${port}/readyz`, {
      NODE_NAME: 'node-under-test',
      VOLUME_PARENT_DIR: disk.path,
      SLEEP_INTERVAL: '0.2',
      // A folder whose volume was removed first is removed after a grace period.
      DELETE_BY_RM_AFTER: '3',
      WINDLASS_LOCAL_MONITOR_PORT: String(port),
      WINDLASS_LOCAL_MONITOR_KUBECONFIG: cluster.kubeconfig,
    })
    for (let kill = 0; kill < 4; kill += 1) {
      await sleep(random.between(0, 150))
      await cleaner.kill9()
      killed += 1
      await cleaner.start()
    }
    // The file system is filled by something other than disks of builds, so all unused disks are removed one after the other.
    const done = async (): Promise<true | undefined> =>
      (await folders()).join() === 'vol-live' && (await usable()).join() === `${NAMESPACE}-live` ? true : undefined
    await eventually('only the live disk is left as a folder, and as a volume that a build may be given', done).catch(
      async (error: unknown) => {
        throw new Error(`${(await folders()).join()} ${(await usable()).join()}\n${cleaner.log().slice(-2_000)}`, {
          cause: error,
        })
      },
    )
    await cleaner.kill9()
    expect(await readdir(join(disk.path, 'vol-live/layers'))).toHaveLength(FILES)
    await rm(fill, { force: true })
    for (const name of OLD) await cluster.kubectl('delete', 'persistentvolume', `${NAMESPACE}-${name}`, '--ignore-not-found')
  }
  console.log(`drills cleaner: seed ${chaosConfig.seed}; cleaner killed: ${killed} landed`)
})
