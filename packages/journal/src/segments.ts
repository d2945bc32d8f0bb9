/** The files of one stream: records in segments named by the offset of their first byte. The last segment grows. */
import { readdirSync, readFileSync, truncateSync, unlinkSync } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@windlass/kit'
import { HEADER_BYTES, isNoSpace, readHeader, scanRecords, toHeader } from './record.ts'
import { crc32 } from 'node:zlib'

export interface Batch {
  readonly at: number
  readonly bytes: number
  readonly parts: readonly Uint8Array[]
}

interface Segment {
  /** Offsets in the stream. */
  readonly start: number
  end: number
  readonly path: string
  /** Bytes of the file, including headers. */
  size: number
  /** Shared by the writer and the readers, which may need it at the same time. */
  file?: Promise<FileHandle> | undefined
}

/** The position of an offset in the files. A record boundary. */
interface Place {
  readonly segment: Segment
  readonly position: number
  readonly offset: number
}

const SEGMENT_BYTES = 8 * 1024 * 1024
/** Maximum payload of a record. Bytes. */
export const MAX_RECORD_BYTES = 256 * 1024
/** Additional bytes to read for headers. */
const SLACK_BYTES = 4096

export class Segments {
  readonly #dir: string
  readonly #list: Segment[] = []
  #place: Place | undefined
  #scratch = Buffer.alloc(0)
  /** The last read or removal. They run one at a time because they share memory and files. */
  #busy: Promise<unknown> = Promise.resolve()

  /**
   * Reads what an earlier process left, and removes an incomplete record with everything after it. The folder must exist.
   */
  constructor(dir: string) {
    this.#dir = dir
    const names = readdirSync(dir)
      .filter((name) => name.endsWith('.seg'))
      .sort()
    for (const [index, name] of names.entries()) {
      const path = join(dir, name)
      const segment: Segment = { start: Number(name.slice(0, -4)), end: Number(name.slice(0, -4)), path, size: 0 }
      for (const record of scanRecords(readFileSync(path))) {
        segment.end += record.payload.length
        segment.size = record.end
      }
      this.#list.push(segment)
      const next = names[index + 1]
      if (next !== undefined && Number(next.slice(0, -4)) === segment.end) continue
      truncateSync(path, segment.size)
      // After a power cut, a file can be incomplete although the next one exists.
      for (const later of names.slice(index + 1)) unlinkSync(join(dir, later))
      break
    }
  }

  /** Offset of the first byte that is not deleted. */
  get start(): number {
    return this.#list[0]?.start ?? 0
  }

  /** Offset after the last written byte. */
  get end(): number {
    return this.#list.at(-1)?.end ?? 0
  }

  /** Appends batches, each as one record. Calls must not overlap. Throws `spool-full` and keeps nothing of the batches then. */
  async append(batches: readonly Batch[]): Promise<void> {
    const segment = await this.#active()
    const parts = batches.flatMap((batch) => [toHeader(batch.parts, batch.at), ...batch.parts])
    const file = await openFile(segment)
    await writeWhole(file, parts, segment.size)
    for (const batch of batches) {
      segment.end += batch.bytes
      segment.size += batch.bytes + HEADER_BYTES
    }
  }

  /** Reads bytes from `offset`: at most `maxBytes`, and none that are `spanMs` or more younger than the first. Undefined at the end. */
  read(offset: number, limits: { maxBytes: number; spanMs: number }): Promise<{ bytes: Buffer; at: number } | undefined> {
    return this.#serialize(() => this.#read(offset, limits))
  }

  /** Serializes work: a sender may read a stream while it is hashed from the same files. */
  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(work)
    this.#busy = done.catch(() => undefined)
    return done
  }

  async #read(offset: number, limits: { maxBytes: number; spanMs: number }): Promise<{ bytes: Buffer; at: number } | undefined> {
    const place = await this.#find(offset)
    if (place === undefined) return undefined
    const wanted = Math.min(place.segment.size - place.position, Math.max(limits.maxBytes, MAX_RECORD_BYTES) + SLACK_BYTES)
    if (this.#scratch.length < wanted) this.#scratch = Buffer.allocUnsafe(wanted)
    const file = await openFile(place.segment)
    const { bytesRead } = await file.read(this.#scratch, 0, wanted, place.position)
    const buffer = this.#scratch.subarray(0, bytesRead)
    return this.#gather(buffer, { place, skip: offset - place.offset, ...limits })
  }

  #gather(buffer: Buffer, want: { place: Place; skip: number; maxBytes: number; spanMs: number }): { bytes: Buffer; at: number } {
    const { skip, place } = want
    const parts: Buffer[] = []
    let total = 0
    let at: number | undefined
    for (let position = 0; ;) {
      const head = readHeader(buffer, position)
      const end = position + HEADER_BYTES + (head?.length ?? 0)
      if (head === undefined || end > buffer.length || (at !== undefined && head.at - at >= want.spanMs)) break
      const payload = buffer.subarray(position + HEADER_BYTES, end)
      if (crc32(payload) !== head.crc) throw fault('internal', { message: `The spool in ${this.#dir} is damaged.` })
      const from = at === undefined ? skip : 0
      const part = payload.subarray(from, from + want.maxBytes - total)
      at ??= head.at
      parts.push(part)
      total += part.length
      if (from + part.length < payload.length) break
      position = end
      this.#place = { segment: place.segment, position: place.position + end, offset: place.offset + skip + total }
      if (total >= want.maxBytes) break
    }
    if (at === undefined) throw fault('internal', { message: `The spool in ${this.#dir} has a record larger than a read.` })
    // A copy, because the next read uses the same memory.
    return { bytes: Buffer.concat(parts), at }
  }

  /** Deletes the segments that end at or before `offset`, except the last. */
  drop(offset: number): Promise<void> {
    return this.#serialize(() => this.#drop(offset))
  }

  async #drop(offset: number): Promise<void> {
    while (this.#list.length > 1 && this.#list[0] !== undefined && this.#list[0].end <= offset) {
      const [segment] = this.#list.splice(0, 1)
      if (segment === undefined) return
      await closeFile(segment)
      await unlink(segment.path)
    }
  }

  async close(): Promise<void> {
    for (const segment of this.#list) await closeFile(segment)
  }

  async #active(): Promise<Segment> {
    const last = this.#list.at(-1)
    if (last !== undefined && last.size < SEGMENT_BYTES) return last
    const start = last?.end ?? 0
    const segment: Segment = { start, end: start, path: join(this.#dir, `${String(start).padStart(16, '0')}.seg`), size: 0 }
    await openFile(segment)
    this.#list.push(segment)
    return segment
  }

  /** Finds the record that contains the byte at `offset`. The last position is cached, because readers move forward. */
  async #find(offset: number): Promise<Place | undefined> {
    const segment = this.#list.find((candidate) => offset >= candidate.start && offset < candidate.end)
    if (segment === undefined) return undefined
    const known = this.#place
    let place: Place =
      known !== undefined && known.segment === segment && known.offset <= offset
        ? known
        : { segment, position: 0, offset: segment.start }
    const file = await openFile(segment)
    for (;;) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, place.position)
      const head = bytesRead < HEADER_BYTES ? undefined : readHeader(buffer, 0)
      if (head === undefined) return undefined
      if (offset < place.offset + head.length) break
      place = { segment, position: place.position + HEADER_BYTES + head.length, offset: place.offset + head.length }
    }
    this.#place = place
    return place
  }
}

/** Opens the file of a segment once, and again after a failure. */
async function openFile(segment: Segment): Promise<FileHandle> {
  segment.file ??= open(segment.path, 'a+')
  try {
    return await segment.file
  } catch (error) {
    segment.file = undefined
    throw error
  }
}

/** Closes the file of a segment, if it is open. */
async function closeFile(segment: Segment): Promise<void> {
  const { file } = segment
  segment.file = undefined
  const opened = await file?.catch(() => undefined)
  await opened?.close()
}

/** Writes all parts. A full disk accepts part of a write without an error; that part is truncated again. */
async function writeWhole(file: FileHandle, parts: readonly Uint8Array[], end: number): Promise<void> {
  const wanted = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const written = await file.writev([...parts]).catch((error: unknown) => {
    throw isNoSpace(error) ? fault('spool-full', {}, error) : error
  })
  if (written.bytesWritten === wanted) return
  await file.truncate(end)
  throw fault('spool-full')
}
