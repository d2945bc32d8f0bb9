/** A disk as a PersistentVolume of the cluster, and its properties. */
import type { KubeObject } from '@windlass/kube'
import { z } from 'zod'
import { NOTE } from './notes.ts'

export const Volume = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string().optional(),
    resourceVersion: z.string(),
    creationTimestamp: z.string().optional(),
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
    hostPath: z.looseObject({ path: z.string() }).optional(),
    local: z.looseObject({ path: z.string() }).optional(),
    nodeAffinity: z.unknown().optional(),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).default({ phase: 'Pending' }),
})
export type Volume = z.infer<typeof Volume>

/** Parses a PersistentVolume. Throws a ZodError for anything else. */
export function toVolume(object: KubeObject): Volume {
  return Volume.parse(object)
}

/** Returns the folder of a disk on a node; undefined for a cloud disk. */
export function localPathOf({ spec }: Volume): string | undefined {
  return spec.local?.path ?? spec.hostPath?.path
}

/** Returns the last use of the disk, else its creation, in epoch milliseconds; 0 if neither is known. */
export function lastUsedAt({ metadata: { annotations, creationTimestamp } }: Volume): number {
  return Date.parse(annotations[NOTE.lastUsed] ?? annotations[NOTE.created] ?? creationTimestamp ?? '') || 0
}

/** Returns the number of builds that used the disk. */
export function mountCountOf({ metadata: { annotations } }: Volume): number {
  return Math.max(0, Math.floor(Number(annotations[NOTE.mountCount] ?? 0)) || 0)
}

/**
 * Whether no other build takes the disk, and it is removed when no claim holds it: its removal was requested, or it was created for a claim that may
 * already have been gone. A late removal of an earlier disk of that claim would delete the data of this one.
 */
export function isDoomed({ metadata, spec }: Volume): boolean {
  const { annotations, deletionTimestamp } = metadata
  return (
    deletionTimestamp !== undefined ||
    annotations[NOTE.deletion] !== undefined ||
    annotations[NOTE.removing] !== undefined ||
    annotations[NOTE.unconfirmed] !== undefined ||
    spec.persistentVolumeReclaimPolicy === 'Delete'
  )
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL = ['k', 'M', 'G', 'T', 'P', 'E']

/** Returns a Kubernetes quantity of storage in bytes; 0 if it is invalid. */
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
