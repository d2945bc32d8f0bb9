/**
 * A set of 64-bit hashes in two halves. Eight bytes per slot; at least half of the slots are free. The hashes of texts of others must be keyed, so that they
 * cannot fill neighbouring slots.
 */
export class HashSet {
  #slots = new Uint32Array(2 * 65_536)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(high: number, low: number): boolean {
    return this.#slots[this.#find(high, low) + 1] !== 0
  }

  add(high: number, low: number): void {
    const at = this.#find(high, low)
    if (this.#slots[at + 1] !== 0) return
    this.#slots[at] = high
    this.#slots[at + 1] = nonZero(low)
    this.#size += 1
    if (this.#size * 4 > this.#slots.length) this.#grow()
  }

  /** Returns the index of the hash, or of the free slot for it. The second half of a used slot is not 0. */
  #find(high: number, low: number): number {
    const second = nonZero(low)
    const mask = this.#slots.length - 1
    let at = (mix(high ^ second) * 2) & mask
    while (this.#slots[at + 1] !== 0 && (this.#slots[at] !== high || this.#slots[at + 1] !== second)) at = (at + 2) & mask
    return at
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(before.length * 2)
    this.#size = 0
    for (let at = 0; at < before.length; at += 2) {
      const [high = 0, low = 0] = [before[at], before[at + 1]]
      if (low !== 0) this.add(high, low)
    }
  }
}

/** Makes all bits of a number depend on each other. This is the last part of MurmurHash3. */
function mix(bits: number): number {
  const half = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  const most = Math.imul(half ^ (half >>> 13), 0xc2b2ae35)
  return most ^ (most >>> 16)
}

function nonZero(half: number): number {
  return half === 0 ? 1 : half
}
