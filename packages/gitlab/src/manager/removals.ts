/**
 * Removes the objects of jobs that have ended, once the scripts of all others have begun: a removal takes a fifth of the processor time of a short job from its node, and
 * only the next job would wait for it. A pod that waits for room on a node does not count, so what the ended pod had reserved is free for it at once.
 */
import type { PodStarts } from './pods/pod-starts.ts'

export interface Removals {
  /** Removes the objects of a pod later. `remove` does not reject. */
  add(pod: string, remove: () => Promise<void>): void
  has(pod: string): boolean
  /** Leaves the objects to another manager, unless their removal has begun. */
  leave(pod: string): void
  /** Resolves when nothing is left to remove. */
  settled(): Promise<void>
}

export interface RemovalsOptions {
  readonly starts: PodStarts
  /** Aborted to remove without waiting. */
  readonly hurry: AbortSignal
  /** Aborted to leave everything as it is. */
  readonly signal: AbortSignal
}

/** Longest wait of a removal. Milliseconds. */
const MOST_MS = 10_000

export function openRemovals({ starts, hurry, signal }: RemovalsOptions): Removals {
  const tasks = new Map<string, { readonly done: Promise<void>; readonly left: AbortController }>()

  async function removeLater(remove: () => Promise<void>, left: AbortSignal): Promise<void> {
    await starts.none(MOST_MS, AbortSignal.any([signal, hurry, left]))
    if (!signal.aborted && !left.aborted) await remove()
  }

  return {
    add(pod, remove) {
      const left = new AbortController()
      const done = removeLater(remove, left.signal).finally(() => tasks.delete(pod))
      tasks.set(pod, { done, left })
    },
    has: (pod) => tasks.has(pod),
    leave: (pod) => tasks.get(pod)?.left.abort(),
    async settled() {
      while (tasks.size > 0) await Promise.all([...tasks.values()].map(({ done }) => done))
    },
  }
}
