/**
 * The starts in progress, from the pods in the cluster and from the calls of this process that create them. A start is in progress until its pods
 * run. It is not while it waits for something that other starts do not slow down, such as room on a node, a disk or an image.
 */
import type { Fact } from '../executor.ts'

/** What the pods of a start are doing, as in facts. */
export type PodState = Fact['state']

/**
 * Time after which a start no longer counts, whatever it waits for: a node that hangs must not block the starts on others. Milliseconds.
 */
const LONGEST_START_MS = 60_000
/**
 * Time after which a created start whose pods were not all seen no longer counts: the watch is interrupted, or the agent may not watch pods.
 * Milliseconds.
 */
export const UNSEEN_MS = 10_000

interface Start {
  /** Starts of one group compete for the same nodes. */
  nodeGroup: string
  /** Time at which it began, or began again, by the monotonic clock. */
  since: number
  /** By uid: a successor of the same name is another pod. */
  readonly pods: Map<string, PodState>
  /** Number of pods that a call of this process creates; 0 for a start of an earlier process. */
  expected: number
  /** True while a call of this process creates its objects. */
  isOpen: boolean
  /** Time at which that call ended. */
  createdAt: number
  /** True while it waits for something that its pods do not show. */
  isStalled: boolean
}

export class StartsInProgress {
  readonly #starts = new Map<string, Start>()

  /** Notes that this process creates the objects of an attempt. */
  open(key: string, { nodeGroup, pods, now }: { readonly nodeGroup: string; readonly pods: number; readonly now: number }): void {
    for (const [other, start] of this.#starts) if (isUnseen(start, now, LONGEST_START_MS)) this.#starts.delete(other)
    const known = this.#starts.get(key)
    const start = { nodeGroup, since: now, expected: pods, isOpen: true, isStalled: false, createdAt: now }
    this.#starts.set(key, { ...start, pods: known?.pods ?? new Map() })
  }

  /** Notes that the objects of an attempt exist. From then on its pods decide. */
  created(key: string, now: number): void {
    const start = this.#starts.get(key)
    if (start !== undefined) Object.assign(start, { isOpen: false, createdAt: now })
  }

  /** Notes that the start waits for something that its pods do not show, until one of them changes. */
  stall(key: string): void {
    const start = this.#starts.get(key)
    if (start !== undefined) start.isStalled = true
  }

  /** Notes that a call of this process failed to create the objects of an attempt. The pods that it created count until they are gone. */
  failed(key: string): void {
    const start = this.#starts.get(key)
    if (start === undefined) return
    Object.assign(start, { isOpen: false, expected: 0 })
    if (start.pods.size === 0) this.#starts.delete(key)
  }

  /** Forgets an attempt that is removed. */
  forget(key: string): void {
    this.#starts.delete(key)
  }

  /** Notes the state of a pod; undefined if the pod is gone. */
  see(
    key: string,
    pod: { readonly uid: string; readonly nodeGroup: string; readonly state: PodState | undefined; readonly now: number },
  ): void {
    const known = this.#starts.get(key)
    if (pod.state === undefined) {
      known?.pods.delete(pod.uid)
      if (known?.pods.size === 0 && !known.isOpen) this.#starts.delete(key)
      return
    }
    const { nodeGroup, now } = pod
    const fresh = { nodeGroup, since: now, expected: 0, isOpen: false, isStalled: false, createdAt: now }
    const start: Start = known ?? { ...fresh, pods: new Map() }
    this.#starts.set(key, start)
    const before = start.pods.get(pod.uid)
    start.pods.set(pod.uid, pod.state)
    if (pod.state !== 'starting') return
    start.isStalled = false
    if (before !== 'starting') start.since = pod.now
  }

  /** Returns true if a start was created a while ago and none of its pods was seen. */
  isBlind(now: number): boolean {
    return [...this.#starts.values()].some((start) => isUnseen(start, now, UNSEEN_MS))
  }

  /** Whether pods of an attempt exist. */
  hasPods(key: string): boolean {
    return (this.#starts.get(key)?.pods.size ?? 0) > 0
  }

  /** Returns the keys of the starts in progress by node group, oldest first. */
  byNodeGroup(now: number): Map<string, string[]> {
    const found = new Map<string, string[]>()
    const counted = [...this.#starts].filter(([, start]) => isInProgress(start, now))
    for (const [key, start] of counted.toSorted(([, a], [, b]) => a.since - b.since)) {
      const keys = found.get(start.nodeGroup) ?? []
      keys.push(key)
      found.set(start.nodeGroup, keys)
    }
    return found
  }
}

function isUnseen({ pods, isOpen, createdAt }: Start, now: number, afterMs: number): boolean {
  return !isOpen && pods.size === 0 && now - createdAt >= afterMs
}

function isInProgress({ since, pods, expected, isOpen, isStalled, createdAt }: Start, now: number): boolean {
  const states = [...pods.values()]
  if (isStalled || now - since >= LONGEST_START_MS) return false
  if (states.some((state) => state === 'waiting' || state === 'lost' || state === 'gone')) return false
  return isOpen || (pods.size < expected && now - createdAt < UNSEEN_MS) || states.includes('starting')
}
