/** What the cluster looks like, kept by watches. Reads cost nothing; what is written is checked by the API server, so a late view does no harm. */
import type { Clock, Logger } from '@windlass/kit'
import { ALL_NAMESPACES, type Change, type Kube, type KubeObject, type Selection } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { z } from 'zod'
import { Claim } from '../pool/request.ts'
import { Volume } from '../pool/volume.ts'

export interface ClusterView {
  readonly classes: ReadonlyMap<string, KubeObject>
  readonly nodes: ReadonlyMap<string, KubeObject>
  readonly volumes: ReadonlyMap<string, Volume>
  /** By `namespace/name`. */
  readonly claims: ReadonlyMap<string, Claim>
  /** The pod that mounts a claim, by the claim's `namespace/name`. */
  readonly podOf: (claimKey: string) => PodOnDisk | undefined
  /** Resolves when everything there is has been seen once. */
  readonly synced: Promise<void>
  /** Monotonic milliseconds when the API server was heard last. */
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
    volumes: z.array(z.looseObject({ persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional() })).default([]),
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

/** Starts the watches; they end with the signal. */
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
      // Blind: let the probe end this process.
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
      // Volumes and claims of others may have any shape; what cannot be read is none of ours.
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
      // A pod that vanished unseen comes without its specification.
      if (!pod.success) {
        for (const sharing of pods.values()) sharing.delete(object.metadata.name)
        return
      }
      for (const key of claimsOf(pod.data)) {
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

function claimsOf({ metadata, spec }: PodOnDisk): string[] {
  return spec.volumes.flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [keyOf({ namespace: metadata.namespace, name: claim.claimName })],
  )
}
