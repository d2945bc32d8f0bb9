/** The pods of this manager in one namespace: one watch, or polls where the account may not watch. */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject } from '@windlass/kube'
import { LABELS } from './job-record.ts'

export type PodChange =
  | { readonly type: 'set'; readonly pod: KubeObject }
  /** The pod does not exist. Its last state, if that is known. */
  | { readonly type: 'gone'; readonly pod: KubeObject | undefined }

type Listener = (change: PodChange) => void

export interface PodWatch {
  /** Calls the listener with each state of the pod, from the next one on. Returns a function that stops it. */
  follow(pod: string, listener: Listener): () => void
}

const POLL_MS = 3_000

/** Opens the watch of all jobs of a namespace. It ends with the signal. */
export function openPodWatch(options: {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}): PodWatch {
  const { kube, namespace, clock, log, signal } = options
  const listeners = new Map<string, Set<Listener>>()
  const tell = (name: string, change: PodChange): void => {
    for (const listener of listeners.get(name) ?? []) listener(change)
  }

  async function watch(): Promise<void> {
    const [canList, canWatch] = await Promise.all(
      ['list', 'watch'].map((verb) => kube.can({ verb, group: '', resource: 'pods', namespace })),
    )
    if (canList !== true || canWatch !== true) {
      log.warn({ namespace }, 'the account may not list and watch pods, so each pod is read again every 3 s')
      return poll()
    }
    for await (const change of kube.watch({ kind: 'Pod', namespace, labels: LABELS.job }, { signal })) {
      if (change.type === 'synced') continue
      tell(change.object.metadata.name, { type: change.type, pod: change.object })
    }
  }

  async function poll(): Promise<void> {
    while (!signal.aborted) {
      for (const name of listeners.keys()) await readOne(name)
      await clock.sleep(POLL_MS, signal).catch(() => undefined)
    }
  }

  async function readOne(name: string): Promise<void> {
    try {
      const pod = await kube.find({ kind: 'Pod', name, namespace }, signal)
      tell(name, pod === undefined ? { type: 'gone', pod } : { type: 'set', pod })
    } catch (error) {
      if (!isAbort(error) && !isFault(error)) throw error
      log.debug({ err: error, pod: name }, 'the pod cannot be read')
    }
  }

  async function keepWatching(): Promise<void> {
    while (!signal.aborted) {
      try {
        await watch()
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, namespace }, 'the pods of jobs cannot be watched; trying again')
        await clock.sleep(POLL_MS, signal).catch(() => undefined)
      }
    }
  }

  void keepWatching()
  return {
    follow(pod, listener) {
      const set = listeners.get(pod) ?? new Set()
      listeners.set(pod, set.add(listener))
      return () => {
        set.delete(listener)
        if (set.size === 0) listeners.delete(pod)
      }
    },
  }
}
