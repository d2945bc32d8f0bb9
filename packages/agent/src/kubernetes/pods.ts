/**
 * Watches the pods of builds and turns what happens to them into facts. Each fact is read from one pod alone; what is kept here are the
 * pods that have not begun, to ask the cluster's events why, and who waits for a change.
 */
import { attempt as tick, ticks, type Clock, type Logger } from '@windlass/kit'
import { refOf, type Change, type Kube, type KubeObject } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { attemptKey, type AttemptRef, type Fact, type ReportFact } from '../executor.ts'
import { attemptOf, PodShape, readGonePod, readPod } from './read-pod.ts'

export interface PodWatchOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  /** Selects the pods of builds. */
  readonly labels: string
  readonly report: ReportFact
  /** Called once for each dind pod that was given a node. */
  readonly onPlaced: (pod: KubeObject, node: string) => void
}

export interface PodWatch {
  /** Notes changes of the pods of an attempt from now on. */
  follow(ref: AttemptRef): PodChanges
  /** Reports nothing more of the pod with this uid. */
  ignore(uid: string): void
  /** When the API server was last heard, by the monotonic clock. */
  heardAt(): number
  close(): Promise<void>
}

export interface PodChanges extends Disposable {
  /** Resolves when a pod has changed since the last call, or after `ms`. */
  next(ms: number, signal: AbortSignal): Promise<void>
}

/** A pod that has a node but has not begun after so long is asked about. */
const SLOW_MS = 8_000
/** Last lines of a pod that ended, for the message. */
const TAIL_LINES = 8

export function openPodWatch(options: PodWatchOptions): PodWatch {
  return new RunningWatch(options)
}

interface SlowPod {
  readonly pod: KubeObject
  readonly since: number
}

class RunningWatch implements PodWatch {
  readonly #options: PodWatchOptions
  readonly #stop = new AbortController()
  readonly #loops: Promise<unknown>
  /** Pods that wait for their containers, by uid. */
  readonly #slow = new Map<string, SlowPod>()
  readonly #placed = new Set<string>()
  readonly #ignored = new Set<string>()
  readonly #followers = new Map<string, Set<{ changed: PromiseWithResolvers<void> }>>()
  #heardAt = 0

  constructor(options: PodWatchOptions) {
    this.#options = options
    this.#loops = Promise.all([...options.namespaces.map((namespace) => this.#follow(namespace)), this.#askLoop()])
  }

  ignore(uid: string): void {
    this.#ignored.add(uid)
  }

  heardAt(): number {
    return this.#heardAt
  }

  follow(ref: AttemptRef): PodChanges {
    const key = attemptKey(ref)
    const followers = this.#followers.get(key) ?? new Set()
    const follower = { changed: Promise.withResolvers<void>() }
    this.#followers.set(key, followers.add(follower))
    const { clock } = this.#options
    return {
      async next(ms, signal) {
        const over = new AbortController()
        await Promise.race([
          follower.changed.promise,
          clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => undefined),
        ])
        over.abort()
        follower.changed = Promise.withResolvers<void>()
        signal.throwIfAborted()
      },
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
    for await (const change of this.#options.kube.watch(selection, { signal: this.#stop.signal, onHeard })) this.#onChange(change)
  }

  #onChange(change: Change): void {
    if (change.type === 'synced') return
    const { object } = change
    const ref = attemptOf(object)
    if (ref === undefined) return
    const uid = object.metadata.uid ?? object.metadata.name
    const fact = change.type === 'gone' ? readGonePod(object) : readPod(object)
    if (change.type === 'gone') {
      this.#slow.delete(uid)
      this.#placed.delete(uid)
    } else {
      this.#noteSlow(uid, object, fact)
      this.#notePlace(uid, object)
    }
    if (fact !== undefined && !this.#ignored.has(uid)) this.#tell(object, fact)
    if (change.type === 'gone') this.#ignored.delete(uid)
    for (const { changed } of this.#followers.get(attemptKey(ref)) ?? []) changed.resolve()
  }

  /** A pod that ended gets its last words: they are lost with it. */
  #tell(pod: KubeObject, fact: Fact): void {
    const isNews = fact.state === 'lost' && (fact.reason === 'engine-lost' || fact.reason === 'dind-lost')
    if (!isNews || PodShape.parse(pod).status.phase !== 'Failed') return this.#options.report(fact)
    void this.#lastWords(pod).then((words) => {
      this.#options.report({ ...fact, message: `${fact.message ?? ''}${words === '' ? '' : `\n${words}`}`.slice(0, 8192) })
    })
  }

  async #lastWords(pod: KubeObject): Promise<string> {
    const container = PodShape.parse(pod).status.containerStatuses[0]?.name
    if (container === undefined) return ''
    return this.#options.kube.logs(refOf(pod), { container, tailLines: TAIL_LINES }).catch(() => '')
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

  /** A volume that cannot be mounted or a Secret that is missing shows in events only. */
  async #askLoop(): Promise<void> {
    const { clock, log } = this.#options
    for await (const _ of ticks(SLOW_MS / 2, { clock, signal: this.#stop.signal })) {
      const due = [...this.#slow.values()].filter(({ since }) => clock.monotonic() - since > SLOW_MS)
      await Promise.all(due.map(({ pod }) => tick(log, 'ask for events', () => this.#askEvents(pod))))
    }
  }

  async #askEvents(pod: KubeObject): Promise<void> {
    const ref = attemptOf(pod)
    const words = (await this.#options.kube.events(refOf(pod)))
      .filter((line) => /^(Failed|Unhealthy|BackOff|Network)/.test(line))
      .at(-1)
    if (ref === undefined || words === undefined || this.#stop.signal.aborted) return
    const reason = /mount|volume/i.test(words) ? 'disk-unavailable' : 'pod-failed'
    this.#options.report({ ...ref, object: pod.metadata.name, state: 'waiting', reason, message: words.slice(0, 8192) })
  }
}
