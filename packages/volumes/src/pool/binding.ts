/**
 * The writes that bind a claim and a volume, identical to those of Kubernetes' own controller (docs/development/adr/0007). Pure: objects and patches.
 */
import { createHash } from 'node:crypto'
import { defined } from '@windlass/kit'
import type { KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import { z } from 'zod'
import { claimKey, type NewDisk } from './maker.ts'
import { addUser, DISK_LABEL, NOTE } from './notes.ts'
import { mountCountOf, type Volume } from './volume.ts'
import type { DiskClaim } from './claim.ts'

const ClaimSpec = z.looseObject({ resources: z.object({ requests: z.object({ storage: z.string() }) }) })

/** Annotation of the controller for a claim whose binding is complete. */
const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' }

/**
 * Returns the patch that reserves a volume for a claim. It applies only if the volume has not changed since; the second writer gets
 * `conflict`.
 */
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

/**
 * Returns the volume of a new disk, reserved for its claim. Its name is the same on every attempt for this claim. `why` says why no other disk was used.
 */
export function newVolume(disk: NewDisk, claim: DiskClaim, now: number, why?: string): KubeObject {
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
        [NOTE.unconfirmed]: 'true',
        ...defined({ [NOTE.retention]: retention, [NOTE.why]: why }),
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

/** Returns the patches of the claim that complete the binding: its volume, and its status. */
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

/** Returns the labels of the claim for the volume, without those of the attempt, because the volume outlives it. */
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
  return {
    [NOTE.lastUsed]: new Date(now).toISOString(),
    [NOTE.build]: claim.request.labels[LABEL.build] ?? '',
    [NOTE.selector]: claim.request.selector.join(','),
  }
}
