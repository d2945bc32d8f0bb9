/** How long a build waits for its disk on the cluster: from its claim until it is bound, for a new disk and for a warm one. */
import { once } from 'node:events'
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig, type Kube, type KubeObject } from '@windlass/kube'
import { openStage, type Stage } from '../../../e2e/runner/volumes/stage.ts'
import { sample, type Line, type Row } from '../../row.ts'

const RUNS = 20
const WARM_UP = 3

export const diskProvision: Line = { name: 'disk-provision', measure }

async function measure(): Promise<Row[]> {
  await using stage = await openStage({ namespace: `bench-disks-${process.pid}` })
  const kube = openKube({ access: await readKubeconfig(stage.cluster.kubeconfig), log: silentLog })
  const stop = new AbortController()
  try {
    const bench = { stage, kube, signal: stop.signal }
    const made = await sample(RUNS, WARM_UP, async (round) => timeClaim(bench, `new-${round + WARM_UP}`, true))
    const names = Array.from({ length: RUNS + WARM_UP }, (_, n) => `new-${n}`)
    await Promise.all(names.map((name) => stage.release(name)))
    const reused = await sample(RUNS, WARM_UP, async (round) => timeClaim(bench, `warm-${round + WARM_UP}`, false))
    const floor = await sample(RUNS, WARM_UP, async (round) => timeWrites(bench, `floor-${round + WARM_UP}`))
    const what = 'three writes of the kind, one after the other, and the watch that tells of the last'
    return [
      {
        name: 'disk-provision-new',
        figure: 'claim created -> bound to a new local disk',
        unit: 'ms',
        value: made,
        warmUp: WARM_UP,
        floor: { what, value: floor },
        goal: 300,
      },
      {
        name: 'disk-provision-warm',
        figure: 'claim created -> bound to a warm disk',
        unit: 'ms',
        value: reused,
        warmUp: WARM_UP,
        floor: { what, value: floor },
        goal: 150,
      },
    ]
  } finally {
    stop.abort()
    kube.close()
  }
}

interface Bench {
  readonly stage: Stage
  readonly kube: Kube
  readonly signal: AbortSignal
}

function claimOf({ namespace, className }: Stage, name: string, reset: boolean): KubeObject {
  const annotations = { 'windlass.io/placement': '{}', ...(reset && { 'windlass.io/reset-volume': 'true' }) }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme' }, annotations },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: className, resources: { requests: { storage: '16Gi' } } },
  }
}

async function timeClaim(bench: Bench, name: string, reset: boolean): Promise<number> {
  const bound = await watchFor(bench, { kind: 'PersistentVolumeClaim', name }, (claim) => phaseOf(claim) === 'Bound')
  const startedAt = performance.now()
  await bench.kube.create(claimOf(bench.stage, name, reset))
  await bound.seen
  return performance.now() - startedAt
}

async function timeWrites(bench: Bench, name: string): Promise<number> {
  const { kube, stage } = bench
  const ref = { kind: 'ConfigMap', namespace: stage.namespace, name } as const
  const done = await watchFor(bench, ref, (object) => object.metadata.annotations?.['step'] === '2')
  const startedAt = performance.now()
  await kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: stage.namespace } })
  await kube.patch(ref, { metadata: { annotations: { step: '1' } } })
  await kube.patch(ref, { metadata: { annotations: { step: '2' } } })
  await done.seen
  return performance.now() - startedAt
}

/** Watches one object. Resolves when the watch is open; `seen` resolves when the object matches. */
async function watchFor(
  { stage, kube, signal }: Bench,
  { kind, name }: { readonly kind: 'PersistentVolumeClaim' | 'ConfigMap'; readonly name: string },
  isWanted: (object: KubeObject) => boolean,
): Promise<{ seen: Promise<void> }> {
  const end = new AbortController()
  const either = AbortSignal.any([signal, end.signal])
  const synced = Promise.withResolvers<void>()
  const seen = (async () => {
    const selection = { kind, namespace: stage.namespace, fields: `metadata.name=${name}` }
    for await (const change of kube.watch(selection, { signal: either })) {
      if (change.type === 'synced') synced.resolve()
      else if (isWanted(change.object)) break
    }
    end.abort()
  })()
  await Promise.race([synced.promise, once(signal, 'abort')])
  return { seen }
}

function phaseOf(object: KubeObject): unknown {
  const status = object['status']
  return typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined
}
