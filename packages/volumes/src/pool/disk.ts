/**
 * The pool of disks: persistent volumes that outlive their claims. A free one is chosen by label and bound to its claim here, by the
 * same writes as Kubernetes' own controller makes: the claim's uid on the volume (compare and swap by resourceVersion decides who gets
 * it), then the volume's name on the claim. Left to the controller, twenty claims at once take 3 to 12 s, because it makes no more than
 * 20 calls a second; a claim that names its volume waits for its next round, up to 15 s. The controller finds the work done.
 * Not here: what a disk is made of (`maker.ts`, `../backends`), removing disks (`../provisioner`).
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import { refOf, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { LABEL, type DiskRequest } from '@windlass/protocol'
import { z } from 'zod'
import { completion, newVolume, reservation } from './bond.ts'
import { chooseDisks } from './choose-disk.ts'
import type { DiskMaker } from './maker.ts'
import { NOTE } from './notes.ts'
import { isSchedulable, onNode, type Placement } from './placement.ts'
import { toVolume, type Volume } from './volume.ts'

export interface DiskPoolOptions {
  readonly kube: Kube
  readonly clock: Clock
  /** Makes a disk where none fits. */
  readonly maker: DiskMaker
  /**
   * How long to wait after a new disk was bound. The scheduler hears of it a moment later, and a pod that it looks at before that waits for
   * seconds: for whoever creates the pod next.
   */
  readonly schedulerLagMs?: number | undefined
  /** What a watch knows of the volumes; they are listed where absent, and once more before a disk is made. */
  readonly known?: (() => readonly Volume[]) | undefined
  /** Whether a build can use the disk where it is. Where absent: the node of the disk is there and open. */
  readonly isWithinReach?: ((volume: Volume, claim: DiskClaim, signal: AbortSignal) => Promise<boolean>) | undefined
}

export interface DiskClaim {
  readonly request: DiskRequest
  /** The PersistentVolumeClaim, as the cluster has it. */
  readonly claim: KubeObject
  /** Name of the pod that will mount it. */
  readonly pod: string
  readonly runtime: string
  /** What the pod asks of its node, where that is known. */
  readonly placement?: Placement | undefined
}

export interface Disk {
  /** Name of the PersistentVolume. */
  readonly volume: string
  readonly reused: boolean
}

export interface DiskPool {
  /** Chooses or makes a disk for a claim and binds them; the same disk when asked again. The claim is bound when this resolves. */
  bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk>
  /** Chooses a free disk for a claim and binds them; undefined when none fits. */
  reuse(claim: DiskClaim, signal: AbortSignal): Promise<Disk | undefined>
  /** Keeps the disk that a build used last for it alone until a time; 0 gives it back. Nothing happens when there is none. */
  keep(buildId: string, until: number): Promise<void>
  /** Notes on which node the disk of a claim lives; later pods that use it go there. */
  assignNode(claim: ObjectRef, node: string): Promise<void>
}

/** How long a list of disks is good for further choices. */
const LIST_MS = 500

/** Opens the pool of a cluster; nothing is asked yet. */
export function openDiskPool(options: DiskPoolOptions): DiskPool {
  return new RetainedDisks(options)
}

class RetainedDisks implements DiskPool {
  readonly #options: DiskPoolOptions
  readonly #kube: Kube
  readonly #clock: Clock
  /** One choice at a time: side by side they would all choose the same disk and all but one lose. */
  #last: Promise<unknown> = Promise.resolve()
  #volumes: readonly Volume[] = []
  #listedAt = -Infinity
  /** Disks that a choice of this process was spoilt on or took, by the version it knew: a list may still show them. */
  readonly #spent = new Map<string, string>()

  constructor(options: DiskPoolOptions) {
    this.#options = options
    this.#kube = options.kube
    this.#clock = options.clock
  }

  async bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk> {
    const lag = this.#options.schedulerLagMs ?? 0
    const reused = await this.reuse(claim, signal)
    if (reused !== undefined) return reused
    const volume = await this.#create(claim, signal)
    await this.#complete(claim, volume, signal)
    if (lag > 0) await this.#clock.sleep(lag, signal)
    return { volume: volume.metadata.name, reused: false }
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

  /** The claim's side of the bond. Volume and claim agree already, so the controller can only repeat these writes. */
  async #complete({ claim }: DiskClaim, volume: Volume, signal: AbortSignal): Promise<void> {
    const ref = refOf(claim)
    const patch = completion(volume, volume.metadata.name)
    await Promise.all([
      this.#kube.patch(ref, patch.claim, { signal }),
      this.#kube.patch(ref, patch.status, { signal, part: 'status' }),
    ])
  }

  /**
   * The disks of a class. A burst of builds shares one list; who takes a disk from it is settled by the write. A disk stays in the
   * namespace of its first claim: whose claim holds it could not be seen from another one, and its data would cross a boundary.
   */
  async #list({ request, claim }: DiskClaim, isFresh: boolean, signal: AbortSignal): Promise<Volume[]> {
    const isHere = ({ metadata, spec: { storageClassName, claimRef } }: Volume): boolean =>
      storageClassName === request.storageClassName &&
      (claimRef?.namespace ?? claim.metadata.namespace) === claim.metadata.namespace &&
      this.#spent.get(metadata.name) !== metadata.resourceVersion
    const { known } = this.#options
    if (known !== undefined && !isFresh) return known().filter(isHere)
    const now = this.#clock.monotonic()
    if (isFresh || now - this.#listedAt > LIST_MS) {
      const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal)
      this.#volumes = objects.map(toVolume)
      this.#listedAt = now
      this.#spent.clear()
    }
    return this.#volumes.filter(isHere)
  }

  /**
   * A disk that another agent has just reserved stays `Released` until the controller has looked at it: only a claim that is gone frees it.
   * A disk on a node that is gone or closed would keep the build waiting.
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

  /** The volume with the claim on it, or undefined when somebody else was faster. */
  async #reserve(volume: Volume, claim: DiskClaim, signal: AbortSignal): Promise<Volume | undefined> {
    const { name, resourceVersion } = volume.metadata
    this.#spent.set(name, resourceVersion)
    try {
      const patch = reservation(volume, claim, this.#clock.now())
      return toVolume(await this.#kube.patch({ kind: 'PersistentVolume', name }, patch, { signal }))
    } catch (error) {
      if (isFault(error, 'conflict', 'not-found')) return undefined
      // The write may have arrived: the next try must see it.
      this.#listedAt = -Infinity
      this.#spent.delete(name)
      throw error
    }
  }

  async #create(claim: DiskClaim, signal: AbortSignal): Promise<Volume> {
    const disk = await this.#options.maker.make(claim, signal)
    const volume = toVolume(await this.#kube.apply(newVolume(disk, claim, this.#clock.now()), [], signal))
    if (volume.spec.claimRef?.uid !== claim.claim.metadata.uid)
      throw fault('conflict', { message: `The volume ${volume.metadata.name} is there already, for another claim.` })
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
    // The affinity of a volume can be set once; a disk on a node never moves.
    const affinity = volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
    await this.#kube.patch(ref, { metadata: { annotations: { [NOTE.node]: nodeName } }, ...affinity })
  }
}

const BoundClaim = z.looseObject({ spec: z.looseObject({ volumeName: z.string().optional() }).prefault({}) })

/**
 * True while the claim that the volume names exists: the disk is in use, whatever its phase says. A claim that is told to go lives on
 * while a pod uses it (finalizer `kubernetes.io/pvc-protection`), so this covers the pods too.
 */
export async function isClaimed(kube: Kube, { spec: { claimRef: held } }: Volume, signal?: AbortSignal): Promise<boolean> {
  if (held === undefined) return false
  const claim = await kube.find({ kind: 'PersistentVolumeClaim', namespace: held.namespace, name: held.name }, signal)
  return claim !== undefined && claim.metadata.uid === held.uid
}
