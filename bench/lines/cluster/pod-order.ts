/**
 * Time from a claim to a pod with a node, in three orders (docs/development/adr/0054): the pod with its claim, the pod after its claim is bound,
 * and the pod with its claim and a scheduling gate that is removed when the claim is bound. The provisioner binds; it does not know these pods.
 */
import { silentLog, systemClock } from '@windlass/kit'
import { openKube, readKubeconfig, type Kube, type KubeObject } from '@windlass/kube'
import { untilBound } from '@windlass/volumes'
import { z } from 'zod'
import { ensureImages } from '../../../e2e/support/images.ts'
import { openStage, type Stage } from '../../../e2e/runner/volumes/stage.ts'
import { sample, type Line, type Row } from '../../row.ts'

const RUNS = 60
const WARM_UP = 3
/** A pod without a node after this time is counted with this time: the scheduler flushes such pods after five minutes. */
const GIVEN_UP_MS = 3_000

export const podOrder: Line = { name: 'pod-order', measure }

type Order = 'beside' | 'after' | 'gated'

async function measure(): Promise<Row[]> {
  await using stage = await openStage({ namespace: `bench-order-${process.pid}` })
  const { SHELL_IMAGE: image = '' } = await ensureImages('shell')
  const kube = openKube({ access: await readKubeconfig(stage.cluster.kubeconfig), log: silentLog })
  try {
    const bench = { stage, kube, image }
    const floor = await sample(RUNS, WARM_UP, async (round) => timePod(bench, `floor-${round + WARM_UP}`, undefined))
    const rows: Row[] = []
    for (const order of ['beside', 'after', 'gated'] as const) {
      const value = await sample(RUNS, WARM_UP, async (round) => timePod(bench, `${order}-${round + WARM_UP}`, order))
      rows.push({
        name: `pod-order-${order}`,
        figure: `claim created -> its pod has a node, pod ${TEXT[order]} (${GIVEN_UP_MS} ms: given up)`,
        unit: 'ms',
        value,
        warmUp: WARM_UP,
        floor: { what: 'a pod without a claim', value: floor },
      })
    }
    return rows
  } finally {
    kube.close()
  }
}

const TEXT = { beside: 'created with it', after: 'created when it is bound', gated: 'gated until it is bound' } as const

interface Bench {
  readonly stage: Stage
  readonly kube: Kube
  readonly image: string
}

async function timePod({ stage, kube, image }: Bench, name: string, order: Order | undefined): Promise<number> {
  const { namespace } = stage
  const over = AbortSignal.timeout(GIVEN_UP_MS)
  const ref = { kind: 'Pod', namespace, name } as const
  const synced = Promise.withResolvers<void>()
  const placed = (async () => {
    for await (const change of kube.watch({ kind: 'Pod', namespace, fields: `metadata.name=${name}` }, { signal: over })) {
      if (change.type === 'synced') synced.resolve()
      if (change.type === 'set' && Placed.safeParse(change.object).success) return
    }
  })()
  await synced.promise
  const startedAt = performance.now()
  const pod = podOf({ name, namespace, image }, order)
  if (order === undefined) await kube.create(pod)
  else await makeBoth({ stage, kube, image }, { name, order, pod })
  await placed
  const ms = Math.min(performance.now() - startedAt, GIVEN_UP_MS)
  await kube.delete(ref, { graceSeconds: 0 })
  if (order !== undefined) await kube.delete({ kind: 'PersistentVolumeClaim', namespace, name })
  return ms
}

const Placed = z.looseObject({ spec: z.looseObject({ nodeName: z.string() }) })

interface Both {
  readonly name: string
  readonly order: Order
  readonly pod: KubeObject
}

async function makeBoth({ stage, kube }: Bench, { name, order, pod }: Both): Promise<void> {
  const claim = await kube.create(claimOf(stage, name))
  const bound = (): Promise<void> => untilBound(claim, { kube, clock: systemClock, signal: AbortSignal.timeout(GIVEN_UP_MS) })
  if (order === 'after') await bound()
  await kube.create(pod)
  if (order !== 'gated') return
  await bound()
  await kube.patch({ kind: 'Pod', namespace: stage.namespace, name }, { spec: { schedulingGates: null } })
}

function podOf(
  { name, namespace, image }: { name: string; namespace: string; image: string },
  order: Order | undefined,
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      ...(order === 'gated' && { schedulingGates: [{ name: 'windlass.io/disk' }] }),
      containers: [{ name: 'one', image, imagePullPolicy: 'Never', command: ['true'] }],
      ...(order !== undefined && { volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: name } }] }),
    },
  }
}

function claimOf({ namespace, className }: Stage, name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace,
      labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme' },
      annotations: { 'windlass.io/placement': '{}', 'windlass.io/reset-volume': 'true' },
    },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: className, resources: { requests: { storage: '16Gi' } } },
  }
}
