/**
 * What is to be sent: one entry per application or other object, in the order in which they first changed. A newer state replaces the one that waits. Above the limit of characters an entry has no
 * manifest, and the object is read again when it is sent. Above the limit of entries the oldest one is dropped, and `onDropped` asks for a full state.
 */
import type { ReportedKind } from '@windlass/protocol'

/** Names what is reported. */
export interface EntryName {
  readonly kind: 'Application' | ReportedKind
  readonly namespace: string
  readonly name: string
}

export interface Entry extends EntryName {
  readonly uid: string | undefined
  /** When the state was read. Epoch milliseconds. */
  readonly at: number
  /** `wanted`: the state is read when it is sent. `gone`: the object does not exist anymore. */
  readonly state: { readonly manifest: string } | 'wanted' | 'gone'
}

export interface QueueLimits {
  /** Characters of all manifests. */
  readonly maxCharacters: number
  readonly maxEntries: number
}

export class Queue {
  readonly #limits: QueueLimits
  readonly #onDropped: () => void
  readonly #entries = new Map<string, Entry>()
  #characters = 0

  constructor(limits: QueueLimits, onDropped: () => void) {
    this.#limits = limits
    this.#onDropped = onDropped
  }

  get size(): number {
    return this.#entries.size
  }

  /** Characters of the manifests that wait. */
  get characters(): number {
    return this.#characters
  }

  add(entry: Entry): void {
    const key = keyOf(entry)
    const before = this.#entries.get(key)
    if (before !== undefined) this.#characters -= sizeOf(before)
    const hasRoom = this.#characters + sizeOf(entry) <= this.#limits.maxCharacters
    const kept: Entry = hasRoom ? entry : { ...entry, state: 'wanted' }
    // An entry that exists keeps its place.
    this.#entries.set(key, kept)
    this.#characters += sizeOf(kept)
    if (this.#entries.size > this.#limits.maxEntries) this.#dropOldest()
  }

  /** Asks for an object, unless it waits already. */
  want(entry: Omit<Entry, 'state' | 'uid'>): void {
    if (!this.#entries.has(keyOf(entry))) this.add({ ...entry, uid: undefined, state: 'wanted' })
  }

  /** Returns the first entries, which stay until `done`. */
  peek(count: number): readonly Entry[] {
    return [...this.#entries.values().take(count)]
  }

  /** Removes an entry that was sent, unless it changed meanwhile. */
  done(entry: Entry): void {
    const key = keyOf(entry)
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#characters -= sizeOf(entry)
  }

  #dropOldest(): void {
    const [oldest] = this.peek(1)
    if (oldest === undefined) return
    this.done(oldest)
    this.#onDropped()
  }
}

function sizeOf({ state }: Entry): number {
  return typeof state === 'object' ? state.manifest.length : 0
}

export function keyOf({ kind, namespace, name }: EntryName): string {
  return `${kind}/${namespace}/${name}`
}
