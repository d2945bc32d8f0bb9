/** What has happened a moment ago. */
import type { Clock } from '@windlass/kit'

/** Remembers a value by its key for a time. Each new value removes those whose time is over, so that keys that never come again take no memory. */
export class Recent<V> {
  readonly #clock: Clock
  readonly #ms: number
  /** The oldest first. */
  readonly #entries = new Map<string, { readonly value: V; readonly at: number }>()

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  get size(): number {
    return this.#entries.size
  }

  note(key: string, value: V): void {
    // A key that is noted again becomes the newest.
    this.#entries.delete(key)
    this.#entries.set(key, { value, at: this.#clock.monotonic() })
    for (const [old, { at }] of this.#entries) {
      if (!this.#isOver(at)) break
      this.#entries.delete(old)
    }
  }

  /** Returns undefined once the time is over. */
  get(key: string): V | undefined {
    const found = this.#entries.get(key)
    return found === undefined || this.#isOver(found.at) ? undefined : found.value
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  #isOver(at: number): boolean {
    return this.#clock.monotonic() - at >= this.#ms
  }
}
