/** Creates objects whose names may be taken: by an earlier call for the same object, or by an object that Kubernetes is still deleting. */
import { fault, isFault } from '@windlass/kit'
import type { Kube } from './client.ts'
import { refOf, type KubeObject } from './objects.ts'

interface Adopted {
  readonly object: KubeObject
  /** False if the object existed before. */
  readonly isNew: boolean
}

/**
 * Creates an object, or adopts the existing one with its name if `isSame` accepts it. Throws `conflict` if it does not, and
 * `cluster-unreachable` while the existing one is being deleted: its name becomes free without a change by the user.
 */
export async function createOrAdopt(
  kube: Pick<Kube, 'create' | 'find'>,
  object: KubeObject,
  isSame: (existing: KubeObject) => boolean,
  signal?: AbortSignal,
): Promise<Adopted> {
  try {
    return { object: await kube.create(object, signal), isNew: true }
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    const existing = await kube.find(refOf(object), signal)
    if (existing?.metadata.deletionTimestamp !== undefined || (existing === undefined && isAlreadyThere(error)))
      throw beingDeleted(object, error)
    // For example, two calls changed the same ResourceQuota.
    if (existing === undefined) throw fault('cluster-unreachable', { message: error.message }, error)
    if (!isSame(existing)) throw error
    return { object: existing, isNew: false }
  }
}

/** Whether an object of this name exists; other conflicts are transient. */
export function isAlreadyThere(error: unknown): boolean {
  return isFault(error, 'conflict') && error.details['kubeReason'] === 'AlreadyExists'
}

/** Returns the retriable fault of an object that Kubernetes is still deleting. */
export function beingDeleted({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>, cause?: unknown): Error {
  const message = `${kind} ${metadata.name} is still being deleted.`
  const hint = 'Wait until Kubernetes has deleted it, then retry.'
  return fault('cluster-unreachable', { message, hint, isBeingDeleted: true }, cause)
}

/** Whether an error is the fault of `beingDeleted`. */
export function isBeingDeleted(error: unknown): boolean {
  return isFault(error, 'cluster-unreachable') && error.details['isBeingDeleted'] === true
}
