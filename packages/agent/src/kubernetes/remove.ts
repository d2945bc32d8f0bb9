/**
 * Removing an attempt, and being sure of it: `stop` ends only when no pod of the attempt is left, because the next attempt must not run
 * beside it. Pods get a moment to end and are not dropped by force, but for those whose node no longer exists.
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

/** In this order: the Secret owns the others and goes with the rest, whatever is interrupted. */
const PARTS: readonly Kind[] = ['Pod', 'PersistentVolumeClaim', 'Secret']
/** A daemon or engine that was told to end is killed after this; 0 would drop the pod while its processes may still run. */
const LEAST_GRACE_SECONDS = 1
const DIND_GRACE_SECONDS = 5
/** How long to wait for a pod's change before looking again, and how long for the rest, which goes within milliseconds. */
const PODS_MS = 1_000
const REST_MS = 20

/** Deletes everything labelled with the attempt; resolves when it is gone. */
export async function removeAttempt(
  options: RemoveOptions,
  task: AttemptRef & { readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const asked = new Set<string>()
  using changes = options.follow(task)
  for (let restMs = REST_MS; ;) {
    const left = await listAttempt(options, task, signal)
    if (left.length === 0) return
    await Promise.all(left.map((object) => askToGo(options, { object, asked, graceMs: task.graceMs }, signal)))
    if (left.some(({ kind }) => kind === 'Pod')) {
      await changes.next(PODS_MS, signal)
      continue
    }
    await options.clock.sleep(restMs, signal)
    restMs = Math.min(restMs * 2, PODS_MS)
  }
}

/** Deletes an object once; one that was told to go already is dropped when nobody is left to confirm its end. */
async function askToGo(
  options: RemoveOptions,
  { object, asked, graceMs }: { object: KubeObject; asked: Set<string>; graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const key = `${object.kind}/${object.metadata.name}/${object.metadata.uid ?? ''}`
  if (asked.has(key)) return dropIfNodeIsGone(options, object, signal)
  await options.kube.delete(refOf(object), { uid: object.metadata.uid, signal, ...graceOf(object, graceMs) })
  asked.add(key)
}

async function listAttempt(options: RemoveOptions, ref: AttemptRef, signal: AbortSignal): Promise<KubeObject[]> {
  const labels = `${LABEL.build}=${ref.buildId},${LABEL.attempt}=${ref.attempt}`
  const selections = options.namespaces.flatMap((namespace) => PARTS.map((kind) => ({ kind, namespace, labels })))
  return (await Promise.all(selections.map((selection) => options.kube.list(selection, signal)))).flat()
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
