import { z } from 'zod'

const PodVolumes = z.looseObject({
  volumes: z.array(z.looseObject({ persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional() })).default([]),
})

/** Names of the claims that a pod mounts. */
export function claimsOf(pod: { readonly [field: string]: unknown }): string[] {
  return PodVolumes.parse(pod['spec']).volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}
