/**
 * Limits how many attempts start at once in a cluster, because many pods that start on few cores at once are slower than one after the other and
 * time out. The state is in the pods: after a restart, the agent counts the starts that the earlier process began, and the server hands out the
 * waiting tasks again in the same order. Each agent counts only the pods of its runtimes.
 */
import type { Clock, Logger } from '@windlass/kit'
import { chooseStarts, orderStarts, type WaitingStart } from './choose-starts.ts'
import { StartsInProgress, UNSEEN_MS, type PodState } from './starts-in-progress.ts'

export interface PendingStart extends WaitingStart {
  /** Key of the attempt. */
  readonly key: string
  /** Number of pods that the start creates. */
  readonly pods: number
  /** Reads the limit again while the start waits, because nodes come and go. Must not throw. */
  readonly readLimit?: () => Promise<number>
  /** Reports why the start waits. */
  readonly onWait?: (message: string) => void
}

export interface StartLimit {
  /**
   * Waits for the turn of a start. An attempt that already has pods does not wait. The caller must call `end` after it resolves. Throws the reason of the
   * signal.
   */
  begin(start: PendingStart, signal: AbortSignal): Promise<void>
  /** Begins a start like `begin` if it does not have to wait. Returns false if it has to, or if the existing pods are not known yet. */
  beginNow(start: PendingStart): boolean
  /** Notes that the objects of a start exist, or that its creation failed. */
  end(key: string, outcome: 'created' | 'failed'): void
  /** Lets other starts begin while this one waits for something that they do not slow down. */
  stall(key: string): void
  /** Notes the state of a pod of an attempt; undefined if the pod is gone. */
  see(key: string, pod: { readonly uid: string; readonly nodeGroup: string; readonly state: PodState | undefined }): void
  /** Notes that all existing pods were seen. */
  synced(): void
  /** Forgets an attempt that is removed. */
  forget(key: string): void
}

export interface StartLimitOptions {
  readonly clock: Clock
  readonly log: Logger
}

interface Waiter {
  /** Replaced when its limit has changed. */
  start: PendingStart
  readonly since: number
  readonly admitted: PromiseWithResolvers<void>
  reportedAt: number
}

/** Interval of checks while starts wait. Changes of pods are handled at once. Milliseconds. */
const CHECK_MS = 500
/** Time that a start waits before it is reported, and between two reports, because each is an event of the build. Milliseconds. */
const FIRST_REPORT_MS = 1_000
const REPORT_MS = 10_000
/** Interval at which the limits of waiting starts are read again. Milliseconds. */
const LIMIT_MS = 10_000
/** Longest wait for the existing pods. Without them the starts of an earlier process are not counted. Milliseconds. */
const SYNC_MS = 5_000
/** Maximum number of attempts that a message names. */
const NAMED = 3

export function openStartLimit(options: StartLimitOptions): StartLimit {
  return new Queue(options)
}

class Queue implements StartLimit {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #inProgress = new StartsInProgress()
  readonly #waiting = new Set<Waiter>()
  readonly #synced = Promise.withResolvers<void>()
  #isSynced = false
  #isChecking = false
  #limitsReadAt = -Infinity
  /** True after a warning that pods are not seen, until one is. */
  #isBlindReported = false

  constructor({ clock, log }: StartLimitOptions) {
    this.#clock = clock
    this.#log = log
  }

  async begin(start: PendingStart, signal: AbortSignal): Promise<void> {
    await this.#awaitSync(signal)
    if (!this.beginNow(start)) await this.#awaitTurn(start, signal)
  }

  beginNow(start: PendingStart): boolean {
    if (!this.#isSynced) return false
    const others = [...this.#waiting].map((waiter) => waiter.start)
    const mayBegin = this.#inProgress.hasPods(start.key) || chooseStarts([...others, start], this.#used()).includes(start)
    if (mayBegin) this.#open(start)
    return mayBegin
  }

  end(key: string, outcome: 'created' | 'failed'): void {
    if (outcome === 'failed') this.#inProgress.failed(key)
    else this.#inProgress.created(key, this.#clock.monotonic())
    this.#admit()
  }

  stall(key: string): void {
    this.#inProgress.stall(key)
    this.#admit()
  }

  see(key: string, pod: { readonly uid: string; readonly nodeGroup: string; readonly state: PodState | undefined }): void {
    this.#inProgress.see(key, { ...pod, now: this.#clock.monotonic() })
    this.#isBlindReported = false
    if (this.#isSynced) this.#admit()
  }

  synced(): void {
    this.#isSynced = true
    this.#synced.resolve()
  }

  forget(key: string): void {
    this.#inProgress.forget(key)
    this.#admit()
  }

  async #awaitSync(signal: AbortSignal): Promise<void> {
    if (this.#isSynced) return
    const over = new AbortController()
    const late = this.#clock.sleep(SYNC_MS, AbortSignal.any([signal, over.signal])).catch(() => undefined)
    await Promise.race([this.#synced.promise, late])
    over.abort()
    signal.throwIfAborted()
    this.#isSynced = true
  }

  async #awaitTurn(start: PendingStart, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const since = this.#clock.monotonic()
    const waiter: Waiter = { start, since, admitted: Promise.withResolvers(), reportedAt: since + FIRST_REPORT_MS - REPORT_MS }
    const stop = (): void => waiter.admitted.reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    this.#waiting.add(waiter)
    try {
      if (!this.#isChecking) void this.#check()
      await waiter.admitted.promise
      const ms = Math.round(this.#clock.monotonic() - since)
      if (ms > FIRST_REPORT_MS) this.#log.info({ attempt: start.key, ms }, 'start waited for its turn')
    } finally {
      this.#waiting.delete(waiter)
      signal.removeEventListener('abort', stop)
    }
  }

  #open({ key, nodeGroup, pods }: PendingStart): void {
    this.#inProgress.open(key, { nodeGroup, pods, now: this.#clock.monotonic() })
  }

  /** Admits the starts whose turn it is. */
  #admit(): void {
    if (this.#waiting.size === 0) return
    const byKey = new Map([...this.#waiting].map((waiter) => [waiter.start, waiter]))
    for (const start of chooseStarts([...byKey.keys()], this.#used())) {
      const waiter = byKey.get(start)
      if (waiter === undefined) continue
      this.#waiting.delete(waiter)
      this.#open(start)
      waiter.admitted.resolve()
    }
  }

  /** Returns the number of starts in progress by node group. */
  #used(): Map<string, number> {
    const inProgress = this.#inProgress.byNodeGroup(this.#clock.monotonic())
    return new Map([...inProgress].map(([nodeGroup, keys]) => [nodeGroup, keys.length]))
  }

  /** Admits and reports while starts wait, because a start also stops counting by time. */
  async #check(): Promise<void> {
    this.#isChecking = true
    this.#limitsReadAt = this.#clock.monotonic()
    while (this.#waiting.size > 0) {
      await this.#clock.sleep(CHECK_MS)
      this.#admit()
      this.#report()
      this.#warnIfBlind()
      void this.#readLimits()
    }
    this.#isChecking = false
  }

  /** Reads the limits of the waiting starts again if it is time. */
  async #readLimits(): Promise<void> {
    const now = this.#clock.monotonic()
    if (now - this.#limitsReadAt < LIMIT_MS) return
    this.#limitsReadAt = now
    await Promise.all(
      [...this.#waiting].map(async (waiter) => {
        const limit = (await waiter.start.readLimit?.()) ?? waiter.start.limit
        waiter.start = { ...waiter.start, limit }
      }),
    )
    this.#admit()
  }

  /** Warns once if the pods of started attempts are not seen, because the limit then knows only when they were created. */
  #warnIfBlind(): void {
    if (this.#isBlindReported || !this.#inProgress.isBlind(this.#clock.monotonic())) return
    this.#isBlindReported = true
    const hint = 'Check that the agent may list and watch pods in the namespaces of its builds.'
    this.#log.warn({ hint }, `the API server does not report the pods of starts, so each counts for ${UNSEEN_MS / 1000} s`)
  }

  #report(): void {
    const now = this.#clock.monotonic()
    const due = [...this.#waiting].filter(({ reportedAt }) => now - reportedAt >= REPORT_MS)
    if (due.length === 0) return
    const order = orderStarts([...this.#waiting].map(({ start }) => start))
    const inProgress = this.#inProgress.byNodeGroup(now)
    for (const waiter of due) {
      waiter.reportedAt = now
      const { nodeGroup, onWait } = waiter.start
      const queue = order.filter((other) => other.nodeGroup === nodeGroup)
      const before = queue.slice(0, queue.indexOf(waiter.start))
      onWait?.(describeWait(waiter.start, { before, inProgress: inProgress.get(nodeGroup) ?? [] }))
    }
  }
}

interface Ahead {
  /** The starts of the same nodes that begin earlier. */
  readonly before: readonly WaitingStart[]
  /** Keys of the starts in progress. */
  readonly inProgress: readonly string[]
}

/** Describes a wait: the limit, the starts in progress, and how many begin earlier. */
function describeWait({ limit, isWarm }: WaitingStart, { before, inProgress }: Ahead): string {
  const named = inProgress.slice(0, NAMED).map(nameOfKey)
  const others = inProgress.length - named.length
  const holders = `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
  const starting = holders === '' ? '' : ` Starting: ${holders}.`
  const most = limit === 1 ? 'one build or warm pair starts' : `${limit} builds and warm pairs start`
  const ahead =
    before.length === 0 ? `This ${isWarm ? 'warm pair' : 'build'} is next.` : `${countStarts(before)} before this one.`
  return `At most ${most} at once on these nodes.${starting} ${ahead}`
}

function countStarts(starts: readonly WaitingStart[]): string {
  const [first] = starts
  if (starts.length === 1) return first?.isWarm === true ? '1 warm pair starts' : '1 build starts'
  return `${starts.length} ${starts.some(({ isWarm }) => isWarm) ? 'builds or warm pairs' : 'builds'} start`
}

/** Returns the name of an attempt for messages: the id of its build, with the number of a later attempt. */
function nameOfKey(key: string): string {
  return key.replace(/\/1$/, '').replace(/\/(\d+)$/, ' (attempt $1)')
}
