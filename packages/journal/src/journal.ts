/**
 * The durable spool of one attempt: numbered events and byte streams, kept until acknowledged.
 *
 * Data is handed to the kernel by `write` and never synced: the spool survives its process and an unreachable server. It does not have to survive its
 * machine, whose loss ends the attempt anyway; syncing each batch would cost more than writing it. If the machine restarts, each file may have lost
 * its end, and what remains of a stream is its beginning. The engine package reads and sends the spool.
 */
import { mkdirSync, openSync, closeSync, readFileSync, rmSync, ftruncateSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, sha256, type Clock } from '@windlass/kit'
import { AckFile, type Acks } from './acks.ts'
import { Changes } from './changes.ts'
import { EventLog, type Numbered, type Unnumbered } from './event-log.ts'
import { appendRecord, scanRecords } from './record.ts'
import type { KeepAllowance } from './recent.ts'
import { Reserve } from './reserve.ts'
import { StreamSpool } from './stream-spool.ts'

export interface JournalOptions<E extends Numbered> {
  /** A folder for this attempt only. Created if it does not exist. */
  readonly dir: string
  readonly clock: Clock
  /** Maximum bytes of unacknowledged log. Writers are blocked above it. */
  readonly limitBytes: number
  /** Bytes of the disk that are occupied from the start on and given to `appendLast`. Default 0. */
  readonly reserveBytes?: number | undefined
  /** Validates an event that is read back. */
  readonly decode: (value: unknown) => E
  /** Called with every event once it is written. */
  readonly onAppend?: ((event: E) => void) | undefined
  /** Called when writers are blocked (true) and when they continue (false). */
  readonly onFull?: (full: boolean) => void
}

/** A part of one stream. Its bytes were written within 100 ms from `at`. */
export interface SpooledFrame {
  readonly stream: string
  readonly offset: number
  readonly bytes: Uint8Array
  readonly sha256: string
  /** Epoch milliseconds. */
  readonly at: number
}

export interface FrameOptions {
  /** Offset to read from: not acknowledged, and at most the end of the stream. Default: the first unacknowledged byte. */
  readonly from?: number | undefined
  readonly into?: Buffer | undefined
}

export interface StreamTotal {
  readonly bytes: number
  /** Hex. Undefined if acknowledged parts were deleted that this process has not hashed. */
  readonly sha256: string | undefined
}

export interface StreamWriter {
  readonly name: string
  /** Bytes accepted so far. */
  readonly bytes: number
  /**
   * Appends bytes, which must not be changed afterwards. Resolves when there is space for more, so a slow reader slows the writer down. Rejects with
   * the reason of `signal` (without accepting the bytes), or if the disk failed (`spool-full` if it is full). Calls must not overlap.
   */
  write(bytes: Uint8Array, signal?: AbortSignal): Promise<void>
}

export interface Journal<E extends Numbered> {
  /** Numbers an event and writes it before it returns. Throws `spool-full`. */
  append(body: Unnumbered<E>): E
  /** Like `append`, for the event that ends the attempt: on a full disk it uses the reserved space. Throws `spool-full` if that is not enough. */
  appendLast(body: Unnumbered<E>): E
  /** Returns the writer of a stream, always the same one for a name. */
  stream(name: string): StreamWriter
  /** Returns the oldest unacknowledged events. */
  nextEvents(limit: number): readonly E[]
  acknowledgeEvents(seq: number): void
  /**
   * Returns the lengths of a stream: accepted, on the disk, and acknowledged. All are 0 without output. `written` bytes survive the process. Bytes
   * that a failed disk did not store are not counted.
   */
  extent(stream: string): { readonly bytes: number; readonly written: number; readonly acked: number }
  /** Resolves when all bytes accepted before the call are on the disk. Throws if the disk failed (`spool-full`). */
  flushed(stream: string): Promise<void>
  /** Returns the streams with written, unacknowledged bytes. */
  waiting(): readonly { readonly stream: string; readonly bytes: number }[]
  /**
   * Reads the frame of a stream at `from`, by default its first unacknowledged one, with at most `maxBytes`. Returns undefined at the end of what is
   * written. The bytes may be in `into`, which belongs to the frame until the caller is done with it.
   */
  readFrame(stream: string, maxBytes: number, { from, into }?: FrameOptions): Promise<SpooledFrame | undefined>
  /** Sets the end of the receiver's copy of a stream. Sending continues there, forward or back. Returns false if the offset is not in the spool. */
  acknowledge(stream: string, offset: number): Promise<boolean>
  /** Returns length and hash of every stream. A stream ends where its disk failed. */
  totals(): Promise<Record<string, StreamTotal>>
  /** Returns true if everything is acknowledged. */
  isDrained(): boolean
  /** Number of events that an earlier process wrote to this folder. */
  readonly foundEvents: number
  /** Increases with every append, write and acknowledgement. */
  readonly version: number
  /** Resolves once `version` differs from `seen`, or when `signal` is aborted. */
  changed(seen: number, signal: AbortSignal): Promise<void>
  close(): Promise<void>
  /** Closes and deletes the folder. */
  remove(): Promise<void>
}

/** Opens the spool in `dir` with everything unacknowledged that an earlier process left there. Throws on I/O errors. */
export async function openJournal<E extends Numbered>(options: JournalOptions<E>): Promise<Journal<E>> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  return new Spool(options)
}

/** Bytes of log that stay in memory after they are written, for a sender that keeps up. */
const MEMORY_BYTES = 4 * 1024 * 1024

class Spool<E extends Numbered> implements Journal<E> {
  readonly #options: JournalOptions<E>
  readonly #events: EventLog<E>
  readonly #streams = new Map<string, StreamSpool>()
  readonly #names: number
  #namesEnd = 0
  readonly #blocked: (() => void)[] = []
  readonly #keep: KeepAllowance = { left: MEMORY_BYTES }
  readonly #changes = new Changes()
  readonly #reserve: Reserve
  readonly #acks: AckFile
  readonly foundEvents: number

  constructor(options: JournalOptions<E>) {
    this.#options = options
    this.#events = new EventLog(join(options.dir, 'events.log'), options.clock, options.decode)
    this.foundEvents = this.#events.last
    const path = join(options.dir, 'streams.log')
    this.#names = openSync(path, 'a+')
    for (const record of scanRecords(readFileSync(path))) {
      this.#openStream(record.payload.toString('utf8'))
      this.#namesEnd = record.end
    }
    ftruncateSync(this.#names, this.#namesEnd)
    this.#acks = new AckFile({ path: join(options.dir, 'acks.json'), clock: options.clock, current: () => this.#positions() })
    const { events, streams } = this.#acks.read()
    this.#events.acknowledge(events)
    for (const [name, offset] of Object.entries(streams)) this.#streams.get(name)?.restore(offset)
    this.#reserve = new Reserve(join(options.dir, 'reserve'), options.reserveBytes ?? 0)
  }

  get version(): number {
    return this.#changes.version
  }

  append(body: Unnumbered<E>): E {
    const event = this.#events.append(body)
    this.#changes.notify()
    this.#options.onAppend?.(event)
    return event
  }

  appendLast(body: Unnumbered<E>): E {
    try {
      return this.append(body)
    } catch (error) {
      if (!isFault(error, 'spool-full')) throw error
      this.#reserve.release()
      return this.append(body)
    }
  }

  stream(name: string): StreamWriter {
    let spool = this.#streams.get(name)
    if (spool === undefined) {
      // Without the end of the list of names, the folder may have the bytes of a stream whose name is lost.
      rmSync(this.#nextFolder(), { recursive: true, force: true })
      this.#namesEnd = appendRecord(this.#names, this.#namesEnd, { payload: Buffer.from(name), at: this.#options.clock.now() })
      spool = this.#openStream(name)
    }
    const stream = spool
    return {
      name,
      get bytes() {
        return stream.bytes
      },
      write: async (bytes, signal) => {
        if (this.#isFull()) await this.#awaitSpace(signal)
        await stream.write(bytes)
      },
    }
  }

  nextEvents(limit: number): readonly E[] {
    return this.#events.next(limit)
  }

  acknowledgeEvents(seq: number): void {
    this.#events.acknowledge(seq)
    this.#acks.saveSoon()
    this.#changes.notify()
  }

  extent(stream: string): { bytes: number; written: number; acked: number } {
    const { bytes = 0, written = 0, acked = 0 } = this.#streams.get(stream) ?? {}
    return { bytes, written, acked }
  }

  async flushed(stream: string): Promise<void> {
    await this.#streams.get(stream)?.flushed()
  }

  waiting(): { stream: string; bytes: number }[] {
    return [...this.#streams.values()]
      .filter(({ readable }) => readable > 0)
      .map(({ name, readable }) => ({ stream: name, bytes: readable }))
  }

  async readFrame(stream: string, maxBytes: number, options?: FrameOptions): Promise<SpooledFrame | undefined> {
    const found = await this.#streams.get(stream)?.read(maxBytes, options)
    return found === undefined ? undefined : { stream, ...found, sha256: sha256(found.bytes) }
  }

  async acknowledge(stream: string, offset: number): Promise<boolean> {
    const known = await this.#streams.get(stream)?.acknowledge(offset)
    if (known !== true) return false
    this.#acks.saveSoon()
    this.#changes.notify()
    if (!this.#isFull() && this.#blocked.length > 0) {
      this.#options.onFull?.(false)
      for (const wake of this.#blocked.splice(0)) wake()
    }
    return true
  }

  async totals(): Promise<Record<string, StreamTotal>> {
    const totals: Record<string, StreamTotal> = {}
    for (const [name, stream] of this.#streams) totals[name] = await stream.total()
    return totals
  }

  isDrained(): boolean {
    return this.#events.acked === this.#events.last && [...this.#streams.values()].every(({ acked, bytes }) => acked === bytes)
  }

  changed(seen: number, signal: AbortSignal): Promise<void> {
    return this.#changes.after(seen, signal)
  }

  async close(): Promise<void> {
    this.#acks.save()
    for (const stream of this.#streams.values()) await stream.close()
    this.#events.close()
    closeSync(this.#names)
  }

  async remove(): Promise<void> {
    await this.close()
    rmSync(this.#options.dir, { recursive: true, force: true })
  }

  #nextFolder(): string {
    return join(this.#options.dir, String(this.#streams.size + 1).padStart(4, '0'))
  }

  #openStream(name: string): StreamSpool {
    const dir = this.#nextFolder()
    mkdirSync(dir, { recursive: true })
    const { clock } = this.#options
    const spool = new StreamSpool(name, { dir, clock, onWritten: () => this.#changes.notify(), keep: this.#keep })
    this.#streams.set(name, spool)
    return spool
  }

  #isFull(): boolean {
    let waiting = 0
    for (const { bytes, acked } of this.#streams.values()) waiting += bytes - acked
    return waiting >= this.#options.limitBytes
  }

  async #awaitSpace(signal: AbortSignal | undefined): Promise<void> {
    if (this.#blocked.length === 0) this.#options.onFull?.(true)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = (): void => reject(signal?.reason)
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort, { once: true })
    this.#blocked.push(resolve)
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  #positions(): Acks {
    const streams = Object.fromEntries([...this.#streams].map(([name, { acked }]) => [name, acked]))
    return { events: this.#events.acked, streams }
  }
}
