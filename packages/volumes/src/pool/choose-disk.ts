/** Which disk is the best for a build. Pure: from the volumes of the cluster to a ranking. */
import type { KubeObject } from '@windlass/kube'
import type { DiskRequest } from '@windlass/protocol'
import { z } from 'zod'
import { NOTE } from './notes.ts'

export const Volume = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    resourceVersion: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.looseObject({
    capacity: z.object({ storage: z.string() }),
    accessModes: z.array(z.string()).default([]),
    storageClassName: z.string().default(''),
    persistentVolumeReclaimPolicy: z.string().default('Retain'),
    claimRef: z.looseObject({ name: z.string(), namespace: z.string(), uid: z.string().optional() }).optional(),
    nodeAffinity: z.unknown().optional(),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).default({ phase: 'Pending' }),
})
export type Volume = z.infer<typeof Volume>

/**
 * The free disks that fit, best first (runner specification 5.4): all selector keys equal, large enough, not marked for deletion, not
 * kept for another build; first those that the builds of the request used last, then by equal keys of the sort order from left to right, the most recently used, the most often used.
 */
export function chooseDisks(volumes: readonly Volume[], request: DiskRequest, now: number): Volume[] {
  const { builds = [] } = request
  const rank = (volume: Volume): readonly number[] => [
    builds.includes(volume.metadata.annotations[NOTE.build] ?? '') ? 1 : 0,
    ...request.sortOrder.map((key) => (sameLabel(volume, request, key) ? 1 : 0)),
    Date.parse(volume.metadata.annotations[NOTE.lastUsed] ?? '') || 0,
    Number(volume.metadata.annotations[NOTE.mountCount] ?? 0),
  ]
  return volumes
    .filter(
      (volume) =>
        isFree(volume) && !isKept(volume, builds, now) && request.selector.every((key) => sameLabel(volume, request, key)),
    )
    .filter((volume) => storageBytes(volume.spec.capacity.storage) >= request.sizeBytes)
    .toSorted((a, b) => compareRanks(rank(b), rank(a)))
}

function sameLabel(volume: Volume, request: DiskRequest, key: string): boolean {
  return volume.metadata.labels[key] === request.labels[key]
}

function isFree({ metadata, spec, status }: Volume): boolean {
  if (metadata.deletionTimestamp !== undefined || metadata.annotations[NOTE.deletion] !== undefined) return false
  if (spec.persistentVolumeReclaimPolicy !== 'Retain') return false
  return status.phase === 'Released' || (status.phase === 'Available' && spec.claimRef === undefined)
}

/** A build that waits for approval has its disk waiting with it, for as long as it may wait. */
function isKept({ metadata: { annotations } }: Volume, builds: readonly string[], now: number): boolean {
  const until = Date.parse(annotations[NOTE.keptUntil] ?? '')
  return until > now && !builds.includes(annotations[NOTE.build] ?? '')
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - (b[index] ?? 0)
  return 0
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi']
const DECIMAL = ['k', 'M', 'G', 'T', 'P']

/** Bytes of a Kubernetes quantity of storage; 0 when it cannot be read. */
export function storageBytes(quantity: string): number {
  const match = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity)
  if (match === null) return 0
  const unit = match[2] ?? ''
  const factor = BINARY.includes(unit)
    ? 1024 ** (BINARY.indexOf(unit) + 1)
    : DECIMAL.includes(unit)
      ? 1000 ** (DECIMAL.indexOf(unit) + 1)
      : 1
  return Number(match[1]) * factor
}

const NodeShape = z.looseObject({
  spec: z.looseObject({ unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) })
    .prefault({}),
})

/** True when the node is ready and not closed for new pods. */
export function isSchedulable(node: KubeObject): boolean {
  const { spec, status } = NodeShape.parse(node)
  return !spec.unschedulable && status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')
}
