/**
 * The pool of disks: persistent volumes that outlive their claims. A free one is chosen by labels and bound to its claim with the writes of
 * Kubernetes' own controller: first the uid of the claim on the volume, where compare-and-swap by resourceVersion decides who gets it, then
 * the name of the volume on the claim. Left to the controller, twenty claims at once take 3 to 12 s, because it makes at most 20 calls per
 * second and handles a claim that names its volume only every 15 s. Creating disks is in `maker.ts` and `../backends`, removing them in
 * `../provisioner`.
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import { refOf, type Kube, type ObjectRef } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { z } from 'zod'
import { completion, newVolume, reservation } from './binding.ts'
import { chooseDisks } from './choose-disk.ts'
import type { DiskMaker } from './maker.ts'
import { NOTE } from './notes.ts'
import { isSchedulable, onNode } from './placement.ts'
import { whyNewDisk } from './why-new.ts'
import { toVolume, type Volume } from './volume.ts'
import type { DiskClaim } from './claim.ts'

export interface DiskPoolOptions {
  readonly kube: Kube
  readonly clock: Clock
  /** Creates a disk if none fits. */
  readonly maker: DiskMaker
  /** Volumes known from a watch. If absent, they are listed; they are listed again before a disk is created. */
  readonly known?: (() => readonly Volume[]) | undefined
  /** Whether a build can use the disk at its location. Default: the node of the disk exists and is schedulable. */
  readonly isWithinReach?: ((volume: Volume, claim: DiskClaim, signal: AbortSignal) => Promise<boolean>) | undefined
}

export interface Disk {
  /** Name of the PersistentVolume. */
  readonly volume: string
  readonly reused: boolean
  /** Why no other disk was used. Only for a new disk. */
  readonly whyNew?: string | undefined
}

export interface DiskPool {
  /** Binds a claim to a chosen or new disk, the same one if it is called again. The claim is bound when this resolves. */
  bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk>
  /** Binds a claim to a free disk. Returns undefined if none fits. */
  reuse(claim: DiskClaim, signal: AbortSignal): Promise<Disk | undefined>
  /** Keeps the disk that a build used last for this build until a time; 0 releases it. Does nothing if there is none. */
  keep(buildId: string, until: number): Promise<void>
  /** Writes the node of a claim's disk to its volume, so that later pods are scheduled there. */
  assignNode(claim: ObjectRef, node: string): Promise<void>
}

/** Signal of writes that are not aborted. Each has the timeout of a call. */
const NEVER = new AbortController().signal

/** Time for which a list of disks is reused. Milliseconds. */
const LIST_MS = 500

/** Opens the pool of a cluster; makes no call yet. */
export function openDiskPool(options: DiskPoolOptions): DiskPool {
  return new RetainedDisks(options)
}

class RetainedDisks implements DiskPool {
  readonly #options: DiskPoolOptions
  readonly #kube: Kube
  readonly #clock: Clock
  /** Serializes choices: concurrent ones would choose the same disk, and all but one would fail. */
  #last: Promise<unknown> = Promise.resolve()
  #volumes: readonly Volume[] = []
  #listedAt = -Infinity
  /** Versions of disks that a choice of this process took or failed to take; a list may still contain them. */
  readonly #attempted = new Map<string, string>()

  constructor(options: DiskPoolOptions) {
    this.#options = options
    this.#kube = options.kube
    this.#clock = options.clock
  }

  async bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk> {
    const reused = await this.reuse(claim, signal)
    if (reused !== undefined) return reused
    const volume = await this.#create(claim, signal)
    // Completed also if the build is stopped meanwhile: no other build takes an unconfirmed disk, and an agent cannot remove it.
    await this.#complete(claim, volume, NEVER)
    return { volume: volume.metadata.name, reused: false, whyNew: volume.metadata.annotations[NOTE.why] }
  }

  async reuse(claim: DiskClaim, signal: AbortSignal): Promise<Disk | undefined> {
    const turn = this.#last.then(() => this.#choose(claim, signal))
    this.#last = turn.catch(() => undefined)
    const volume = await turn
    if (volume === undefined) return undefined
    await this.#complete(claim, volume, signal)
    return { volume: volume.metadata.name, reused: true }
  }

  async #choose(claim: DiskClaim, signal: AbortSignal): Promise<Volume | undefined> {
    signal.throwIfAborted()
    for (const isFresh of [false, true]) {
      const volumes = await this.#list(claim, isFresh, signal)
      const mine = volumes.find(({ spec }) => spec.claimRef?.uid !== undefined && spec.claimRef.uid === claim.claim.metadata.uid)
      if (mine !== undefined) return mine
      for (const volume of claim.request.reset ? [] : chooseDisks(volumes, claim.request, this.#clock.now())) {
        const reserved = (await this.#isUsable(volume, claim, signal)) ? await this.#reserve(volume, claim, signal) : undefined
        if (reserved !== undefined) return reserved
      }
    }
    return undefined
  }

  /** Completes the binding on the claim. Volume and claim already agree, so the controller can only repeat these writes. */
  async #complete({ claim }: DiskClaim, volume: Volume, signal: AbortSignal): Promise<void> {
    const ref = refOf(claim)
    const patch = completion(volume, volume.metadata.name)
    const [seen] = await Promise.all([
      this.#kube.patch(ref, patch.claim, { signal }),
      this.#kube.patch(ref, patch.status, { signal, part: 'status' }),
    ])
    if (seen.metadata.uid === claim.metadata.uid) await confirmDisk(this.#kube, volume, signal)
  }

  /**
   * Lists the disks of a class. Concurrent builds share one list; the write decides who gets a disk. A disk stays in the namespace of its
   * first claim: from another namespace its claim could not be read, and its data would cross a boundary.
   */
  async #list({ request, claim }: DiskClaim, isFresh: boolean, signal: AbortSignal): Promise<Volume[]> {
    const isHere = ({ metadata, spec: { storageClassName, claimRef } }: Volume): boolean =>
      storageClassName === request.storageClassName &&
      (claimRef?.namespace ?? claim.metadata.namespace) === claim.metadata.namespace &&
      this.#attempted.get(metadata.name) !== metadata.resourceVersion
    const { known } = this.#options
    if (known !== undefined && !isFresh) return known().filter(isHere)
    const now = this.#clock.monotonic()
    if (isFresh || now - this.#listedAt > LIST_MS) {
      const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal)
      this.#volumes = objects.map(toVolume)
      this.#listedAt = now
      this.#attempted.clear()
    }
    return this.#volumes.filter(isHere)
  }

  /**
   * Whether a disk can be taken. A disk that another agent has just reserved stays `Released` until the controller handles it, so its claim
   * is checked. A disk on a node that is gone or cordoned would block the build.
   */
  async #isUsable(volume: Volume, claim: DiskClaim, signal: AbortSignal): Promise<boolean> {
    const { isWithinReach = (one: Volume) => this.#isOnOpenNode(one, signal) } = this.#options
    return (await isWithinReach(volume, claim, signal)) && !(await isClaimed(this.#kube, volume, signal))
  }

  async #isOnOpenNode({ metadata }: Volume, signal: AbortSignal): Promise<boolean> {
    const name = metadata.annotations[NOTE.node]
    if (name === undefined) return true
    const node = await this.#kube.find({ kind: 'Node', name }, signal)
    return node !== undefined && isSchedulable(node)
  }

  /** Reserves the volume for the claim. Returns undefined if another process was faster. */
  async #reserve(volume: Volume, claim: DiskClaim, signal: AbortSignal): Promise<Volume | undefined> {
    const { name, resourceVersion } = volume.metadata
    this.#attempted.set(name, resourceVersion)
    try {
      const patch = reservation(volume, claim, this.#clock.now())
      return toVolume(await this.#kube.patch({ kind: 'PersistentVolume', name }, patch, { signal }))
    } catch (error) {
      if (isFault(error, 'conflict', 'not-found')) return undefined
      // The write may have arrived; the next attempt must see it.
      this.#listedAt = -Infinity
      this.#attempted.delete(name)
      throw error
    }
  }

  async #create(claim: DiskClaim, signal: AbortSignal): Promise<Volume> {
    const disk = await this.#options.maker.make(claim, signal)
    signal.throwIfAborted()
    const now = this.#clock.now()
    // The list of the choice. What is known from a watch may be behind it.
    const why = whyNewDisk(this.#volumes, claim, now)
    const volume = toVolume(await this.#kube.apply(newVolume(disk, claim, now, why), [], NEVER))
    if (volume.spec.claimRef?.uid !== claim.claim.metadata.uid)
      throw fault('conflict', { message: `The volume ${volume.metadata.name} already exists for another claim.` })
    return volume
  }

  async keep(buildId: string, until: number): Promise<void> {
    const note = until === 0 ? null : new Date(until).toISOString()
    const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` })
    const own = objects.map(toVolume).filter(({ metadata }) => metadata.annotations[NOTE.build] === buildId)
    await Promise.all(
      own.map(({ metadata: { name } }) =>
        this.#kube.patch({ kind: 'PersistentVolume', name }, { metadata: { annotations: { [NOTE.keptUntil]: note } } }),
      ),
    )
    this.#listedAt = -Infinity
  }

  async assignNode(claim: ObjectRef, nodeName: string): Promise<void> {
    const { spec } = BoundClaim.parse((await this.#kube.find(claim)) ?? {})
    if (spec.volumeName === undefined) return
    const ref = { kind: 'PersistentVolume', name: spec.volumeName } as const
    const [found, node] = await Promise.all([this.#kube.find(ref), this.#kube.find({ kind: 'Node', name: nodeName })])
    if (found === undefined || node === undefined) return
    const volume = toVolume(found)
    if (volume.metadata.annotations[NOTE.node] === nodeName) return
    // The affinity of a volume can be set only once; a disk on a node never moves.
    const affinity = volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
    await this.#kube.patch(ref, { metadata: { annotations: { [NOTE.node]: nodeName } }, ...affinity })
  }
}

const BoundClaim = z.looseObject({ spec: z.looseObject({ volumeName: z.string().optional() }).prefault({}) })

/**
 * Admits a disk to the pool. Its claim must have been seen after the given state of the volume. Does nothing if the disk is confirmed, or if the
 * volume is gone.
 */
export async function confirmDisk(kube: Kube, seen: Volume, signal: AbortSignal): Promise<void> {
  const { name, uid } = seen.metadata
  const ref = { kind: 'PersistentVolume', name } as const
  let volume: Volume | undefined = seen
  while (volume?.metadata.annotations[NOTE.unconfirmed] !== undefined) {
    const { resourceVersion } = volume.metadata
    try {
      await kube.patch(ref, { metadata: { resourceVersion, annotations: { [NOTE.unconfirmed]: null } } }, { signal })
      return
    } catch (error) {
      if (!isFault(error, 'conflict', 'not-found')) throw error
    }
    const found = await kube.find(ref, signal)
    volume = found === undefined || found.metadata.uid !== uid ? undefined : toVolume(found)
  }
}

/**
 * Whether the claim that the volume names exists. The disk is then in use, whatever its phase is. A claim that is being deleted exists
 * while a pod uses it (finalizer `kubernetes.io/pvc-protection`), so this covers pods too.
 */
export async function isClaimed(kube: Kube, { spec: { claimRef: held } }: Volume, signal?: AbortSignal): Promise<boolean> {
  if (held === undefined) return false
  const claim = await kube.find({ kind: 'PersistentVolumeClaim', namespace: held.namespace, name: held.name }, signal)
  return claim !== undefined && claim.metadata.uid === held.uid
}
