/**
 * Removing an attempt, and being sure of it: `stop` ends only when no pod of the attempt is left, because the next attempt must not run
 * beside it. Pods get a moment to end and are not dropped by force, but for those whose node no longer exists.
 */
import type { Clock, Logger } from '@windlass/kit'
import { refOf, type Kind, type Kube, type KubeObject } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'
import { PodShape } from './read-pod.ts'

export interface RemoveOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  /** Resolves at the next change of a pod of this attempt, or after `ms`. */
  readonly podChange: (ref: AttemptRef, ms: number, signal: AbortSignal) => Promise<void>
}

/** In this order: the Secret owns the others and goes with the rest, whatever is interrupted. */
const PARTS: readonly Kind[] = ['Pod', 'PersistentVolumeClaim', 'Secret']
/** A daemon or engine that was told to end is killed after this; 0 would drop the pod while its processes may still run. */
const LEAST_GRACE_SECONDS = 1
const DIND_GRACE_SECONDS = 5
/** How long to wait for a change before looking again. */
const LOOK_AGAIN_MS = 1_000

/** Deletes everything labelled with the attempt; resolves when it is gone. */
export async function removeAttempt(
  options: RemoveOptions,
  task: AttemptRef & { readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { kube, log } = options
  const asked = new Set<string>()
  for (;;) {
    const left = await listAttempt(options, task, signal)
    if (left.length === 0) return
    const fresh = left.filter((object) => !asked.has(keyOf(object)))
    await Promise.all(
      fresh.map(async (object) => {
        asked.add(keyOf(object))
        await kube.delete(refOf(object), { uid: object.metadata.uid, signal, ...graceOf(object, task.graceMs) })
      }),
    )
    await Promise.all(left.filter((object) => !fresh.includes(object)).map((object) => dropIfNodeIsGone(options, object, signal)))
    if (fresh.length === 0)
      log.debug({ buildId: task.buildId, attempt: task.attempt, left: left.map(keyOf) }, 'waiting for objects to go')
    const isOnlyPods = fresh.length > 0 && !left.some(({ kind }) => kind === 'Pod')
    if (!isOnlyPods) await options.podChange(task, LOOK_AGAIN_MS, signal)
  }
}

async function listAttempt(options: RemoveOptions, ref: AttemptRef, signal: AbortSignal): Promise<KubeObject[]> {
  const labels = `${LABEL.build}=${ref.buildId},${LABEL.attempt}=${ref.attempt}`
  const selections = options.namespaces.flatMap((namespace) => PARTS.map((kind) => ({ kind, namespace, labels })))
  return (await Promise.all(selections.map((selection) => options.kube.list(selection, signal)))).flat()
}

function keyOf(object: KubeObject): string {
  return `${object.kind}/${object.metadata.name}/${object.metadata.uid ?? ''}`
}

function graceOf(object: KubeObject, graceMs: number): { graceSeconds?: number } {
  if (object.kind !== 'Pod') return {}
  const least = object.metadata.labels?.[LABEL.app] === 'dind' ? DIND_GRACE_SECONDS : LEAST_GRACE_SECONDS
  return { graceSeconds: Math.max(least, Math.ceil(graceMs / 1000)) }
}

/** Nobody can confirm the end of a pod on a node that was removed; nothing of it runs either. */
async function dropIfNodeIsGone({ kube, log }: RemoveOptions, object: KubeObject, signal: AbortSignal): Promise<void> {
  if (object.kind !== 'Pod') return
  const { nodeName } = PodShape.parse(object).spec
  if (nodeName === undefined) return
  const node = await kube.find({ kind: 'Node', name: nodeName }, signal)
  if (node !== undefined) return
  log.warn({ pod: object.metadata.name, node: nodeName }, 'dropping a pod whose node is gone')
  await kube.delete(refOf(object), { uid: object.metadata.uid, graceSeconds: 0, signal })
}
