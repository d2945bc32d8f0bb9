/** A cache of cluster objects, kept by watches. It may be behind, which is harmless because the API server checks every write. */
import type { Clock, Logger } from '@windlass/kit'
import { ALL_NAMESPACES, type Change, type Kube, type KubeObject, type Selection } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { z } from 'zod'
import { claimRefsOf } from '../pool/pod-claims.ts'
import { Claim } from '../pool/request.ts'
import { Volume } from '../pool/volume.ts'

export interface ClusterView {
  readonly classes: ReadonlyMap<string, KubeObject>
  readonly nodes: ReadonlyMap<string, KubeObject>
  readonly volumes: ReadonlyMap<string, Volume>
  /** By `namespace/name`. */
  readonly claims: ReadonlyMap<string, Claim>
  /** Returns the pod that mounts a claim, by the claim's `namespace/name`. */
  readonly podOf: (claimKey: string) => PodOnDisk | undefined
  /** Resolves when all existing objects have been seen once. */
  readonly synced: Promise<void>
  /** Returns the time of the last message of the API server, in monotonic milliseconds. */
  readonly heardAt: () => number
}

export interface ViewOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onClaim: (key: string) => void
  readonly onVolume: (name: string) => void
  readonly onNodeGone: (name: string) => void
}

const PodOnDisk = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  spec: z.looseObject({
    nodeName: z.string().optional(),
  }),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      containerStatuses: z
        .array(
          z.looseObject({
            state: z.looseObject({ terminated: z.looseObject({ message: z.string().optional() }).optional() }).prefault({}),
          }),
        )
        .default([]),
    })
    .prefault({}),
})
export type PodOnDisk = z.infer<typeof PodOnDisk>

/** Starts the watches, which end with the signal. */
export function openView(options: ViewOptions): ClusterView {
  const { kube, clock, log, signal } = options
  const classes = new Map<string, KubeObject>()
  const nodes = new Map<string, KubeObject>()
  const volumes = new Map<string, Volume>()
  const claims = new Map<string, Claim>()
  const pods = new Map<string, Map<string, PodOnDisk>>()
  let heardAt = clock.monotonic()
  let hasEnded = false

  const follow = (selection: Selection, onChange: (change: Exclude<Change, { type: 'synced' }>) => void): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const onHeard = (): void => {
      heardAt = clock.monotonic()
    }
    void (async () => {
      for await (const change of kube.watch(selection, { signal, onHeard })) {
        if (change.type === 'synced') resolve()
        else onChange(change)
      }
    })().catch((error: unknown) => {
      log.error({ err: error, kind: selection.kind }, 'a watch ended')
      // Makes the liveness probe fail, so that the process is restarted.
      hasEnded = true
    })
    return promise
  }

  const synced = Promise.all([
    follow({ kind: 'StorageClass' }, ({ type, object }) => {
      if (type === 'set') classes.set(object.metadata.name, object)
      else classes.delete(object.metadata.name)
      for (const [key, { spec }] of claims) if (spec.storageClassName === object.metadata.name) options.onClaim(key)
    }),
    follow({ kind: 'Node' }, ({ type, object }) => {
      if (type === 'set') nodes.set(object.metadata.name, object)
      else if (nodes.delete(object.metadata.name)) options.onNodeGone(object.metadata.name)
    }),
    follow({ kind: 'PersistentVolume' }, ({ type, object }) => {
      // Foreign volumes and claims may have any shape; those that cannot be parsed are not ours.
      const volume = Volume.safeParse(object)
      if (type === 'set' && volume.success) volumes.set(object.metadata.name, volume.data)
      else volumes.delete(object.metadata.name)
      options.onVolume(object.metadata.name)
    }),
    follow({ kind: 'PersistentVolumeClaim', namespace: ALL_NAMESPACES }, ({ type, object }) => {
      const key = keyOf(object.metadata)
      const before = claims.get(key)
      const claim = Claim.safeParse(object)
      if (type === 'set' && claim.success) claims.set(key, claim.data)
      else claims.delete(key)
      options.onClaim(key)
      const volume = claims.get(key)?.spec.volumeName ?? before?.spec.volumeName ?? ''
      if (volume !== '') options.onVolume(volume)
    }),
    follow({ kind: 'Pod', namespace: ALL_NAMESPACES, labels: `${LABEL.app}=dind` }, ({ type, object }) => {
      const pod = PodOnDisk.safeParse(object)
      // A pod whose deletion was not seen comes without its spec.
      if (!pod.success) {
        for (const sharing of pods.values()) sharing.delete(object.metadata.name)
        return
      }
      for (const key of claimRefsOf(pod.data).map(keyOf)) {
        const sharing = pods.get(key) ?? new Map<string, PodOnDisk>()
        if (type === 'set') pods.set(key, sharing.set(pod.data.metadata.name, pod.data))
        else if (sharing.delete(pod.data.metadata.name) && sharing.size === 0) pods.delete(key)
        options.onClaim(key)
        const volume = claims.get(key)?.spec.volumeName ?? ''
        if (volume !== '') options.onVolume(volume)
      }
    }),
  ])
  return {
    classes,
    nodes,
    volumes,
    claims,
    podOf: (key) => pods.get(key)?.values().next().value,
    synced: synced.then(() => undefined),
    heardAt: () => (hasEnded ? -Infinity : heardAt),
  }
}

export function keyOf({ namespace = '', name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace}/${name}`
}
