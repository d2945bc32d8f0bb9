/**
 * What is to be sent: one entry per application or other object, in the order in which they first changed, and applications first, because many objects have to be read. A newer state replaces the
 * one that waits. Above the limit of characters an entry has no manifest, and the object is read again when it is sent. What could not be read is put aside, so that it does not hold up the others.
 * Above the limit of entries the oldest one is dropped, an application only if nothing else waits, and `onDropped` asks for a full state.
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
  readonly #applications = new Map<string, Entry>()
  readonly #objects = new Map<string, Entry>()
  /** Entries whose object could not be read. */
  readonly #aside = new Map<string, Entry>()
  #characters = 0

  constructor(limits: QueueLimits, onDropped: () => void) {
    this.#limits = limits
    this.#onDropped = onDropped
  }

  get size(): number {
    return this.ready + this.#aside.size
  }

  /** Number of entries that can be sent now. */
  get ready(): number {
    return this.#applications.size + this.#objects.size
  }

  /** Number of entries that are put aside. */
  get aside(): number {
    return this.#aside.size
  }

  /** Characters of the manifests that wait. */
  get characters(): number {
    return this.#characters
  }

  add(entry: Entry): void {
    const key = keyOf(entry)
    const line = this.#lineOf(entry)
    const before = line.get(key)
    if (before !== undefined) this.#characters -= sizeOf(before)
    const hasRoom = this.#characters + sizeOf(entry) <= this.#limits.maxCharacters
    const kept: Entry = hasRoom ? entry : { ...entry, state: 'wanted' }
    this.#aside.delete(key)
    // An entry that exists keeps its place.
    line.set(key, kept)
    this.#characters += sizeOf(kept)
    if (this.size > this.#limits.maxEntries) this.#dropOldest()
  }

  /**
   * Asks for an object, unless it waits already or there is no room: the next full state asks again. Half of the room is left for what changes, unless an application is wanted, so that
   * nothing is dropped for objects that a full state wants.
   */
  want(entry: Omit<Entry, 'state' | 'uid'>): void {
    const key = keyOf(entry)
    const { maxEntries } = this.#limits
    const room = entry.kind === 'Application' ? maxEntries : maxEntries / 2
    if (this.size >= room || this.#lineOf(entry).has(key) || this.#aside.has(key)) return
    this.add({ ...entry, uid: undefined, state: 'wanted' })
  }

  /** Returns the entries that are not put aside. They stay until `done`. */
  peek(): readonly Entry[] {
    return [...this.#applications.values(), ...this.#objects.values()]
  }

  /** Removes an entry that was sent, unless it changed meanwhile. */
  done(entry: Entry): void {
    const key = keyOf(entry)
    const line = this.#lineOf(entry)
    if (line.get(key) !== entry) return
    line.delete(key)
    this.#characters -= sizeOf(entry)
  }

  /** Puts an entry aside until `takeBack`, unless it changed meanwhile. */
  putAside(entry: Entry): void {
    const key = keyOf(entry)
    if (this.#lineOf(entry).get(key) !== entry) return
    this.done(entry)
    this.#aside.set(key, entry)
  }

  /** Puts what is aside behind the others. */
  takeBack(): void {
    for (const [key, entry] of this.#aside) this.#lineOf(entry).set(key, entry)
    this.#aside.clear()
  }

  #lineOf({ kind }: EntryName): Map<string, Entry> {
    return kind === 'Application' ? this.#applications : this.#objects
  }

  #dropOldest(): void {
    const [oldest] = [this.#objects, this.#aside, this.#applications].flatMap((some) => [...some.values().take(1)])
    if (oldest === undefined) return
    this.#aside.delete(keyOf(oldest))
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

/** What a log says of an entry. */
export function nameOf(entry: Entry | undefined): object {
  const { kind, namespace, name } = entry ?? {}
  return { kind, namespace, name }
}
