/**
 * The order of disk and pod. A pod that kube-scheduler sees before its claim is bound can wait for minutes: two handlers of the scheduler
 * receive the bound claim in any order, one for its queue and one for its cache of claims. If the queue is first, the scheduler tries the
 * pod with the old claim, rejects it, and retries it only when the queue is flushed (5 minutes, Kubernetes 1.34). Therefore a pod is
 * created when its claim is bound, and a claim is touched if the scheduler rejected its pod anyway (docs/development/adr/0054).
 */
import { isFault, type Clock } from '@windlass/kit'
import { refOf, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { CLAIM_NOTE } from '@windlass/protocol'
import { z } from 'zod'
import { claimRefsOf } from './pod-claims.ts'

const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'

const BoundClaim = z.looseObject({
  spec: z.looseObject({ storageClassName: z.string().optional(), volumeName: z.string().default('') }).prefault({}),
})

/** Whether the scheduler sees the claim as bound: it names its volume, and the binding is complete. */
export function isBound(claim: KubeObject): boolean {
  const { spec } = BoundClaim.parse(claim)
  return spec.volumeName !== '' && claim.metadata.annotations?.[BIND_COMPLETED] !== undefined
}

export interface UntilBoundOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called with the last event of the claim after each `lateMs` in which it was not bound. */
  readonly onLate?: (message: string) => void
  readonly lateMs?: number
}

/** Binding takes about 20 ms, a new cloud disk about 10 s. Milliseconds. */
const LATE_MS = 8_000

/**
 * Resolves when a claim is bound or gone, and at once for a class that binds only after its pod was scheduled. Throws faults of the cluster
 * and the reason of the signal.
 */
export async function untilBound(claim: KubeObject, options: UntilBoundOptions): Promise<void> {
  if (isBound(claim) || (await waitsForPod(claim, options))) return
  const { kube, clock, signal, onLate, lateMs = LATE_MS } = options
  const over = new AbortController()
  const watching = AbortSignal.any([signal, over.signal])
  const { name, namespace } = claim.metadata
  const ref: ObjectRef = { kind: 'PersistentVolumeClaim', name, namespace }
  // Not awaited: an API server that does not answer about events must not delay the result.
  void (async () => {
    for (;;) {
      await clock.sleep(lateMs, watching)
      const message = (await kube.events(ref).catch(() => [])).at(-1) ?? 'The claim is not bound yet.'
      watching.throwIfAborted()
      onLate?.(message)
    }
  })().catch(() => undefined)
  try {
    let isThere = false
    for await (const change of kube.watch({ kind: ref.kind, namespace, fields: `metadata.name=${name}` }, { signal: watching })) {
      if (change.type === 'set') isThere = true
      if (change.type === 'gone' || (change.type === 'synced' && !isThere)) return
      if (change.type === 'set' && isBound(change.object)) return
    }
    signal.throwIfAborted()
  } finally {
    over.abort()
  }
}

const StorageClass = z.looseObject({ volumeBindingMode: z.string().default('Immediate') })

/** Whether the class of the claim binds only after its pod got a node. A class without read permission counts as such. */
async function waitsForPod(claim: KubeObject, { kube, signal }: UntilBoundOptions): Promise<boolean> {
  const { storageClassName = '' } = BoundClaim.parse(claim).spec
  if (storageClassName === '') return false
  try {
    const found = await kube.find({ kind: 'StorageClass', name: storageClassName }, signal)
    return found !== undefined && StorageClass.parse(found).volumeBindingMode === 'WaitForFirstConsumer'
  } catch (error) {
    // Waiting for a claim that waits for its pod would never end. Not waiting only costs time.
    if (isFault(error, 'cluster-refused')) return true
    throw error
  }
}

const RefusedPod = z.looseObject({
  spec: z.looseObject({ nodeName: z.string().optional() }).prefault({}),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
    })
    .prefault({}),
})

/** Whether the scheduler rejected a pod because it did not know yet that its claims exist and are bound. */
export function overlooksClaim(pod: { readonly [field: string]: unknown }): boolean {
  const parsed = RefusedPod.safeParse(pod)
  if (!parsed.success || parsed.data.spec.nodeName !== undefined) return false
  const refusal = parsed.data.status.conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  return (
    refusal !== undefined && /unbound immediate PersistentVolumeClaims|persistentvolumeclaim ".*" not found/.test(refusal.message)
  )
}

/** Minimum time between touches of a claim, by agent and provisioner together. Milliseconds. */
export const TOUCH_MS = 1_000

/**
 * Touches the claims of a pod that `overlooksClaim`, so that the scheduler retries it. Does nothing while one of them is missing or not
 * bound, and skips claims that were touched within `TOUCH_MS`.
 */
export async function touchClaims(
  { kube, clock }: { readonly kube: Kube; readonly clock: Clock },
  pod: Parameters<typeof claimRefsOf>[0],
): Promise<void> {
  const refs = claimRefsOf(pod)
  const claims = (await Promise.all(refs.map((ref) => kube.find(ref)))).filter((claim) => claim !== undefined)
  if (claims.length < refs.length || !claims.every(isBound)) return
  const now = clock.now()
  for (const claim of claims) {
    const touchedAt = Date.parse(claim.metadata.annotations?.[CLAIM_NOTE.touched] ?? '')
    // The clock of the other writer may be ahead.
    if (!(Math.abs(now - touchedAt) < TOUCH_MS)) await touch(kube, refOf(claim), now)
  }
}

async function touch(kube: Kube, claim: ObjectRef, now: number): Promise<void> {
  const annotations = { [CLAIM_NOTE.touched]: new Date(now).toISOString() }
  await kube.patch(claim, { metadata: { annotations } }).catch((error: unknown) => {
    if (!isFault(error, 'not-found')) throw error
  })
}
