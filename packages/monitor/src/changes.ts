/**
 * The pending changes: the newest state of each object, in the order in which the objects first changed. However long the server is
 * unreachable, it has at most one entry per object of the cluster.
 */
import type { MonitoredKind, ObjectChange } from '@windlass/protocol'

export class PendingChanges {
  readonly #changes = new Map<string, ObjectChange>()
  #wake = Promise.withResolvers<void>()

  get size(): number {
    return this.#changes.size
  }

  /**
   * Adds a change, which replaces an earlier one of the same object. `synced` of a kind is moved behind the earlier changes of the kind.
   */
  add(change: ObjectChange): void {
    const key = keyOf(change)
    if (change.change === 'synced') this.#changes.delete(key)
    this.#changes.set(key, change)
    this.#wake.resolve()
  }

  /** Returns the first changes, which stay until `drop`. */
  peek(count: number): readonly ObjectChange[] {
    return [...this.#changes.values()].slice(0, count)
  }

  /** Removes reported changes, except those that changed meanwhile. */
  drop(reported: readonly ObjectChange[]): void {
    for (const change of reported) if (this.#changes.get(keyOf(change)) === change) this.#changes.delete(keyOf(change))
  }

  clear(): void {
    this.#changes.clear()
  }

  /** Resolves when there is a change. */
  async wait(): Promise<void> {
    if (this.#changes.size > 0) return
    this.#wake = Promise.withResolvers()
    return this.#wake.promise
  }
}

function keyOf(change: ObjectChange): string {
  return change.change === 'synced' ? `${change.kind}//` : `${change.kind}/${change.namespace}/${change.name}`
}

/** Kinds without a namespace, which a monitor of some namespaces does not report. */
export const CLUSTER_KINDS: ReadonlySet<MonitoredKind> = new Set(['Namespace', 'Node', 'PersistentVolume'])
