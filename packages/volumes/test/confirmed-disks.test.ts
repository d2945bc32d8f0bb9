/** Which new disks enter the pool. A disk that was created for a claim that is gone could be deleted late, with an earlier disk of that claim. */
import { expect, test } from 'vitest'
import { openDiskPool, type DiskPool } from '../src/pool/disk.ts'
import { hostPathDisks } from '../src/pool/maker.ts'
import { Claim, requestOf } from '../src/pool/request.ts'
import type { DiskClaim } from '../src/pool/claim.ts'
import type { Volume } from '../src/pool/volume.ts'
import { ModelCluster } from './model/cluster.ts'

const signal = new AbortController().signal

test('gives a disk to a second build only if the claim of the first one was there after the disk was created', async () => {
  const seen = openModel()
  await seen.bind('pvc-1')
  seen.end('pvc-1')
  expect(await seen.bind('pvc-2')).toMatchObject({ reused: true })

  const gone = openModel({ onMake: (model) => model.end('pvc-1') })
  await expect(gone.bind('pvc-1')).rejects.toMatchObject({ code: 'not-found' })
  const disk = await gone.bind('pvc-2')
  expect(disk.reused).toBe(false)
  expect(gone.volumes()).toHaveLength(2)
})

test('admits a disk that another process has changed meanwhile, and leaves its successor of the same name alone', async () => {
  const changed = openModel({ onPatched: ({ cluster }, volume) => void cluster.put({ ...volume, status: { phase: 'Bound' } }) })
  await changed.bind('pvc-1')
  changed.end('pvc-1')
  expect(await changed.bind('pvc-2')).toMatchObject({ reused: true })

  const replaced = openModel({
    onPatched: ({ cluster }, volume) => void cluster.put({ ...volume, metadata: { ...volume.metadata, uid: 'another' } }),
  })
  await replaced.bind('pvc-1')
  replaced.end('pvc-1')
  expect(await replaced.bind('pvc-2')).toMatchObject({ reused: false })
})

test('says why a disk is new by the disks that were there when none was chosen, not by those known before', async () => {
  const model = openModel({ known: () => [] })
  await model.bind('pvc-1')
  expect(await model.bind('pvc-2')).toMatchObject({ reused: false, whyNew: 'No disk fits: 1 in use.' })
})

interface Model {
  readonly cluster: ModelCluster
  bind(name: string): ReturnType<DiskPool['bind']>
  end(name: string): void
  volumes(): ReturnType<ModelCluster['list']>
}

/**
 * Opens a cluster whose calls are carried out at once. `onMake` runs while a disk is created, `onPatched` after its claim was patched. `known` returns the disks
 * of a watch.
 */
function openModel({
  onMake,
  onPatched,
  known,
}: {
  known?: () => readonly Volume[]
  onMake?: (model: Model) => void
  onPatched?: (model: Model, volume: ReturnType<ModelCluster['list']>[number]) => void
} = {}): Model {
  const cluster = new ModelCluster({ below: () => 0, chance: () => false })
  const caller = { dead: false }
  const kube = cluster.kube(caller)
  const maker = hostPathDisks('/disks')
  let interfere = onMake
  let change = onPatched
  const pool = openDiskPool({
    kube: {
      ...kube,
      async patch(ref, patch, options) {
        const object = await kube.patch(ref, patch, options)
        const [volume] = cluster.list('PersistentVolume')
        if (ref.kind === 'PersistentVolumeClaim' && options?.part === 'status' && volume !== undefined) {
          change?.(model, volume)
          change = undefined
        }
        return object
      },
    },
    clock: cluster.clock(caller),
    known,
    maker: {
      async make(claim, abort) {
        interfere?.(model)
        interfere = undefined
        return maker.make(claim, abort)
      },
    },
    isWithinReach: async () => true,
  })
  const model: Model = {
    cluster,
    async bind(name) {
      cluster.reconcile()
      const bound = pool.bind(claimOf(cluster, name), signal)
      const isOver = bound.then(
        () => true,
        () => true,
      )
      while (!(await Promise.race([isOver, new Promise<boolean>((resolve) => setImmediate(resolve, false))]))) cluster.step()
      return bound
    },
    end: (name) => cluster.remove('PersistentVolumeClaim', name),
    volumes: () => cluster.list('PersistentVolume'),
  }
  return model
}

function claimOf(cluster: ModelCluster, name: string): DiskClaim {
  const claim = cluster.put({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'ns', uid: `uid-of-${name}`, labels: { 'codefresh-app': 'dind' } },
    spec: { storageClassName: 'dind', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Gi' } } },
    status: { phase: 'Pending' },
  })
  return { claim, request: requestOf(Claim.parse(claim)), pod: name, runtime: '' }
}
