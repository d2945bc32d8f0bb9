/**
 * Removes an attempt. `stop` resolves only when no pod of the attempt is left, because the next attempt must not run beside it. Pods are
 * not deleted by force, except those whose node no longer exists.
 */
import type { Clock, Logger } from '@windlass/kit'
import { refOf, type Kind, type Kube, type KubeObject } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'
import type { PodChanges } from './pods.ts'
import { PodShape } from './read-pod.ts'

export interface RemoveOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  /** Follows the pods of an attempt. */
  readonly follow: (ref: AttemptRef) => PodChanges
}

/** In this order: the Secret owns the others, so if the removal is interrupted the rest goes with it. */
const PARTS: readonly Kind[] = ['Pod', 'PersistentVolumeClaim', 'Secret']
/** Minimum grace of a daemon or engine; 0 would remove the pod while its processes may still run. */
const MIN_GRACE_SECONDS = 1
/** Must exceed `ROOM_GRACE_SECONDS`, because the watch does not report daemons with that grace. */
const DIND_GRACE_SECONDS = 5
/** Time to wait for the end of the pods before looking again, and for the other objects, which go within milliseconds. Milliseconds. */
const PODS_MS = 1_000
const REST_MS = 20

/** Deletes all objects labeled with the attempt. Resolves when they are gone. */
export async function removeAttempt(
  options: RemoveOptions,
  task: AttemptRef & { readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const requested = new Set<string>()
  using changes = options.follow(task)
  let kinds = PARTS
  for (let restMs = REST_MS; ;) {
    const left = await listAttempt(options, { ref: task, kinds }, signal)
    // An interrupted start may have created objects of other kinds meanwhile.
    if (left.length === 0 && kinds.length === PARTS.length) return
    await Promise.all(left.map((object) => requestRemoval(options, { object, requested, graceMs: task.graceMs }, signal)))
    kinds = left.length === 0 ? PARTS : PARTS.filter((kind) => left.some((object) => object.kind === kind))
    const pods = left.filter(({ kind }) => kind === 'Pod')
    if (pods.length > 0) await untilPodsGone(options, { pods, changes }, signal)
    else if (left.length > 0) {
      await options.clock.sleep(restMs, signal)
      restMs = Math.min(restMs * 2, PODS_MS)
    }
  }
}

/** Resolves when the watch has reported the end of all pods, or has been silent. */
async function untilPodsGone(
  { clock }: RemoveOptions,
  { pods, changes }: { readonly pods: readonly KubeObject[]; readonly changes: PodChanges },
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonic() + PODS_MS
  const areGone = (): boolean => pods.every(({ metadata }) => changes.last(metadata.uid ?? '')?.type === 'gone')
  while (!areGone() && clock.monotonic() < until) await changes.next(until - clock.monotonic(), signal)
}

/** Deletes an object once. If its deletion was requested before, it is removed by force if its node is gone. */
async function requestRemoval(
  options: RemoveOptions,
  { object, requested, graceMs }: { object: KubeObject; requested: Set<string>; graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const key = `${object.kind}/${object.metadata.name}/${object.metadata.uid ?? ''}`
  if (requested.has(key)) return dropIfNodeIsGone(options, object, signal)
  await options.kube.delete(refOf(object), { uid: object.metadata.uid, signal, ...graceOf(object, graceMs) })
  requested.add(key)
}

async function listAttempt(
  options: RemoveOptions,
  { ref, kinds }: { readonly ref: AttemptRef; readonly kinds: readonly Kind[] },
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const labels = `${LABEL.build}=${ref.buildId},${LABEL.attempt}=${ref.attempt}`
  const selections = options.namespaces.flatMap((namespace) => kinds.map((kind) => ({ kind, namespace, labels })))
  return (await Promise.all(selections.map((selection) => options.kube.list(selection, signal)))).flat()
}

function graceOf(object: KubeObject, graceMs: number): { graceSeconds?: number } {
  if (object.kind !== 'Pod') return {}
  const minimum = object.metadata.labels?.[LABEL.app] === 'dind' ? DIND_GRACE_SECONDS : MIN_GRACE_SECONDS
  return { graceSeconds: Math.max(minimum, Math.ceil(graceMs / 1000)) }
}

/** Deletes a pod by force if its node no longer exists: no kubelet can confirm its end, and none of its processes runs. */
async function dropIfNodeIsGone({ kube, log }: RemoveOptions, object: KubeObject, signal: AbortSignal): Promise<void> {
  if (object.kind !== 'Pod') return
  const { nodeName } = PodShape.parse(object).spec
  if (nodeName === undefined) return
  const node = await kube.find({ kind: 'Node', name: nodeName }, signal)
  if (node !== undefined) return
  log.warn({ pod: object.metadata.name, node: nodeName }, 'deleting a pod by force because its node is gone')
  await kube.delete(refOf(object), { uid: object.metadata.uid, graceSeconds: 0, signal })
}
