/**
 * The pool of disks: persistent volumes that outlive their claims. A free one is chosen by label and bound to its claim here, by the
 * same writes as Kubernetes' own controller makes: the claim's uid on the volume (compare and swap by resourceVersion decides who gets
 * it), then the volume's name on the claim. Left to the controller, twenty claims at once take 3 to 12 s, because it makes no more than
 * 20 calls a second; a claim that names its volume waits for its next round, up to 15 s. The controller finds the work done.
 * Not here: making disks of cloud backends, cleaning (package volumes).
 */
import { randomBytes } from 'node:crypto'
import { isFault, type Clock } from '@windlass/kit'
import { refOf, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { LABEL, type DiskRequest } from '@windlass/protocol'
import { z } from 'zod'
import { chooseDisks, isSchedulable, Volume } from './choose-disk.ts'
import { NOTE } from './notes.ts'

export interface DiskPoolOptions {
  readonly kube: Kube
  readonly clock: Clock
  /** Folder on the nodes below which disks are made. */
  readonly parentDir: string
}

export interface DiskClaim {
  readonly request: DiskRequest
  /** The PersistentVolumeClaim, as the cluster has it. */
  readonly claim: KubeObject
  /** Name of the pod that will mount it. */
  readonly pod: string
  readonly runtime: string
}

export interface Disk {
  /** Name of the PersistentVolume. */
  readonly volume: string
  readonly reused: boolean
}

export interface DiskPool {
  /** Chooses or makes a disk for a claim and binds them; the same disk when asked again. The claim is bound when this resolves. */
  bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk>
  /** Keeps the disk that a build used last for it alone until a time; 0 gives it back. Nothing happens when there is none. */
  keep(buildId: string, until: number): Promise<void>
  /** Notes on which node the disk of a claim lives; later pods that use it go there. */
  assignNode(claim: ObjectRef, node: string): Promise<void>
}

/** The scheduler hears of a new volume a moment later; a pod that it looks at before that waits for seconds. */
const SCHEDULER_LAG_MS = 50

/** How long a list of disks is good for further choices. */
const LIST_MS = 500

/** What the controller notes on a claim that is bound for good. */
const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' }

export function openDiskPool(options: DiskPoolOptions): DiskPool {
  return new RetainedDisks(options)
}

class RetainedDisks implements DiskPool {
  readonly #kube: Kube
  readonly #clock: Clock
  readonly #parentDir: string
  /** One choice at a time: side by side they would all choose the same disk and all but one lose. */
  #last: Promise<unknown> = Promise.resolve()
  #volumes: readonly Volume[] = []
  #listedAt = -Infinity

  constructor(options: DiskPoolOptions) {
    this.#kube = options.kube
    this.#clock = options.clock
    this.#parentDir = options.parentDir
  }

  async bind(claim: DiskClaim, signal: AbortSignal): Promise<Disk> {
    const turn = this.#last.then(() => this.#choose(claim, signal))
    this.#last = turn.catch(() => undefined)
    const { volume, reused } = await turn
    await this.#complete(claim, volume, signal)
    if (!reused) await this.#clock.sleep(SCHEDULER_LAG_MS, signal)
    return { volume: volume.metadata.name, reused }
  }

  async #choose(claim: DiskClaim, signal: AbortSignal): Promise<{ volume: Volume; reused: boolean }> {
    signal.throwIfAborted()
    for (const isFresh of [false, true]) {
      const volumes = await this.#list(claim, isFresh, signal)
      const mine = volumes.find(({ spec }) => spec.claimRef?.uid !== undefined && spec.claimRef.uid === claim.claim.metadata.uid)
      if (mine !== undefined) return { volume: mine, reused: true }
      for (const volume of claim.request.reset ? [] : chooseDisks(volumes, claim.request, this.#clock.now())) {
        const reserved = (await this.#isUsable(volume, signal)) ? await this.#reserve(volume, claim, signal) : undefined
        if (reserved !== undefined) return { volume: reserved, reused: true }
      }
    }
    return { volume: await this.#create(claim, signal), reused: false }
  }

  /** The claim's side of the bond. Volume and claim agree already, so the controller can only repeat these writes. */
  async #complete({ claim }: DiskClaim, volume: Volume, signal: AbortSignal): Promise<void> {
    const ref = refOf(claim)
    const { capacity, accessModes } = volume.spec
    await Promise.all([
      this.#kube.patch(ref, { metadata: { annotations: BOUND }, spec: { volumeName: volume.metadata.name } }, { signal }),
      this.#kube.patch(ref, { status: { phase: 'Bound', capacity, accessModes } }, { signal, part: 'status' }),
    ])
  }

  /**
   * The disks of a class. A burst of builds shares one list; who takes a disk from it is settled by the write. A disk stays in the
   * namespace of its first claim: whose claim holds it could not be seen from another one, and its data would cross a boundary.
   */
  async #list({ request, claim }: DiskClaim, isFresh: boolean, signal: AbortSignal): Promise<Volume[]> {
    const now = this.#clock.monotonic()
    if (isFresh || now - this.#listedAt > LIST_MS) {
      const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal)
      this.#volumes = objects.map((object) => Volume.parse(object))
      this.#listedAt = now
    }
    const isHere = ({ spec: { claimRef } }: Volume): boolean =>
      (claimRef?.namespace ?? claim.metadata.namespace) === claim.metadata.namespace
    return this.#volumes.filter((volume) => volume.spec.storageClassName === request.storageClassName && isHere(volume))
  }

  /**
   * A disk that another agent has just reserved stays `Released` until the controller has looked at it: only a claim that is gone frees it.
   * A disk on a node that is gone or closed would keep the build waiting.
   */
  async #isUsable(volume: Volume, signal: AbortSignal): Promise<boolean> {
    if (await this.#isClaimed(volume, signal)) return false
    const name = volume.metadata.annotations[NOTE.node]
    if (name === undefined) return true
    const node = await this.#kube.find({ kind: 'Node', name }, signal)
    return node !== undefined && isSchedulable(node)
  }

  async #isClaimed({ spec: { claimRef: held } }: Volume, signal: AbortSignal): Promise<boolean> {
    if (held === undefined) return false
    const claim = await this.#kube.find({ kind: 'PersistentVolumeClaim', namespace: held.namespace, name: held.name }, signal)
    return claim !== undefined && claim.metadata.uid === held.uid
  }

  /** The volume with the claim on it, or undefined when somebody else was faster. */
  async #reserve(volume: Volume, claim: DiskClaim, signal: AbortSignal): Promise<Volume | undefined> {
    const mounts = Number(volume.metadata.annotations[NOTE.mountCount] ?? 0) + 1
    const patch = {
      metadata: {
        resourceVersion: volume.metadata.resourceVersion,
        labels: volumeLabels(claim),
        annotations: { ...useNotes(claim, mounts, this.#clock.now()), [NOTE.keptUntil]: null },
      },
      spec: { claimRef: { ...claimRef(claim), resourceVersion: null } },
    }
    try {
      this.#volumes = this.#volumes.filter((other) => other !== volume)
      return Volume.parse(await this.#kube.patch({ kind: 'PersistentVolume', name: volume.metadata.name }, patch, { signal }))
    } catch (error) {
      if (isFault(error, 'conflict', 'not-found')) return undefined
      // The write may have arrived: the next try must see it.
      this.#listedAt = -Infinity
      throw error
    }
  }

  async #create(claim: DiskClaim, signal: AbortSignal): Promise<Volume> {
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
        capacity: ClaimSpec.parse(claim.claim['spec']).resources.requests,
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: claim.request.storageClassName,
        hostPath: { path: `${this.#parentDir}/vol-${id}`, type: 'DirectoryOrCreate' },
        claimRef: claimRef(claim),
      },
    }
    return Volume.parse(await this.#kube.apply(volume, [], signal))
  }

  async keep(buildId: string, until: number): Promise<void> {
    const note = until === 0 ? null : new Date(until).toISOString()
    const objects = await this.#kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` })
    const own = objects
      .map((object) => Volume.parse(object))
      .filter(({ metadata }) => metadata.annotations[NOTE.build] === buildId)
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
    const volume = Volume.parse(found)
    if (volume.metadata.annotations[NOTE.node] === nodeName) return
    // The affinity of a volume can be set once; a disk on a node never moves.
    const affinity = volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
    await this.#kube.patch(ref, { metadata: { annotations: { [NOTE.node]: nodeName } }, ...affinity })
  }
}

const BoundClaim = z.looseObject({ spec: z.looseObject({ volumeName: z.string().optional() }).prefault({}) })

const ClaimSpec = z.looseObject({ resources: z.object({ requests: z.object({ storage: z.string() }) }) })

function claimRef({ claim }: DiskClaim): Record<string, unknown> {
  const { namespace, name, uid } = claim.metadata
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
}

/** Labels of the claim go onto the volume, but for those that name the attempt: the volume outlives it. */
function volumeLabels(claim: DiskClaim): Record<string, string> {
  const lasting = Object.entries(claim.request.labels).filter(([key]) => !key.startsWith('windlass.io/'))
  return {
    ...Object.fromEntries(lasting),
    pod_name: claim.pod,
    pod_namespace: claim.claim.metadata.namespace ?? '',
    runtime_env: claim.runtime,
  }
}

function useNotes(claim: DiskClaim, mounts: number, now: number): Record<string, string> {
  return {
    [NOTE.lastUsed]: new Date(now).toISOString(),
    [NOTE.mountCount]: String(mounts),
    [NOTE.usedBy]: claim.pod,
    [NOTE.build]: claim.request.labels[LABEL.build] ?? '',
  }
}

/** By label, not by field: the scheduler compares the affinity of volumes with labels only. */
function onNode(node: KubeObject): Record<string, unknown> {
  const key = 'kubernetes.io/hostname'
  const values = [node.metadata.labels?.[key] ?? node.metadata.name]
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] } }
}
