/** Reads which nodes a pod may run on. */
import { Placement } from '@windlass/volumes'

interface PodLike {
  readonly [field: string]: unknown
}

/** Returns the node requirements of a pod; none without a pod or with invalid ones, which Kubernetes refuses. */
export function placementOf(pod: PodLike | undefined): Placement {
  const parsed = Placement.safeParse(pod?.['spec'] ?? {})
  return parsed.success ? parsed.data : Placement.parse({})
}

/**
 * Returns the group of nodes that a pod may run on: a text that is equal for pods of the same node selector. Tolerations do not count, because
 * Kubernetes adds some to existing pods.
 */
export function nodeGroupOf(pod: PodLike | undefined): string {
  const { nodeSelector } = placementOf(pod)
  return Object.entries(nodeSelector)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',')
}
