/** The pods that their nodes are starting now: up to the first output of the scripts of their jobs. */
import type { Clock } from '@windlass/kit'

export interface PodStarts {
  /** Notes whether a pod is starting on its node. */
  set(pod: string, isStarting: boolean): void
  /** Resolves when no pod starts, after a time in milliseconds, or when the signal is aborted. */
  none(mostMs: number, signal: AbortSignal): Promise<void>
}

export function openPodStarts(clock: Clock): PodStarts {
  const starting = new Set<string>()
  let isNone = Promise.withResolvers<void>()
  return {
    set(pod, isStarting) {
      if (isStarting) starting.add(pod)
      else if (starting.delete(pod) && starting.size === 0) {
        isNone.resolve()
        isNone = Promise.withResolvers()
      }
    },
    async none(mostMs, signal) {
      if (starting.size === 0) return
      const over = new AbortController()
      await Promise.race([isNone.promise, clock.sleep(mostMs, AbortSignal.any([signal, over.signal])).catch(() => undefined)])
      over.abort()
    },
  }
}
