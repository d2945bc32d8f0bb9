/** Lists objects of a kind that a cluster may not have. */
import { isFault } from '@windlass/kit'
import type { Kube, Selection } from './client.ts'
import type { KubeObject } from './objects.ts'

/** Returns none if the cluster does not have the kind. */
export async function listIfKnown(kube: Kube, selection: Selection): Promise<KubeObject[]> {
  try {
    return await kube.list(selection)
  } catch (error) {
    if (isFault(error, 'not-found')) return []
    throw error
  }
}
