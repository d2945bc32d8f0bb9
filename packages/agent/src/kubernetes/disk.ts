/**
 * The pool of disks: persistent volumes that outlive their claims. A free one is chosen by label, claimed by writing `claimRef` on it
 * (compare and swap by resourceVersion), and bound by a claim that names no volume: 12 ms, while a claim that names its volume waits
 * for up to 15 s. Not here: making disks of cloud backends, cleaning (package volumes).
 */
import { randomBytes } from 'node:crypto'
import { isFault, type Clock } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { LABEL, type DiskRequest } from '@windlass/protocol'
import { z } from 'zod'

export interface DiskPoolOptions {
  readonly kube: Kube
  readonly clock: Clock
  /** Folder on the nodes below which disks are made. */
  readonly parentDir: string
}

export interface DiskClaim {
  readonly request: DiskRequest
  readonly namespace: string
  /** Name of the PersistentVolumeClaim that will bind. */
  readonly claim: string
  /** Name of the pod that will mount it. */
  readonly pod: string
  readonly runtime: string
  readonly capacity: string
}

export interface DiskPool {
  /** Reserves a disk for a claim that is made afterwards; the same disk when asked again. Answers its name. */
  acquire(claim: DiskClaim, signal: AbortSignal): Promise<{ readonly volume: string; readonly reused: boolean }>
  /** Notes on which node the disk of a claim lives; later pods that use it go there. */
  assignNode(claim: ObjectRef, node: string): Promise<void>
}

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
    storageClassName: z.string().default(''),
    persistentVolumeReclaimPolicy: z.string().default('Retain'),
    claimRef: z.looseObject({ name: z.string(), namespace: z.string(), uid: z.string().optional() }).optional(),
    nodeAffinity: z.unknown().optional(),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).default({ phase: 'Pending' }),
})
export type Volume = z.infer<typeof Volume>

const NOTE = {
  lastUsed: 'codefresh.io/lastUsedTimestamp',
  mountCount: 'codefresh.io/mount-count',
  usedBy: 'codefresh.io/usedBy',
  node: 'codefresh.io/assignedNode',
  deletion: 'node_requested_deletion',
  created: 'codefresh.io/backendVolumeTimestamp',
} as const

/** A reserved disk whose claim never came is free again after this time: its agent died in between. */
const ABANDONED_MS = 600_000

export function openDiskPool(options: DiskPoolOptions): DiskPool {
  return new RetainedDisks(options)
}

class RetainedDisks implements DiskPool {
  readonly #kube: Kube
  readonly #clock: Clock
  readonly #parentDir: string
  /** One choice at a time: side by side they would all choose the same disk and all but one lose. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: DiskPoolOptions) {
    this.#kube = options.kube
    this.#clock = options.clock
    this.#parentDir = options.parentDir
  }

  async acquire(claim: DiskClaim, signal: AbortSignal): Promise<{ volume: string; reused: boolean }> {
    const turn = this.#last.then(() => this.#acquire(claim, signal))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async #acquire(claim: DiskClaim, signal: AbortSignal): Promise<{ volume: string; reused: boolean }> {
    signal.throwIfAborted()
    const volumes = await this.#list(claim.request, signal)
    const mine = volumes.find(({ spec }) => spec.claimRef?.name === claim.claim && spec.claimRef.namespace === claim.namespace)
    if (mine !== undefined) return { volume: mine.metadata.name, reused: true }
    const free = claim.request.reset ? [] : chooseDisks(volumes, claim.request, this.#clock.now())
    for (const volume of free) {
      if (!(await this.#isUsable(volume, signal))) continue
      if (await this.#reserve(volume, claim, signal)) return { volume: volume.metadata.name, reused: true }
    }
    return { volume: await this.#create(claim, signal), reused: false }
  }

  async #list(request: DiskRequest, signal: AbortSignal): Promise<Volume[]> {
    const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal)
    return objects.map((object) => Volume.parse(object)).filter(({ spec }) => spec.storageClassName === request.storageClassName)
  }

  /** A disk on a node that is gone or closed would keep the build waiting. */
  async #isUsable(volume: Volume, signal: AbortSignal): Promise<boolean> {
    const name = volume.metadata.annotations[NOTE.node]
    if (name === undefined) return true
    const node = await this.#kube.find({ kind: 'Node', name }, signal)
    return node !== undefined && isSchedulable(node)
  }

  async #reserve(volume: Volume, claim: DiskClaim, signal: AbortSignal): Promise<boolean> {
    const mounts = Number(volume.metadata.annotations[NOTE.mountCount] ?? 0) + 1
    const patch = {
      metadata: {
        resourceVersion: volume.metadata.resourceVersion,
        labels: volumeLabels(claim),
        annotations: useNotes(claim, mounts, this.#clock.now()),
      },
      spec: { claimRef: { ...claimRef(claim), uid: null, resourceVersion: null } },
    }
    try {
      await this.#kube.patch({ kind: 'PersistentVolume', name: volume.metadata.name }, patch, signal)
      return true
    } catch (error) {
      if (isFault(error, 'conflict', 'not-found')) return false
      throw error
    }
  }

  async #create(claim: DiskClaim, signal: AbortSignal): Promise<string> {
    const id = randomBytes(6).toString('hex')
    const now = this.#clock.now()
    const volume: KubeObject = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: {
        name: `dind-volume-${id}`,
        labels: { ...volumeLabels(claim), 'backend-volume-type': 'local' },
        annotations: {
          ...useNotes(claim, 1, now),
          [NOTE.created]: new Date(now).toISOString(),
          'backend-volume-id': `vol-${id}`,
        },
      },
      spec: {
        capacity: { storage: claim.capacity },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: claim.request.storageClassName,
        hostPath: { path: `${this.#parentDir}/vol-${id}`, type: 'DirectoryOrCreate' },
        claimRef: claimRef(claim),
      },
    }
    await this.#kube.apply(volume, [], signal)
    return volume.metadata.name
  }

  async assignNode(claim: ObjectRef, nodeName: string): Promise<void> {
    const { spec } = BoundClaim.parse((await this.#kube.find(claim)) ?? {})
    if (spec.volumeName === undefined) return
    const ref = { kind: 'PersistentVolume', name: spec.volumeName } as const
    const [found, node] = await Promise.all([this.#kube.find(ref), this.#kube.find({ kind: 'Node', name: nodeName })])
    if (found === undefined || node === undefined) return
    const volume = Volume.parse(found)
    if (volume.metadata.annotations[NOTE.node] === nodeName) return
    // The affinity of a volume can be set once; a disk on a node never moves.
    const affinity = volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
    await this.#kube.patch(ref, { metadata: { annotations: { [NOTE.node]: nodeName } }, ...affinity })
  }
}

const BoundClaim = z.looseObject({ spec: z.looseObject({ volumeName: z.string().optional() }).prefault({}) })

/**
 * The free disks that fit, best first (runner specification 5.4): all selector keys equal, large enough, not marked for deletion; then
 * by equal keys of the sort order from left to right, the most recently used, the most often used.
 */
export function chooseDisks(volumes: readonly Volume[], request: DiskRequest, now: number): Volume[] {
  const rank = (volume: Volume): readonly number[] => [
    ...request.sortOrder.map((key) => (sameLabel(volume, request, key) ? 1 : 0)),
    Date.parse(volume.metadata.annotations[NOTE.lastUsed] ?? '') || 0,
    Number(volume.metadata.annotations[NOTE.mountCount] ?? 0),
  ]
  return volumes
    .filter((volume) => isFree(volume, now) && request.selector.every((key) => sameLabel(volume, request, key)))
    .filter((volume) => storageBytes(volume.spec.capacity.storage) >= request.sizeBytes)
    .toSorted((a, b) => compareRanks(rank(b), rank(a)))
}

function sameLabel(volume: Volume, request: DiskRequest, key: string): boolean {
  return volume.metadata.labels[key] === request.labels[key]
}

function isFree({ metadata, spec, status }: Volume, now: number): boolean {
  if (metadata.deletionTimestamp !== undefined || metadata.annotations[NOTE.deletion] !== undefined) return false
  if (spec.persistentVolumeReclaimPolicy !== 'Retain') return false
  if (status.phase === 'Released') return spec.claimRef?.uid !== undefined
  if (status.phase !== 'Available') return false
  const isReserved = spec.claimRef !== undefined
  return !isReserved || now - (Date.parse(metadata.annotations[NOTE.lastUsed] ?? '') || 0) > ABANDONED_MS
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

function claimRef(claim: DiskClaim): { apiVersion: string; kind: string; namespace: string; name: string } {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: claim.namespace, name: claim.claim }
}

/** Labels of the claim go onto the volume, but for those that name the attempt: the volume outlives it. */
function volumeLabels(claim: DiskClaim): Record<string, string> {
  const lasting = Object.entries(claim.request.labels).filter(([key]) => !key.startsWith('windlass.io/'))
  return { ...Object.fromEntries(lasting), pod_name: claim.pod, pod_namespace: claim.namespace, runtime_env: claim.runtime }
}

function useNotes(claim: DiskClaim, mounts: number, now: number): Record<string, string> {
  return { [NOTE.lastUsed]: new Date(now).toISOString(), [NOTE.mountCount]: String(mounts), [NOTE.usedBy]: claim.pod }
}

/** By label, not by field: the scheduler compares the affinity of volumes with labels only. */
function onNode(node: KubeObject): Record<string, unknown> {
  const key = 'kubernetes.io/hostname'
  const values = [node.metadata.labels?.[key] ?? node.metadata.name]
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] } }
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
