/** The pods of this manager in one namespace: one watch, or polls where the account may not watch. */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { LABELS } from '../records/job-record.ts'

export type PodChange =
  | { readonly type: 'set'; readonly pod: KubeObject }
  /** The pod does not exist. Its last state, if that is known. */
  | { readonly type: 'gone'; readonly pod: KubeObject | undefined }

type Listener = (change: PodChange) => void

export interface PodWatch {
  /**
   * Calls the listener with each state of the pod, from the next one on. Returns a function that stops it. `pollMs` is the time between two reads where the
   * account may not watch.
   */
  follow(pod: string, pollMs: number, listener: Listener): () => void
}

/** Wait before a watch that failed is opened again. Milliseconds. */
const REOPEN_MS = 3_000
/** Time between two looks at which pods have to be read. Milliseconds. */
const LOOK_MS = 500

interface Followed {
  readonly pollMs: number
  readonly listeners: Set<Listener>
  /** Monotonic. */
  readAt: number
}

export interface PodWatchOptions {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Opens the watch of all jobs of a namespace. It ends with the signal. */
export function openPodWatch(options: PodWatchOptions): PodWatch {
  const { kube, namespace, clock, log, signal } = options
  const followed = new Map<string, Followed>()
  const tell = (name: string, change: PodChange): void => {
    for (const listener of followed.get(name)?.listeners ?? []) listener(change)
  }

  async function watch(): Promise<void> {
    const [canList, canWatch] = await Promise.all(
      ['list', 'watch'].map((verb) => kube.can({ verb, group: '', resource: 'pods', namespace })),
    )
    if (canList !== true || canWatch !== true) {
      log.warn(
        { namespace },
        'the account may not list and watch pods, so each pod is read again every `poll_interval`; check the rights on pods',
      )
      return poll()
    }
    for await (const change of kube.watch({ kind: 'Pod', namespace, labels: LABELS.job }, { signal })) {
      if (change.type === 'synced') continue
      tell(change.object.metadata.name, { type: change.type, pod: change.object })
    }
  }

  async function poll(): Promise<void> {
    while (!signal.aborted) {
      for (const [name, one] of followed) {
        if (clock.monotonic() - one.readAt < one.pollMs) continue
        one.readAt = clock.monotonic()
        await readOne(name)
      }
      await clock.sleep(LOOK_MS, signal).catch(() => undefined)
    }
  }

  async function readOne(name: string): Promise<void> {
    try {
      const pod = await kube.find({ kind: 'Pod', name, namespace }, signal)
      tell(name, pod === undefined ? { type: 'gone', pod } : { type: 'set', pod })
    } catch (error) {
      if (!isAbort(error) && !isFault(error)) throw error
      log.debug({ err: error, pod: name }, 'cannot read the pod; trying again')
    }
  }

  async function keepWatching(): Promise<void> {
    while (!signal.aborted) {
      try {
        await watch()
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, namespace }, 'cannot watch the pods of jobs; trying again')
        await clock.sleep(REOPEN_MS, signal).catch(() => undefined)
      }
    }
  }

  void keepWatching()
  return {
    follow(pod, pollMs, listener) {
      const one = followed.get(pod) ?? { pollMs, listeners: new Set(), readAt: -Infinity }
      one.listeners.add(listener)
      followed.set(pod, one)
      return () => {
        one.listeners.delete(listener)
        if (one.listeners.size === 0) followed.delete(pod)
      }
    },
  }
}

export interface ReadPodOptions {
  readonly kube: Pick<Kube, 'find'>
  readonly pod: ObjectRef
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Wait before a pod is read again after an error. Milliseconds. */
const AGAIN_MS = 1_000

/** Reads a pod, and tries again until the cluster answers. Undefined if the signal is aborted before. */
export async function readPod({ kube, pod: ref, clock, signal }: ReadPodOptions): Promise<PodChange | undefined> {
  while (!signal.aborted) {
    try {
      const pod = await kube.find(ref, signal)
      return pod === undefined ? { type: 'gone', pod } : { type: 'set', pod }
    } catch (error) {
      if (isAbort(error)) return undefined
      await clock.sleep(AGAIN_MS, signal).catch(() => undefined)
    }
  }
  return undefined
}
