/** One byte stream of an attempt: what writers hand over goes to its segments in order, and readers get it in frames. */
import { createHash, type Hash } from 'node:crypto'
import type { Clock } from '@windlass/kit'
import { Recent, type KeepAllowance } from './recent.ts'
import { LARGEST_RECORD, Segments, type Batch } from './segments.ts'

/** Bytes of one record are at most that old apart: followers see times this exact. */
export const TIME_GRAIN_MS = 100
/** Bytes in memory that are not written yet; a writer waits beyond. */
const MAX_BUFFERED_BYTES = 1024 * 1024

interface Piece {
  readonly at: number
  readonly bytes: Uint8Array
}

export class StreamSpool {
  readonly name: string
  readonly #clock: Clock
  readonly #segments: Segments
  readonly #onWritten: () => void
  readonly #recent: Recent
  #pending: Piece[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #failure: unknown
  #hash: Hash | undefined
  #acked: number

  constructor(name: string, options: { dir: string; clock: Clock; onWritten: () => void; keep: KeepAllowance }) {
    this.name = name
    this.#clock = options.clock
    this.#segments = new Segments(options.dir)
    this.#onWritten = options.onWritten
    this.#recent = new Recent(options.keep)
    this.#acked = this.#segments.start
    if (this.#segments.end === 0) this.#hash = createHash('sha256')
  }

  /** Bytes that were handed over. */
  get bytes(): number {
    return this.#segments.end + this.#pendingBytes
  }

  get acked(): number {
    return this.#acked
  }

  /** Bytes that readers can have and that are not acknowledged. */
  get readable(): number {
    return this.#segments.end - this.#acked
  }

  /** Takes bytes, which must not be changed afterwards. Resolves when there is room for more. Throws when the disk failed. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return
    if (this.#failure !== undefined) throw this.#failure
    this.#hash?.update(bytes)
    const at = this.#clock.now()
    for (let start = 0; start < bytes.byteLength; start += LARGEST_RECORD)
      this.#pending.push({ at, bytes: bytes.subarray(start, start + LARGEST_RECORD) })
    this.#pendingBytes += bytes.byteLength
    this.#writing ??= this.#writeAll()
    if (this.#pendingBytes >= MAX_BUFFERED_BYTES) await this.flushed()
  }

  /** Resolves when all that was handed over is in the file. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        const pieces = this.#pending
        this.#pending = []
        const batches = toBatches(pieces)
        let start = this.#segments.end
        await this.#segments.append(batches)
        for (const { at, parts } of batches) {
          for (const bytes of parts) {
            this.#recent.add(start, { at, bytes })
            start += bytes.byteLength
          }
        }
        for (const { bytes } of batches) this.#pendingBytes -= bytes
        this.#onWritten()
      }
    } catch (error) {
      this.#failure = error
    } finally {
      this.#writing = undefined
    }
  }

  /** The next bytes that are not acknowledged, at most `maxBytes`, in `into` when they fit; undefined when there are none. */
  async read(maxBytes: number, into?: Buffer): Promise<{ offset: number; bytes: Buffer; at: number } | undefined> {
    const offset = this.#acked
    const limits = { maxBytes, spanMs: TIME_GRAIN_MS }
    const found = this.#recent.read(offset, { ...limits, into }) ?? (await this.#segments.read(offset, limits))
    return found === undefined ? undefined : { offset, ...found }
  }

  /** Goes on behind `offset`. One that is behind the end, or before what is still kept, is refused with false. */
  async acknowledge(offset: number): Promise<boolean> {
    if (offset > this.#segments.end || offset < this.#segments.start) return false
    this.#acked = offset
    this.#recent.forget(offset)
    await this.#segments.drop(offset)
    return true
  }

  /** Takes over where an earlier process was; a place that is not here (a torn tail was cut) is ignored. */
  restore(offset: number): void {
    if (offset >= this.#segments.start && offset <= this.#segments.end) this.#acked = offset
  }

  /** Length and hash of the whole stream. The hash is unknown when an earlier process has dropped parts of it. */
  async total(): Promise<{ bytes: number; sha256: string | undefined }> {
    await this.flushed()
    if (this.#hash === undefined && this.#segments.start === 0) this.#hash = await this.#rehash()
    return { bytes: this.bytes, sha256: this.#hash?.copy().digest('hex') }
  }

  async #rehash(): Promise<Hash> {
    const hash = createHash('sha256')
    for (let offset = 0; offset < this.#segments.end;) {
      const part = await this.#segments.read(offset, { maxBytes: MAX_BUFFERED_BYTES, spanMs: Infinity })
      if (part === undefined) break
      hash.update(part.bytes)
      offset += part.bytes.length
    }
    return hash
  }

  async close(): Promise<void> {
    await this.flushed().catch(() => undefined)
    await this.#segments.close()
  }
}

function toBatches(pieces: readonly Piece[]): Batch[] {
  const batches: { at: number; bytes: number; parts: Uint8Array[] }[] = []
  for (const { at, bytes } of pieces) {
    const last = batches.at(-1)
    if (last !== undefined && at - last.at < TIME_GRAIN_MS && last.bytes + bytes.byteLength <= LARGEST_RECORD) {
      last.parts.push(bytes)
      last.bytes += bytes.byteLength
    } else batches.push({ at, bytes: bytes.byteLength, parts: [bytes] })
  }
  return batches
}
