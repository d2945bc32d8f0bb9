/**
 * Demultiplexes the output of a container: frames of an 8-byte header (stream, three zeros, u32 length) and payload (Docker Engine API, "Attach to a
 * container"). Accepts chunks of any size.
 */

/** Consecutive bytes of one output: 1 is standard output, 2 standard error. */
export interface OutputPart {
  readonly source: 1 | 2
  readonly bytes: Buffer
}

const HEADER_BYTES = 8
const EMPTY = Buffer.alloc(0)

export class Demultiplexer {
  #source: 1 | 2 = 1
  /** Payload bytes of the current frame that have not arrived yet. */
  #left = 0
  #header = Buffer.alloc(0)

  /** Returns the parts in a chunk, in order. Adjacent frames of one source are one part, because each part is masked, hashed and stored separately. */
  push(chunk: Buffer): OutputPart[] {
    const runs: { readonly source: 1 | 2; readonly pieces: Buffer[] }[] = []
    let position = 0
    while (position < chunk.length) {
      if (this.#left === 0) {
        position = this.#readHeader(chunk, position)
        continue
      }
      const end = Math.min(position + this.#left, chunk.length)
      const piece = chunk.subarray(position, end)
      const last = runs.at(-1)
      if (last?.source === this.#source) last.pieces.push(piece)
      else runs.push({ source: this.#source, pieces: [piece] })
      this.#left -= end - position
      position = end
    }
    return runs.map(({ source, pieces: [first = EMPTY, ...more] }) => ({
      source,
      bytes: more.length === 0 ? first : Buffer.concat([first, ...more]),
    }))
  }

  /** False if the connection closed in the middle of a frame. */
  get isWhole(): boolean {
    return this.#left === 0 && this.#header.length === 0
  }

  #readHeader(chunk: Buffer, position: number): number {
    const end = Math.min(position + HEADER_BYTES - this.#header.length, chunk.length)
    const header =
      this.#header.length === 0 ? chunk.subarray(position, end) : Buffer.concat([this.#header, chunk.subarray(position, end)])
    if (header.length < HEADER_BYTES) {
      this.#header = Buffer.from(header)
      return end
    }
    this.#header = Buffer.alloc(0)
    this.#source = header[0] === 2 ? 2 : 1
    this.#left = header.readUInt32BE(4)
    return end
  }
}
