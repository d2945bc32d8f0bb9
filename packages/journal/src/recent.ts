/**
 * Written, unacknowledged bytes at the end of a stream that are still in memory, so that a reader that keeps up does not read the file. All streams
 * of a journal share one allowance. When it is used up, the file is read.
 */

/** Bytes that all streams of a journal may still keep. */
export interface KeepAllowance {
  left: number
}

interface Kept {
  readonly start: number
  readonly at: number
  readonly bytes: Uint8Array
}

export interface ReadLimits {
  readonly maxBytes: number
  /** Exclude bytes that are this much younger than the first. */
  readonly spanMs: number
  /** Target buffer. Default: new memory. */
  readonly into?: Buffer | undefined
}

export class Recent {
  readonly #allowance: KeepAllowance
  #pieces: Kept[] = []

  constructor(allowance: KeepAllowance) {
    this.#allowance = allowance
  }

  /** Keeps a piece that was written at this offset. Pieces must arrive in order. */
  add(start: number, { at, bytes }: { readonly at: number; readonly bytes: Uint8Array }): void {
    if (bytes.byteLength > this.#allowance.left) return this.forget(Infinity)
    this.#allowance.left -= bytes.byteLength
    this.#pieces.push({ start, at, bytes })
  }

  /** Drops the pieces that end at or before `offset`. */
  forget(offset: number): void {
    let count = 0
    for (const { start, bytes } of this.#pieces) {
      if (start + bytes.byteLength > offset) break
      this.#allowance.left += bytes.byteLength
      count += 1
    }
    if (count > 0) this.#pieces.splice(0, count)
  }

  /** Returns bytes from `offset`, or undefined if they are not kept. */
  read(offset: number, { maxBytes, spanMs, into }: ReadLimits): { bytes: Buffer; at: number } | undefined {
    const from = this.#pieces.findIndex(({ start, bytes }) => offset >= start && offset < start + bytes.byteLength)
    const first = this.#pieces[from]
    if (first === undefined) return undefined
    const parts: Uint8Array[] = []
    let total = 0
    for (let index = from; total < maxBytes; index += 1) {
      const piece = this.#pieces[index]
      if (piece === undefined || piece.at - first.at >= spanMs) break
      const skip = index === from ? offset - piece.start : 0
      const part = piece.bytes.subarray(skip, skip + maxBytes - total)
      parts.push(part)
      total += part.byteLength
    }
    return { bytes: gather(parts, total, into), at: first.at }
  }
}

function gather(parts: readonly Uint8Array[], total: number, into: Buffer | undefined): Buffer {
  if (into === undefined || into.length < total) return Buffer.concat(parts, total)
  let end = 0
  for (const part of parts) {
    into.set(part, end)
    end += part.byteLength
  }
  return into.subarray(0, total)
}
