/**
 * What is still to be reported: the newest state of each object, in the order in which the objects first changed. However long the
 * server is away it holds no more than the cluster has objects.
 */
import type { MonitoredKind, ObjectChange } from '@windlass/protocol'

export class PendingChanges {
  readonly #changes = new Map<string, ObjectChange>()
  #wake = Promise.withResolvers<void>()

  get size(): number {
    return this.#changes.size
  }

  /** A later change of the same object replaces the earlier one. That a kind is complete comes behind all that was said of it before. */
  add(change: ObjectChange): void {
    const key = keyOf(change)
    if (change.change === 'synced') this.#changes.delete(key)
    this.#changes.set(key, change)
    this.#wake.resolve()
  }

  /** The first ones; they stay until `drop`. */
  peek(count: number): readonly ObjectChange[] {
    return [...this.#changes.values()].slice(0, count)
  }

  /** Forgets what was reported; what changed meanwhile stays. */
  drop(reported: readonly ObjectChange[]): void {
    for (const change of reported) if (this.#changes.get(keyOf(change)) === change) this.#changes.delete(keyOf(change))
  }

  clear(): void {
    this.#changes.clear()
  }

  /** Resolves when there is something. */
  async wait(): Promise<void> {
    if (this.#changes.size > 0) return
    this.#wake = Promise.withResolvers()
    return this.#wake.promise
  }
}

function keyOf(change: ObjectChange): string {
  return change.change === 'synced' ? `${change.kind}//` : `${change.kind}/${change.namespace}/${change.name}`
}

/** Kinds that belong to no namespace: a monitor of some namespaces does not report them. */
export const CLUSTER_KINDS: ReadonlySet<MonitoredKind> = new Set(['Namespace', 'Node', 'PersistentVolume'])
