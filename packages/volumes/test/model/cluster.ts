/**
 * A model of the Kubernetes API for histories: claims and volumes with resourceVersions, a controller that is behind, and calls that are
 * carried out one by one in an order decided by a seed. A call may lose its answer, or be lost with its process. The model checks the
 * invariants itself: it records violations and never throws.
 */
import { fault, type Clock } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef, Selection } from '@windlass/kube'

interface Pending {
  /** Carries out the call and answers it. */
  readonly run: (loseAnswer: boolean) => void
  readonly isWrite: boolean
  readonly caller: Caller
}

/** A process that makes calls; calls of a dead one are lost. */
export interface Caller {
  dead: boolean
}

export interface Random {
  /** Returns a whole number from 0 to below `n`. */
  below(n: number): number
  chance(share: number): boolean
}

/** Returns a small and fast generator (mulberry32); the same seed gives the same history. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return { below: (n) => Math.floor(next() * n), chance: (share) => next() < share }
}

export class ModelCluster {
  readonly objects = new Map<string, KubeObject>()
  readonly breaches: string[] = []
  readonly #random: Random
  readonly #pending: Pending[] = []
  /** Called for every volume before it is written or deleted. */
  onWrite: (name: string) => void = () => undefined
  #version = 1
  #now = Date.parse('2026-01-01T00:00:00Z')

  constructor(random: Random) {
    this.#random = random
  }

  get pending(): number {
    return this.#pending.length
  }

  /** Carries out one of the pending calls. */
  step(): void {
    const index = this.#random.below(this.#pending.length)
    const [call] = this.#pending.splice(index, 1)
    if (call === undefined) return
    if (this.#random.chance(0.2)) this.reconcile()
    call.run(call.isWrite && this.#random.chance(0.04))
  }

  /** Lets the volume controller catch up: it completes prepared bindings, and phases follow the state. */
  reconcile(): void {
    for (const volume of this.list('PersistentVolume')) {
      const held = claimRefOf(volume)
      const named = held === undefined ? undefined : this.objects.get(`PersistentVolumeClaim/${held.name}`)
      const claim = named?.metadata.uid === held?.uid ? named : undefined
      const phase = held === undefined ? 'Available' : claim === undefined ? 'Released' : 'Bound'
      if (phaseOf(volume) !== phase) this.put({ ...volume, status: { phase } })
      if (claim !== undefined && phaseOf(claim) !== 'Bound')
        this.put({ ...claim, spec: { ...Object(claim['spec']), volumeName: volume.metadata.name }, status: { phase: 'Bound' } })
    }
  }

  list(kind: string): KubeObject[] {
    return [...this.objects.values()].filter((object) => object.kind === kind)
  }

  put(object: KubeObject): KubeObject {
    this.#version += 1
    this.#now += 1_000
    if (object.kind === 'PersistentVolume') this.onWrite(object.metadata.name)
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
    this.objects.set(`${object.kind}/${object.metadata.name}`, stored)
    return stored
  }

  remove(kind: string, name: string): void {
    this.objects.delete(`${kind}/${name}`)
  }

  /** Returns the client of one process. Answers are copies. */
  kube(caller: Caller): Kube {
    const ask = <T>(isWrite: boolean, work: () => T): Promise<T> => this.ask(caller, isWrite, work)
    const key = ({ kind, name }: ObjectRef): string => `${kind}/${name}`
    return {
      namespace: 'ns',
      apply: (object) =>
        ask(true, () => {
          const there = this.objects.get(`${object.kind}/${object.metadata.name}`)
          // An object that is created again under its old name is another object; a late deletion of the old one must not remove it.
          const metadata = { ...object.metadata, uid: `uid-of-${this.#version + 1}` }
          return structuredClone(there ?? this.put({ status: { phase: 'Pending' }, ...object, metadata }))
        }),
      find: (ref) => ask(false, () => structuredClone(this.objects.get(key(ref)))),
      list: ({ kind }: Selection) => ask(false, () => structuredClone(this.list(kind))),
      delete: (ref, options) =>
        ask(true, () => {
          const there = this.objects.get(key(ref))
          if (there === undefined || (options?.uid !== undefined && options.uid !== there.metadata.uid)) return false
          if (ref.kind === 'PersistentVolume') this.onWrite(ref.name)
          return this.objects.delete(key(ref))
        }),
      patch: (ref, patch) =>
        ask(true, () => {
          const there = this.objects.get(key(ref))
          if (there === undefined) throw fault('not-found')
          const wanted = versionIn(patch)
          if (wanted !== undefined && wanted !== there.metadata.resourceVersion) throw fault('conflict')
          return structuredClone(this.put(merge(there, patch) as KubeObject))
        }),
      create: async () => unused(),
      issueToken: async () => unused(),
      watch: () => {
        return unused()
      },
      logs: async () => '',
      followLogs: async () => unused(),
      exec: async () => unused(),
      attach: async () => unused(),
      events: async () => [],
      version: async () => 'model',
      fromService: async () => unused(),
      can: async () => true,
      close: () => undefined,
    }
  }

  /** Queues a call of a process until the history carries it out. */
  ask<T>(caller: Caller, isWrite: boolean, work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const run = (loseAnswer: boolean): void => {
      // A call of a dead process was sent or not.
      if (caller.dead && (!isWrite || this.#random.chance(0.5))) return reject(new DOMException('crashed', 'AbortError'))
      try {
        const answer = work()
        if (caller.dead) reject(new DOMException('crashed', 'AbortError'))
        else if (loseAnswer) reject(fault('cluster-unreachable'))
        else resolve(answer)
      } catch (error) {
        reject(error)
      }
    }
    this.#pending.push({ run, isWrite, caller })
    return promise
  }

  /** A clock whose sleeps are calls like any other; the history decides how long they take. */
  clock(caller: Caller): Clock {
    return {
      now: () => this.#now,
      monotonic: () => this.#now,
      sleep: async () => this.ask(caller, false, () => undefined),
    }
  }
}

/** Views are refreshed by the history, not by watches. */
function unused(): never {
  throw new Error('the model does not know this call')
}

export function claimRefOf(volume: KubeObject): { name: string; uid?: string | undefined } | undefined {
  const spec: unknown = volume['spec']
  return isRecord(spec) && isRecord(spec['claimRef']) ? (spec['claimRef'] as { name: string; uid?: string }) : undefined
}

export function phaseOf(object: KubeObject): unknown {
  const status: unknown = object['status']
  return isRecord(status) ? status['phase'] : undefined
}

function versionIn(patch: object): unknown {
  const metadata: unknown = 'metadata' in patch ? patch.metadata : undefined
  return isRecord(metadata) ? metadata['resourceVersion'] : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else if (value !== undefined) result[key] = merge(result[key], value)
  }
  return result
}
