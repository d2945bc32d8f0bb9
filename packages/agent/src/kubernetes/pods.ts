/**
 * Watches the pods of builds and reports their changes as facts. Each fact is derived from one pod alone. The only state kept here is which
 * pods have not started yet, to look up the cause in the events of the cluster, and who waits for a change.
 */
import { attempt as tick, ticks, type Clock, type Logger } from '@windlass/kit'
import { refOf, type Change, type Kube, type KubeObject } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { overlooksClaim, touchClaims } from '@windlass/volumes'
import { attemptKey, type AttemptRef, type Fact, type ReportFact } from '../executor.ts'
import {
  attemptOf,
  hasStartedAgain,
  isMakingRoom,
  isNodeDiskFull,
  ownContainer,
  PodShape,
  readGonePod,
  readPod,
} from './read-pod.ts'

export interface PodWatchOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  /** Selects the pods of builds. */
  readonly labels: string
  readonly report: ReportFact
  /** Called once for each dind pod that gets a node. */
  readonly onPlaced: (pod: KubeObject, node: string) => void
  /** Called for every change of a pod of an attempt, with the state of the pod; undefined if it is gone. */
  readonly onState?: (ref: AttemptRef, pod: KubeObject, state: Fact['state'] | undefined) => void
  /** Called when the existing pods of all namespaces were read. */
  readonly onSynced?: () => void
}

export interface PodWatch {
  /** Follows the pods of an attempt from now on. */
  follow(ref: AttemptRef): PodChanges
  /** Stops reporting the pod with this uid. */
  ignore(uid: string): void
  /** Reports the pod with this uid from now on, beginning with its last fact that was not reported. Does nothing if it is not ignored. */
  reportAgain(uid: string): void
  /** Returns the time of the last message of the API server, by the monotonic clock. */
  heardAt(): number
  close(): Promise<void>
}

export interface PodChanges extends Disposable {
  /** Resolves with true when a pod has changed since the last call, or with false after `ms`. */
  next(ms: number, signal: AbortSignal): Promise<boolean>
  /** Returns the last change of the pod with this uid, or undefined if there was none since the call of `follow`. */
  last(uid: string): Change | undefined
}

interface Follower {
  changed: PromiseWithResolvers<boolean>
  /** By uid. */
  readonly last: Map<string, Change>
}

/** Age from which the events of a pod with a node that has not started are read. Milliseconds. */
const SLOW_MS = 8_000
/** Number of log lines of an ended pod that are added to the message. */
const TAIL_LINES = 8

export function openPodWatch(options: PodWatchOptions): PodWatch {
  return new RunningWatch(options)
}

interface SlowPod {
  readonly pod: KubeObject
  readonly since: number
}

interface Unreported {
  readonly pod: KubeObject
  readonly fact: Fact
}

class RunningWatch implements PodWatch {
  readonly #options: PodWatchOptions
  readonly #stop = new AbortController()
  readonly #loops: Promise<unknown>
  /** Pods with a node whose containers have not started, by uid. */
  readonly #slow = new Map<string, SlowPod>()
  readonly #placed = new Set<string>()
  /** Unschedulable pods whose claims are bound although the scheduler has not noticed, by uid. */
  readonly #overlooking = new Map<string, KubeObject>()
  /** The last unreported fact of each ignored pod, by uid. */
  readonly #ignored = new Map<string, Unreported | undefined>()
  readonly #followers = new Map<string, Set<Follower>>()
  /** Namespaces whose existing pods were read. */
  readonly #synced = new Set<string>()
  #heardAt = 0

  constructor(options: PodWatchOptions) {
    this.#options = options
    this.#loops = Promise.all([...options.namespaces.map((namespace) => this.#follow(namespace)), this.#askLoop()])
  }

  ignore(uid: string): void {
    if (!this.#ignored.has(uid)) this.#ignored.set(uid, undefined)
  }

  reportAgain(uid: string): void {
    const last = this.#ignored.get(uid)
    this.#ignored.delete(uid)
    if (last !== undefined) this.#report(last.pod, last.fact)
  }

  heardAt(): number {
    return this.#heardAt
  }

  follow(ref: AttemptRef): PodChanges {
    const key = attemptKey(ref)
    const followers = this.#followers.get(key) ?? new Set()
    const follower: Follower = { changed: Promise.withResolvers(), last: new Map() }
    this.#followers.set(key, followers.add(follower))
    const { clock } = this.#options
    return {
      async next(ms, signal) {
        const over = new AbortController()
        const late = clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => undefined)
        const isChanged = await Promise.race([follower.changed.promise, late.then(() => false)])
        over.abort()
        follower.changed = Promise.withResolvers()
        signal.throwIfAborted()
        return isChanged
      },
      last: (uid) => follower.last.get(uid),
      [Symbol.dispose]: () => {
        followers.delete(follower)
        if (followers.size === 0) this.#followers.delete(key)
      },
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new DOMException('the watch is closed', 'AbortError'))
    await this.#loops
  }

  async #follow(namespace: string): Promise<void> {
    const onHeard = (): void => {
      this.#heardAt = this.#options.clock.monotonic()
    }
    const selection = { kind: 'Pod', namespace, labels: this.#options.labels } as const
    for await (const change of this.#options.kube.watch(selection, { signal: this.#stop.signal, onHeard })) {
      if (change.type === 'synced') this.#onSynced(namespace)
      else this.#onChange(change)
    }
  }

  #onSynced(namespace: string): void {
    this.#synced.add(namespace)
    if (this.#options.namespaces.every((each) => this.#synced.has(each))) this.#options.onSynced?.()
  }

  #onChange(change: Exclude<Change, { type: 'synced' }>): void {
    const { object } = change
    const ref = attemptOf(object)
    if (ref === undefined) return
    const uid = object.metadata.uid ?? object.metadata.name
    const fact = change.type === 'gone' ? readGonePod(object) : readPod(object)
    if (change.type === 'gone') {
      this.#slow.delete(uid)
      this.#placed.delete(uid)
      this.#overlooking.delete(uid)
    } else {
      this.#noteOverlooking(uid, object)
      this.#noteSlow(uid, object, fact)
      this.#notePlace(uid, object)
    }
    this.#options.onState?.(ref, object, change.type === 'gone' ? undefined : fact?.state)
    if (isMakingRoom(object)) this.ignore(uid)
    if (fact !== undefined && this.#ignored.has(uid)) this.#ignored.set(uid, { pod: object, fact })
    else if (fact !== undefined) this.#report(object, fact)
    if (change.type === 'gone') this.#ignored.delete(uid)
    for (const { changed, last } of this.#followers.get(attemptKey(ref)) ?? []) {
      last.set(uid, change)
      changed.resolve(true)
    }
  }

  /**
   * Reports a fact. The last log lines are added to the end of an engine or daemon, because they are lost with the pod. For an engine that
   * is restarted, they come from the previous container, whose end is the cause.
   */
  #report(pod: KubeObject, fact: Fact): void {
    const isNews = fact.state === 'lost' && (fact.reason === 'engine-lost' || fact.reason === 'dind-lost')
    const { phase } = PodShape.parse(pod).status
    if (!isNews || (phase !== 'Failed' && fact.engineMayReport !== true)) return this.#options.report(fact)
    void this.#logTail(pod, hasStartedAgain(pod)).then((tail) => {
      this.#options.report({ ...fact, message: `${fact.message ?? ''}${tail === '' ? '' : `\n${tail}`}`.slice(0, 8192) })
    })
  }

  async #logTail(pod: KubeObject, previous: boolean): Promise<string> {
    const container = ownContainer(PodShape.parse(pod))?.name
    if (container === undefined) return ''
    return this.#options.kube.logs(refOf(pod), { container, tailLines: TAIL_LINES, previous }).catch(() => '')
  }

  #noteSlow(uid: string, pod: KubeObject, fact: Fact | undefined): void {
    const isPlaced = PodShape.parse(pod).spec.nodeName !== undefined
    if (fact?.state !== 'starting' || !isPlaced) this.#slow.delete(uid)
    else if (!this.#slow.has(uid)) this.#slow.set(uid, { pod, since: this.#options.clock.monotonic() })
  }

  #notePlace(uid: string, pod: KubeObject): void {
    const node = PodShape.parse(pod).spec.nodeName
    if (node === undefined || pod.metadata.labels?.[LABEL.app] !== 'dind' || this.#placed.has(uid)) return
    this.#placed.add(uid)
    this.#options.onPlaced(pod, node)
  }

  /** Touches the claims of such a pod, because only a change of a claim makes the scheduler retry it within minutes. */
  #noteOverlooking(uid: string, pod: KubeObject): void {
    if (!overlooksClaim(pod)) return void this.#overlooking.delete(uid)
    this.#overlooking.set(uid, pod)
    void tick(this.#options.log, 'touch a claim', () => touchClaims(this.#options, pod))
  }

  /** Reads the events of slow pods: a volume that cannot be mounted or a missing Secret shows only there. */
  async #askLoop(): Promise<void> {
    const { clock, log } = this.#options
    for await (const _ of ticks(SLOW_MS / 2, { clock, signal: this.#stop.signal })) {
      const due = [...this.#slow.values()].filter(({ since }) => clock.monotonic() - since > SLOW_MS)
      await Promise.all(due.map(({ pod }) => tick(log, 'ask for events', () => this.#askEvents(pod))))
      await Promise.all(
        [...this.#overlooking.values()].map((pod) => tick(log, 'touch a claim', () => touchClaims(this.#options, pod))),
      )
    }
  }

  async #askEvents(pod: KubeObject): Promise<void> {
    const ref = attemptOf(pod)
    const event = (await this.#options.kube.events(refOf(pod)))
      .filter((line) => /^(Failed|Unhealthy|BackOff|Network)/.test(line))
      .at(-1)
    if (ref === undefined || event === undefined || this.#stop.signal.aborted) return
    const reason = isNodeDiskFull(event) ? 'node-disk-full' : /mount|volume/i.test(event) ? 'disk-unavailable' : 'pod-failed'
    this.#options.report({ ...ref, object: pod.metadata.name, state: 'waiting', reason, message: event.slice(0, 8192) })
  }
}
