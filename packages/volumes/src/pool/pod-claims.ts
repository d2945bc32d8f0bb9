/** Reads the claims that a pod mounts. */
import type { ObjectRef } from '@windlass/kube'
import { z } from 'zod'

const PodVolumes = z.looseObject({
  volumes: z.array(z.looseObject({ persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional() })).default([]),
})

export function claimNamesOf(pod: { readonly [field: string]: unknown }): string[] {
  return PodVolumes.parse(pod['spec']).volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

export function claimRefsOf(pod: {
  readonly metadata: { readonly namespace?: string | undefined }
  readonly [field: string]: unknown
}): ObjectRef[] {
  const { namespace } = pod.metadata
  return claimNamesOf(pod).map((name) => ({ kind: 'PersistentVolumeClaim', name, namespace }))
}
