/**
 * The loops of a monitor: one watch per kind and namespace adds to the pending changes, and one sender reports them. Nothing is polled; a
 * quiet cluster costs one heartbeat per minute. If the server lost a batch, or another process took over for a while, everything is
 * reported again in a new generation.
 */
import { randomUUID } from 'node:crypto'
import { backoffMs, defined, endsWork, isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { ALL_NAMESPACES, type Change, type Kube, type KubeObject, type Selection } from '@windlass/kube'
import { monitorCalls, type MonitorCalls } from '@windlass/client/monitor'
import {
  MONITORED_KINDS,
  VERSION,
  type Client,
  type MonitoredKind,
  type MonitorHello,
  type MonitorWelcome,
  type ObjectChange,
} from '@windlass/protocol'
import { CLUSTER_KINDS, PendingChanges } from './changes.ts'
import { summarize } from './summarize.ts'

export interface MonitorOptions {
  readonly kube: Kube
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  /** Name of the cluster. */
  readonly cluster: string
  /** Absent: all namespaces. */
  readonly namespaces?: readonly string[] | undefined
  readonly helm?: boolean | undefined
  readonly version?: string | undefined
  /** Maximum time without a heartbeat. Milliseconds. */
  readonly aliveMs?: number | undefined
}

export interface RunningMonitor {
  /** Resolves after `close`; rejects with `unauthenticated`, `forbidden` or `conflict` if the server refuses this monitor. */
  readonly ended: Promise<void>
  status(): { readonly pending: number; readonly batches: number; readonly heardAt: number }
  close(): Promise<void>
}

const ALIVE_MS = 60_000

/** Starts the loops. */
export function startMonitor(options: MonitorOptions): RunningMonitor {
  return new ClusterMonitor(options)
}

/** The watched selections of one kind. */
interface Watched {
  readonly kind: MonitoredKind
  readonly selections: readonly Selection[]
}

class ClusterMonitor implements RunningMonitor {
  readonly ended: Promise<void>
  readonly #options: MonitorOptions
  readonly #server: MonitorCalls
  readonly #running = new AbortController()
  readonly #pending = new PendingChanges()
  #batches = 0
  #heardAt = 0

  constructor(options: MonitorOptions) {
    this.#options = options
    this.#server = monitorCalls(options.client)
    this.ended = this.#run()
    this.ended.catch(() => undefined)
  }

  status(): ReturnType<RunningMonitor['status']> {
    return { pending: this.#pending.size, batches: this.#batches, heardAt: this.#heardAt }
  }

  async close(): Promise<void> {
    this.#running.abort(new DOMException('the monitor is closed', 'AbortError'))
    await this.ended.catch(() => undefined)
  }

  /** Runs one generation after the other; each begins with all existing objects. */
  async #run(): Promise<void> {
    for (let failures = 0; !this.#running.signal.aborted;) {
      const generation = new AbortController()
      const signal = AbortSignal.any([generation.signal, this.#running.signal])
      this.#pending.clear()
      const watches = this.#selections().map(async (watched) => this.#watch(watched, signal))
      try {
        await this.#report(signal, () => (failures = 0))
      } catch (error) {
        if (endsWork('agent', error)) throw error
        if (!isAbort(error)) this.#options.log.warn({ err: error }, 'reporting failed; starting a new generation')
        failures += 1
      } finally {
        generation.abort(new DOMException('the generation is over', 'AbortError'))
        await Promise.allSettled(watches)
      }
      await this.#options.clock
        .sleep(backoffMs({ baseMs: 500, maxMs: 30_000 }, failures), this.#running.signal)
        .catch(() => undefined)
    }
  }

  #selections(): Watched[] {
    const { namespaces, helm } = this.#options
    const places = namespaces ?? [ALL_NAMESPACES]
    return MONITORED_KINDS.flatMap((kind): Watched[] => {
      if (kind === 'HelmRelease') {
        const selection = { kind: 'Secret', labels: 'owner=helm', content: 'metadata' } as const
        return helm === true ? [{ kind, selections: places.map((namespace) => ({ ...selection, namespace })) }] : []
      }
      if (!CLUSTER_KINDS.has(kind)) return [{ kind, selections: places.map((namespace) => ({ kind, namespace })) }]
      return namespaces === undefined ? [{ kind, selections: [{ kind }] }] : []
    })
  }

  /** Follows the objects of a kind. The kind is complete when every namespace was listed. */
  async #watch({ kind, selections }: Watched, signal: AbortSignal): Promise<void> {
    let missing = selections.length
    await Promise.all(
      selections.map(async (selection) => {
        let isFirst = true
        for await (const change of this.#options.kube.watch(selection, { signal })) {
          if (change.type !== 'synced') this.#note(kind, change)
          else if (isFirst) {
            isFirst = false
            missing -= 1
            if (missing === 0) this.#pending.add({ change: 'synced', kind })
          }
        }
      }),
    )
  }

  #note(kind: MonitoredKind, { type, object }: Exclude<Change, { type: 'synced' }>): void {
    const change = type === 'gone' ? goneOf(kind, object) : setOf(kind, object)
    if (change !== undefined) this.#pending.add(change)
  }

  async #report(signal: AbortSignal, onHeard: () => void): Promise<void> {
    const generation = randomUUID()
    const { batch } = await this.#hello(generation, signal)
    for (let seq = 1; !signal.aborted;) {
      const changes = this.#pending.peek(batch)
      if (changes.length === 0) {
        await this.#rest(signal)
        if (this.#pending.size === 0) await this.#hello(generation, signal)
        continue
      }
      const body = { cluster: this.#options.cluster, generation, seq, changes }
      await this.#send(() => this.#server.sendObjects(body, { signal }), signal)
      this.#pending.drop(changes)
      this.#batches += 1
      seq += 1
      onHeard()
    }
  }

  /** Waits until something changes or a heartbeat is due. */
  async #rest(signal: AbortSignal): Promise<void> {
    const alive = new AbortController()
    const pause = this.#options.clock.sleep(this.#options.aliveMs ?? ALIVE_MS, AbortSignal.any([signal, alive.signal]))
    await Promise.race([this.#pending.wait(), pause.catch(() => undefined)])
    alive.abort()
    signal.throwIfAborted()
  }

  async #hello(generation: string, signal: AbortSignal): Promise<MonitorWelcome> {
    const { cluster, namespaces, version, kube } = this.#options
    const clusterVersion = await kube.version().catch(() => undefined)
    const body: MonitorHello = {
      cluster,
      generation,
      version: version ?? VERSION,
      ...defined({ clusterVersion }),
      ...(namespaces !== undefined && { namespaces: [...namespaces] }),
    }
    return this.#send(() => this.#server.hello(body, { signal }), signal)
  }

  /** Repeats a call while the server is unreachable. A batch that arrives twice is applied once. */
  async #send<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, log } = this.#options
    for (let failures = 1; ; failures += 1) {
      try {
        const answer = await call()
        this.#heardAt = clock.now()
        return answer
      } catch (error) {
        if (signal.aborted || !isFault(error, 'server-unreachable')) throw error
        log.warn({ err: error }, 'the server does not answer')
        await clock.sleep(backoffMs({ baseMs: 500, maxMs: 30_000 }, failures), signal)
      }
    }
  }
}

function setOf(kind: MonitoredKind, object: KubeObject): ObjectChange | undefined {
  const { uid = '', labels = {}, creationTimestamp } = object.metadata
  const key = keyOf(kind, object)
  if (key === undefined) return undefined
  const createdAt = creationTimestamp === undefined ? undefined : Date.parse(creationTimestamp)
  const summary = summarize(kind, object)
  return {
    change: 'set',
    ...key,
    uid,
    labels,
    summary,
    ...defined({ createdAt }),
  }
}

function goneOf(kind: MonitoredKind, object: KubeObject): ObjectChange | undefined {
  const key = keyOf(kind, object)
  return key && { change: 'gone', ...key }
}

/** Returns the key of an object. A Helm release is keyed by its revision: the name of its Secret without the prefix of Helm. */
function keyOf(
  kind: MonitoredKind,
  { metadata }: KubeObject,
): { kind: MonitoredKind; namespace: string; name: string } | undefined {
  const { name, namespace = '' } = metadata
  if (kind !== 'HelmRelease') return { kind, namespace, name }
  return name.startsWith(HELM_PREFIX) ? { kind, namespace, name: name.slice(HELM_PREFIX.length) } : undefined
}

const HELM_PREFIX = 'sh.helm.release.v1.'
