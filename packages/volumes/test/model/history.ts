/**
 * Random histories of builds, cleaners, crashes and two provisioners that both believe to be the only one, over the real parts of the
 * provisioner. The invariants: no two builds on one disk, no removal of a disk of a live build, no new disk while a warm one fits.
 */
import { isAbort, isFault, silentLog } from '@windlass/kit'
import type { Kube, KubeObject } from '@windlass/kube'
import type { Backend } from '../../src/backends/backend.ts'
import { refusalOf } from '../../src/pool/choose-disk.ts'
import { claimKey } from '../../src/pool/maker.ts'
import { NOTE } from '../../src/pool/notes.ts'
import { Claim, requestOf } from '../../src/pool/request.ts'
import { toVolume, type Volume } from '../../src/pool/volume.ts'
import { openClaims } from '../../src/provisioner/claims.ts'
import type { Parts } from '../../src/provisioner/parts.ts'
import { openVolumes } from '../../src/provisioner/volumes.ts'
import { claimRefOf, ModelCluster, randomOf, type Caller, type Random } from './cluster.ts'

export type Act =
  | { readonly do: 'build'; readonly pipeline: number }
  | { readonly do: 'end' | 'vanish' | 'doom' | 'spare' | 'crash' | 'sync'; readonly which: number }

/** Breaks a part on purpose, to check that the invariants notice. */
export interface Mutant {
  readonly kube?: (kube: Kube) => Kube
  readonly parts?: (parts: Parts) => Parts
}

export interface Outcome {
  readonly breaches: readonly string[]
  readonly reused: number
  readonly created: number
  readonly removed: number
  readonly crashes: number
}

const NAME = 'windlass.test/disks'
const CLASS = 'dind'

interface Process {
  readonly caller: Caller
  readonly parts: Parts
  readonly claims: ReturnType<typeof openClaims>
  readonly volumes: ReturnType<typeof openVolumes>
  /** Copies the current cluster to the view, which is behind in between. */
  sync(): void
}

/** Plays a history to its end. */
export async function playHistory(acts: readonly Act[], seed: number, mutant: Mutant = {}): Promise<Outcome> {
  const history = new History(seed, mutant)
  for (const act of acts) await history.act(act)
  await history.settle()
  return history.outcome()
}

class History {
  readonly #random: Random
  readonly #cluster: ModelCluster
  readonly #mutant: Mutant
  readonly #processes: Process[] = []
  /** Running binds, with the disks that fitted from their start until now. */
  readonly #warm = new Map<string, Set<string>>()
  readonly #running = new Set<Promise<void>>()
  readonly #counts = { reused: 0, created: 0, removed: 0, failed: 0 }
  #builds = 0
  #crashes = 0
  #started = 0

  constructor(seed: number, mutant: Mutant) {
    this.#random = randomOf(seed)
    this.#mutant = mutant
    this.#cluster = new ModelCluster(this.#random)
    this.#cluster.onWrite = (name) => {
      for (const warm of this.#warm.values()) warm.delete(name)
    }
    this.#processes.push(this.#start(), this.#start())
  }

  async act(act: Act): Promise<void> {
    const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]
    if (act.do === 'build') this.#build(act.pipeline)
    else if (act.do === 'crash') this.#crash(act.which % this.#processes.length)
    else if (act.do === 'sync') this.#processes[act.which % this.#processes.length]?.sync()
    else if (act.do === 'doom' || act.do === 'spare')
      this.#decide(pick(this.#cluster.list('PersistentVolume'), act.which), act.do)
    else {
      const claims = this.#cluster.list('PersistentVolumeClaim').filter((claim) => act.do === 'vanish' || isBound(claim))
      const claim = pick(claims, act.which)
      if (claim !== undefined) this.#cluster.remove('PersistentVolumeClaim', claim.metadata.name)
    }
    await this.#turn(4)
  }

  /** Ends everything in progress; then each process checks what is left once more. */
  async settle(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      this.#cluster.reconcile()
      for (const process of this.#processes) {
        process.sync()
        this.#wake(process)
      }
      while (this.#running.size > 0) await this.#turn(8)
    }
    for (const claim of this.#cluster.list('PersistentVolumeClaim')) {
      if (!isBound(claim)) this.#breach(`the claim ${claim.metadata.name} has no disk in the end`)
      const volume = this.#cluster.objects.get(`PersistentVolume/${volumeOf(claim)}`)
      if (volume?.metadata.annotations?.[NOTE.unconfirmed] !== undefined)
        this.#breach(`the disk of the claim ${claim.metadata.name} is unconfirmed in the end`)
    }
    this.#check()
  }

  outcome(): Outcome {
    const { reused, created, removed } = this.#counts
    return { breaches: this.#cluster.breaches, reused, created, removed, crashes: this.#crashes }
  }

  #build(pipeline: number): void {
    this.#builds += 1
    const name = `pvc-dind-${this.#builds}`
    this.#cluster.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name,
        namespace: 'ns',
        uid: `uid-${this.#builds}`,
        labels: { 'codefresh-app': 'dind', pipeline_id: `p${pipeline}` },
        annotations: { 'codefresh.io/reuse-volume-selector': 'codefresh-app,pipeline_id', 'windlass.io/placement': '{}' },
      },
      spec: { storageClassName: CLASS, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Gi' } } },
      status: { phase: 'Pending' },
    })
    for (const process of this.#processes) if (this.#random.chance(0.7)) process.sync()
    for (const process of this.#processes) this.#wake(process)
  }

  /** A cleaner requests the removal of a disk or withdraws it, without checking whether the disk is used. */
  #decide(volume: KubeObject | undefined, what: 'doom' | 'spare'): void {
    if (volume === undefined) return
    const spec = { ...Object(volume['spec']), persistentVolumeReclaimPolicy: what === 'doom' ? 'Delete' : 'Retain' }
    this.#cluster.put({ ...volume, spec })
    for (const process of this.#processes) {
      if (this.#random.chance(0.5)) process.sync()
      this.#wake(process)
    }
  }

  #crash(index: number): void {
    const process = this.#processes[index]
    if (process === undefined) return
    process.caller.dead = true
    this.#crashes += 1
    this.#processes[index] = this.#start()
  }

  /** Makes a process check everything that it has in its view. */
  #wake(process: Process): void {
    for (const key of process.parts.view.claims.keys()) this.#run(() => this.#bind(process, key))
    for (const name of process.parts.view.volumes.keys()) this.#run(() => process.volumes.reconcile(name))
  }

  async #bind(process: Process, key: string): Promise<void> {
    const claim = process.parts.view.claims.get(key)
    if (claim === undefined) return
    if (claim.spec.volumeName !== '') return void (await process.claims.reconcile(key))
    const id = `${key}/${process.parts.owner}`
    // One call per key at a time, as in the queue of the provisioner.
    if (this.#warm.has(id)) return
    this.#warm.set(id, new Set(this.#fitting(claim).map(({ metadata }) => metadata.name)))
    try {
      await process.claims.reconcile(key)
    } finally {
      this.#warm.delete(id)
    }
  }

  /** Returns disks that fit and whose builds are gone, by the real state of the cluster. */
  #fitting(claim: Claim): Volume[] {
    const volumes = this.#cluster.list('PersistentVolume').map(toVolume)
    const live = new Set(this.#cluster.list('PersistentVolumeClaim').map(({ metadata }) => metadata.uid))
    return volumes.filter(
      (volume) =>
        refusalOf(volume, requestOf(claim), 0) === undefined &&
        !live.has(volume.spec.claimRef?.uid) &&
        volume.status.phase === 'Released',
    )
  }

  #run(work: () => Promise<unknown>): void {
    const running = work()
      .catch((error: unknown) => {
        if (!isFault(error) && !isAbort(error)) this.#breach(`a bug: ${String(error)}`)
      })
      .then(() => void this.#running.delete(running))
    this.#running.add(running)
  }

  /** Carries out some calls, each followed by the work that it triggers. */
  async #turn(calls: number): Promise<void> {
    for (let n = 0; n < calls; n += 1) {
      await new Promise(setImmediate)
      if (this.#cluster.pending === 0) return
      this.#cluster.step()
      this.#check()
    }
  }

  /** Checks that no two live claims have one volume. */
  #check(): void {
    const users = new Map<string, string>()
    for (const claim of this.#cluster.list('PersistentVolumeClaim')) {
      const volume = volumeOf(claim)
      if (volume === '') continue
      const other = users.get(volume)
      if (other !== undefined) this.#breach(`${volume} has two builds: ${other} and ${claim.metadata.name}`)
      users.set(volume, claim.metadata.name)
    }
  }

  #breach(message: string): void {
    if (!this.#cluster.breaches.includes(message)) this.#cluster.breaches.push(message)
  }

  #start(): Process {
    const caller: Caller = { dead: false }
    this.#started += 1
    const owner = `process-${this.#started}`
    const cluster = this.#cluster
    const volumes = new Map<string, Volume>()
    const claims = new Map<string, Claim>()
    const storageClass = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: CLASS }, provisioner: NAME }
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    }
    const kube = (this.#mutant.kube ?? ((same: Kube) => same))(cluster.kube(caller))
    const parts: Parts = {
      kube,
      clock: cluster.clock(caller),
      log: silentLog,
      view: {
        classes: new Map([[CLASS, storageClass]]),
        nodes: new Map([['n1', node]]),
        volumes,
        claims,
        podOf: () => undefined,
        synced: Promise.resolve(),
        heardAt: () => 0,
      },
      events: { write: async () => undefined },
      provisionerName: NAME,
      owner,
      openBackend: () => this.#backend(caller, owner),
      counts: this.#counts,
    }
    const used = (this.#mutant.parts ?? ((same: Parts) => same))(parts)
    const signal = new AbortController().signal
    return {
      caller,
      parts: used,
      claims: openClaims(used, signal),
      volumes: openVolumes(used, signal),
      sync() {
        volumes.clear()
        claims.clear()
        for (const object of cluster.list('PersistentVolume'))
          volumes.set(object.metadata.name, toVolume(structuredClone(object)))
        for (const object of cluster.list('PersistentVolumeClaim'))
          claims.set(`ns/${object.metadata.name}`, Claim.parse(structuredClone(object)))
      },
    }
  }

  #backend(caller: Caller, owner: string): Backend {
    return {
      type: 'local',
      needsNode: false,
      make: ({ key }) =>
        this.#cluster.ask(caller, true, () => {
          for (const [id, warm] of this.#warm)
            if (warm.size > 0 && !caller.dead && id.endsWith(`/${owner}`) && this.#keyOf(id) === key)
              this.#breach(`a new disk for ${id} though ${[...warm].join(', ')} fits`)
          return { id: `vol-${key}`, backend: 'local', spec: { hostPath: { path: `/disks/vol-${key}` } } }
        }),
      remove: (volume) =>
        this.#cluster.ask(caller, true, () => {
          const { name } = volume.metadata
          const user = this.#cluster
            .list('PersistentVolumeClaim')
            .find((claim) => volumeOf(claim) === name || this.#isHeldBy(name, claim))
          if (user !== undefined) this.#breach(`${name} is removed under the build of ${user.metadata.name}`)
        }),
    }
  }

  #isHeldBy(volume: string, claim: KubeObject): boolean {
    const held = this.#cluster.objects.get(`PersistentVolume/${volume}`)
    return held !== undefined && claimRefOf(held)?.uid === claim.metadata.uid
  }

  /** Returns the key of a bind's claim, as backends use it. */
  #keyOf(id: string): string {
    const [, name = ''] = id.split('/')
    const claim = this.#cluster.objects.get(`PersistentVolumeClaim/${name}`)
    return claim === undefined ? '' : claimKey({ claim, request: requestOf(Claim.parse(claim)), pod: '', runtime: '' })
  }
}

function volumeOf(claim: KubeObject): string {
  return Claim.parse(claim).spec.volumeName
}

function isBound(claim: KubeObject): boolean {
  return volumeOf(claim) !== ''
}
