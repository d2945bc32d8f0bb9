/**
 * The writes that bind a claim and a volume, the same as Kubernetes' own controller makes (docs/adr/0007). Pure: objects and patches.
 */
import { createHash } from 'node:crypto'
import type { KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import { z } from 'zod'
import type { DiskClaim } from './disk.ts'
import { claimKey, type NewDisk } from './maker.ts'
import { addUser, DISK_LABEL, NOTE } from './notes.ts'
import { mountCountOf, type Volume } from './volume.ts'

const ClaimSpec = z.looseObject({ resources: z.object({ requests: z.object({ storage: z.string() }) }) })

/** What the controller notes on a claim that is bound for good. */
const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' }

/** Puts a claim on a volume, if the volume is still what was read: who comes second gets `conflict`. */
export function reservation(volume: Volume, claim: DiskClaim, now: number): Record<string, unknown> {
  const labels = volumeLabels(claim)
  const { metadata } = volume
  const stale = Object.keys(metadata.labels).filter((key) => !Object.hasOwn(labels, key) && !isOfDisk(key))
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      labels: { ...Object.fromEntries(stale.map((key) => [key, null])), ...labels },
      annotations: {
        ...useNotes(claim, now),
        [NOTE.mountCount]: String(mountCountOf(volume) + 1),
        [NOTE.usedBy]: addUser(metadata.annotations[NOTE.usedBy], claim.pod),
        [NOTE.keptUntil]: null,
        [NOTE.free]: null,
        [NOTE.retention]: claim.claim.metadata.annotations?.[CLAIM_NOTE.retention] ?? null,
      },
    },
    spec: { claimRef: { ...claimRef(claim), resourceVersion: null } },
  }
}

/** The volume of a new disk, with its claim on it. Its name is the same at every try for this claim. */
export function newVolume(disk: NewDisk, claim: DiskClaim, now: number): KubeObject {
  const retention = claim.claim.metadata.annotations?.[CLAIM_NOTE.retention]
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: `dind-volume-${claimKey(claim)}`,
      labels: {
        ...volumeLabels(claim),
        [DISK_LABEL.backend]: disk.backend,
        [DISK_LABEL.backendIdMd5]: createHash('md5').update(disk.id).digest('hex'),
      },
      annotations: {
        ...useNotes(claim, now),
        [NOTE.mountCount]: '1',
        [NOTE.usedBy]: claim.pod,
        [NOTE.created]: new Date(now).toISOString(),
        [NOTE.backendId]: disk.id,
        ...(retention !== undefined && { [NOTE.retention]: retention }),
        ...disk.annotations,
      },
    },
    spec: {
      capacity: ClaimSpec.parse(claim.claim['spec']).resources.requests,
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: claim.request.storageClassName,
      ...disk.spec,
      claimRef: claimRef(claim),
    },
  }
}

/** The claim's side of the bond: its volume, and its status. */
export function completion(
  { spec }: Volume,
  volumeName: string,
): { claim: Record<string, unknown>; status: Record<string, unknown> } {
  const { capacity, accessModes } = spec
  return {
    claim: { metadata: { annotations: BOUND }, spec: { volumeName } },
    status: { status: { phase: 'Bound', capacity, accessModes } },
  }
}

function claimRef({ claim }: DiskClaim): Record<string, unknown> {
  const { namespace, name, uid } = claim.metadata
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
}

/** Labels of the claim go onto the volume, but for those that name the attempt: the volume outlives it. */
function volumeLabels(claim: DiskClaim): Record<string, string> {
  const lasting = Object.entries(claim.request.labels).filter(([key]) => !key.startsWith('windlass.io/'))
  return {
    [LABEL.volumeApp]: 'dind',
    ...Object.fromEntries(lasting),
    [DISK_LABEL.pod]: claim.pod,
    [DISK_LABEL.podNamespace]: claim.claim.metadata.namespace ?? '',
    [DISK_LABEL.runtime]: claim.runtime,
  }
}

function isOfDisk(key: string): boolean {
  return key === DISK_LABEL.backend || key === DISK_LABEL.backendIdMd5 || key.includes('kubernetes.io/')
}

function useNotes(claim: DiskClaim, now: number): Record<string, string> {
  return { [NOTE.lastUsed]: new Date(now).toISOString(), [NOTE.build]: claim.request.labels[LABEL.build] ?? '' }
}
