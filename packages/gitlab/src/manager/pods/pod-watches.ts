/** The watches of pods of a manager: one for each namespace in which its jobs run. A watch ends when no job uses it. */
import { openPodWatch, type PodWatch, type PodWatchOptions } from './pod-watch.ts'

export interface OpenPods {
  readonly pods: PodWatch
  /** Ends the use. */
  close(): void
}

interface Shared {
  readonly pods: PodWatch
  readonly stop: AbortController
  users: number
}

/** Returns a function that opens the pods of a namespace. All watches end with the signal. */
export function openPodWatches({ signal, ...options }: Omit<PodWatchOptions, 'namespace'>): (namespace: string) => OpenPods {
  const watches = new Map<string, Shared>()

  function open(namespace: string): Shared {
    const stop = new AbortController()
    const pods = openPodWatch({ ...options, namespace, signal: AbortSignal.any([signal, stop.signal]) })
    return { pods, stop, users: 0 }
  }

  return (namespace) => {
    const shared = watches.get(namespace) ?? open(namespace)
    watches.set(namespace, shared)
    shared.users += 1
    let isOpen = true
    return {
      pods: shared.pods,
      close() {
        if (!isOpen) return
        isOpen = false
        shared.users -= 1
        if (shared.users > 0) return
        shared.stop.abort(new DOMException('no job runs in the namespace', 'AbortError'))
        watches.delete(namespace)
      },
    }
  }
}
