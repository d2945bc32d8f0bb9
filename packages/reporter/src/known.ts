/** What exists in a part, as its watches say. */
import type { Change } from '@windlass/kube'
import { shardOf } from '@windlass/protocol'
import { keyOf, type Entry, type EntryName } from './queue.ts'

/** An application or another object that exists. */
export interface Known extends EntryName {
  readonly uid: string | undefined
  /** Resource version. */
  readonly version: string | undefined
}

/** A change that concerns this part. */
interface Noted extends Pick<Entry, 'kind' | 'namespace' | 'name' | 'uid'> {
  readonly isGone: boolean
  /** True if it was not known in this version. */
  readonly isNew: boolean
}

export class KnownObjects {
  readonly #part: { readonly shard: number; readonly shards: number }
  readonly #objects = new Map<string, Known>()

  constructor(part: { readonly shard: number; readonly shards: number }) {
    this.#part = part
  }

  get size(): number {
    return this.#objects.size
  }

  has(name: EntryName): boolean {
    return this.#objects.has(keyOf(name))
  }

  values(): Iterable<Known> {
    return this.#objects.values()
  }

  /** Returns undefined for an object of another shard, and for the end of one whose name another one has by now. */
  note(kind: EntryName['kind'], { type, object }: Exclude<Change, { type: 'synced' }>): Noted | undefined {
    const { name, namespace = '', uid, resourceVersion: version } = object.metadata
    const { shard, shards } = this.#part
    if (shardOf(namespace, name, shards) !== shard) return undefined
    const named = { kind, namespace, name, uid }
    const key = keyOf(named)
    const known = this.#objects.get(key)
    if (type === 'set') {
      this.#objects.set(key, { ...named, version })
      return { ...named, isGone: false, isNew: known?.version !== version }
    }
    if (known?.uid !== undefined && known.uid !== uid) return undefined
    this.#objects.delete(key)
    return { ...named, isGone: true, isNew: false }
  }
}
