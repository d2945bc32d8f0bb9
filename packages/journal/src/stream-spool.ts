/** One byte stream of an attempt: writers append to its segments in order, readers get it in frames. */
import { createHash, type Hash } from 'node:crypto'
import type { Clock } from '@windlass/kit'
import { Recent, type KeepAllowance } from './recent.ts'
import { MAX_RECORD_BYTES, Segments, type Batch } from './segments.ts'

/** Maximum age difference of bytes in one record, which is the precision of the times that followers see. Milliseconds. */
export const TIME_GRAIN_MS = 100
/** Maximum bytes in memory that are not written yet. Writers are blocked above it. */
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
  /** Resolves when a batch is written or has failed. */
  #batch = Promise.withResolvers<void>()
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

  /** Bytes accepted so far. Bytes that a failed disk did not store are not counted. */
  get bytes(): number {
    return this.#segments.end + this.#pendingBytes
  }

  /** Bytes that were written to the file. They survive this process. */
  get written(): number {
    return this.#segments.end
  }

  get acked(): number {
    return this.#acked
  }

  /** Unacknowledged bytes that can be read. */
  get readable(): number {
    return this.#segments.end - this.#acked
  }

  /** Accepts bytes, which must not be changed afterwards. Resolves when there is space for more. Throws if the disk failed. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return
    if (this.#failure !== undefined) throw this.#failure
    this.#hash?.update(bytes)
    const at = this.#clock.now()
    for (let start = 0; start < bytes.byteLength; start += MAX_RECORD_BYTES)
      this.#pending.push({ at, bytes: bytes.subarray(start, start + MAX_RECORD_BYTES) })
    this.#pendingBytes += bytes.byteLength
    this.#writing ??= this.#writeAll()
    if (this.#pendingBytes >= MAX_BUFFERED_BYTES) await this.flushed()
  }

  /** Resolves when everything accepted before the call is in the file, without waiting for later bytes. Throws if the disk failed. */
  async flushed(): Promise<void> {
    const end = this.bytes
    while (this.#failure === undefined && this.#segments.end < end) await this.#batch.promise
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
        this.#notify()
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#writing = undefined
    }
  }

  /** Stops writing: bytes that are not in the file are lost, and waiters must be woken. */
  #fail(error: unknown): void {
    this.#failure = error
    this.#pending = []
    this.#pendingBytes = 0
    this.#hash = undefined
    this.#notify()
  }

  #notify(): void {
    const { resolve } = this.#batch
    this.#batch = Promise.withResolvers()
    resolve()
    this.#onWritten()
  }

  /** Returns bytes from `from`, by default the first unacknowledged ones, at most `maxBytes`, in `into` if they fit. Undefined if there are none. */
  async read(
    maxBytes: number,
    { from: offset = this.#acked, into }: { readonly from?: number | undefined; readonly into?: Buffer | undefined } = {},
  ): Promise<{ offset: number; bytes: Buffer; at: number } | undefined> {
    const limits = { maxBytes, spanMs: TIME_GRAIN_MS }
    const found = this.#recent.read(offset, { ...limits, into }) ?? (await this.#segments.read(offset, limits))
    return found === undefined ? undefined : { offset, ...found }
  }

  /** Continues at `offset`. Returns false for an offset after the end, or before what is still kept. */
  async acknowledge(offset: number): Promise<boolean> {
    if (offset > this.#segments.end || offset < this.#segments.start) return false
    this.#acked = offset
    this.#recent.forget(offset)
    await this.#segments.drop(offset)
    return true
  }

  /** Restores the position of an earlier process. Ignores an offset that does not exist, for example after truncation. */
  restore(offset: number): void {
    if (offset >= this.#segments.start && offset <= this.#segments.end) this.#acked = offset
  }

  /** Returns length and hash of the stream. The hash is undefined if parts were deleted without being hashed. A failed disk ends the stream. */
  async total(): Promise<{ bytes: number; sha256: string | undefined }> {
    await this.flushed().catch(() => undefined)
    if (this.#hash === undefined && this.#segments.start === 0) {
      while (this.#writing !== undefined) await this.#writing
      this.#hash = await this.#rehash()
    }
    return { bytes: this.bytes, sha256: this.#hash?.copy().digest('hex') }
  }

  /** Returns undefined if a part was acknowledged and deleted meanwhile. */
  async #rehash(): Promise<Hash | undefined> {
    const hash = createHash('sha256')
    for (let offset = 0; offset < this.#segments.end;) {
      const part = await this.#segments.read(offset, { maxBytes: MAX_BUFFERED_BYTES, spanMs: Infinity })
      if (part === undefined) return undefined
      hash.update(part.bytes)
      offset += part.bytes.length
    }
    return hash
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    await this.#segments.close()
  }
}

function toBatches(pieces: readonly Piece[]): Batch[] {
  const batches: { at: number; bytes: number; parts: Uint8Array[] }[] = []
  for (const { at, bytes } of pieces) {
    const last = batches.at(-1)
    if (last !== undefined && at - last.at < TIME_GRAIN_MS && last.bytes + bytes.byteLength <= MAX_RECORD_BYTES) {
      last.parts.push(bytes)
      last.bytes += bytes.byteLength
    } else batches.push({ at, bytes: bytes.byteLength, parts: [bytes] })
  }
  return batches
}
