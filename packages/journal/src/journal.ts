/**
 * The durable spool of one attempt: numbered events and byte streams, kept until acknowledged.
 *
 * Everything is handed to the kernel by `write` and never synced: the spool outlives its process and a server that is away. It does not
 * have to outlive its machine, whose loss ends the attempt anyway; a sync for each batch would cost more than the batch.
 * Not here: who reads it and sends (package engine).
 */
import { mkdirSync, openSync, closeSync, readFileSync, rmSync, writeFileSync, renameSync, ftruncateSync } from 'node:fs'
import { join } from 'node:path'
import { sha256, type Clock } from '@windlass/kit'
import { EventLog, type Numbered, type Unnumbered } from './event-log.ts'
import { appendRecord, isNoSpace, scanRecords } from './record.ts'
import type { KeepAllowance } from './recent.ts'
import { StreamSpool } from './stream-spool.ts'

export interface JournalOptions<E extends Numbered> {
  /** A folder of this attempt alone; made when missing. */
  readonly dir: string
  readonly clock: Clock
  /** Most bytes of log that wait for acknowledgement; writers wait beyond. */
  readonly limitBytes: number
  /** Checks an event that is read back. */
  readonly decode: (value: unknown) => E
  /** Told of every event once it is written. */
  readonly onAppend?: ((event: E) => void) | undefined
  /** Told when writers begin to wait for room (true), and when they go on (false). */
  readonly onFull?: (full: boolean) => void
}

/** A piece of one stream. Its bytes were written within 100 ms from `at` on. */
export interface SpooledFrame {
  readonly stream: string
  readonly offset: number
  readonly bytes: Uint8Array
  readonly sha256: string
  /** Epoch milliseconds. */
  readonly at: number
}

export interface StreamTotal {
  readonly bytes: number
  /** Hex; undefined when an earlier process has dropped acknowledged parts. */
  readonly sha256: string | undefined
}

export interface StreamWriter {
  readonly name: string
  /** Bytes handed over so far. */
  readonly bytes: number
  /**
   * Appends bytes, which must not be changed afterwards. Resolves when there is room for more: a slow reader slows the writer down.
   * Rejects with the reason of `signal` (the bytes are not taken then), or when the disk failed (`spool-full` when it is full). Calls must not overlap.
   */
  write(bytes: Uint8Array, signal?: AbortSignal): Promise<void>
}

export interface Journal<E extends Numbered> {
  /** Numbers an event and writes it before it answers. Throws `spool-full`. */
  append(body: Unnumbered<E>): E
  /** The writer of a stream; the same one for the same name. */
  stream(name: string): StreamWriter
  /** The oldest events that are not acknowledged. */
  nextEvents(limit: number): readonly E[]
  acknowledgeEvents(seq: number): void
  /** Streams with bytes that are written and not acknowledged. */
  waiting(): readonly { readonly stream: string; readonly bytes: number }[]
  /**
   * The next frame of a stream, at most `maxBytes`; undefined when all is acknowledged. The same one again until it is. Its bytes may lie
   * in `into`, which then belongs to the frame until the caller is done with it.
   */
  nextFrame(stream: string, maxBytes: number, into?: Buffer): Promise<SpooledFrame | undefined>
  /** Says where the kept copy of a stream ends; sending goes on there, be it forward or back. False when that place is not here (any more). */
  acknowledge(stream: string, offset: number): Promise<boolean>
  /** Length and hash of every stream so far. */
  totals(): Promise<Record<string, StreamTotal>>
  /** True when nothing waits for acknowledgement. */
  isDrained(): boolean
  /** Number of events that an earlier process had written into this folder. */
  readonly foundEvents: number
  /** Grows with every append, write and acknowledgement. */
  readonly version: number
  /** Resolves once `version` is not `seen` any more, or when `signal` is aborted. */
  changed(seen: number, signal: AbortSignal): Promise<void>
  close(): Promise<void>
  /** Closes and deletes the folder. */
  remove(): Promise<void>
}

/** Opens the spool in `dir`, with all that an earlier process left there and the server has not acknowledged. Throws on I/O errors. */
export async function openJournal<E extends Numbered>(options: JournalOptions<E>): Promise<Journal<E>> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  return new Spool(options)
}

const SAVE_EVERY_MS = 1_000
/** Bytes of log that are on the disk and still in memory, for a sender that keeps up. */
const KEPT_BYTES = 4 * 1024 * 1024

class Spool<E extends Numbered> implements Journal<E> {
  readonly #options: JournalOptions<E>
  readonly #events: EventLog<E>
  readonly #streams = new Map<string, StreamSpool>()
  readonly #names: number
  #namesEnd = 0
  readonly #room: (() => void)[] = []
  readonly #keep: KeepAllowance = { left: KEPT_BYTES }
  readonly foundEvents: number
  version = 0
  #savedAt = -Infinity
  #wake: (() => void)[] = []

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
    this.#restore()
  }

  append(body: Unnumbered<E>): E {
    const event = this.#events.append(body)
    this.#notify()
    this.#options.onAppend?.(event)
    return event
  }

  stream(name: string): StreamWriter {
    let spool = this.#streams.get(name)
    if (spool === undefined) {
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
        if (this.#isFull()) await this.#untilRoom(signal)
        await stream.write(bytes)
      },
    }
  }

  nextEvents(limit: number): readonly E[] {
    return this.#events.next(limit)
  }

  acknowledgeEvents(seq: number): void {
    this.#events.acknowledge(seq)
    this.#saveSoon()
    this.#notify()
  }

  waiting(): { stream: string; bytes: number }[] {
    return [...this.#streams.values()]
      .filter(({ readable }) => readable > 0)
      .map(({ name, readable }) => ({ stream: name, bytes: readable }))
  }

  async nextFrame(stream: string, maxBytes: number, into?: Buffer): Promise<SpooledFrame | undefined> {
    const found = await this.#streams.get(stream)?.read(maxBytes, into)
    return found === undefined ? undefined : { stream, ...found, sha256: sha256(found.bytes) }
  }

  async acknowledge(stream: string, offset: number): Promise<boolean> {
    const known = await this.#streams.get(stream)?.acknowledge(offset)
    if (known !== true) return false
    this.#saveSoon()
    this.#notify()
    if (!this.#isFull() && this.#room.length > 0) {
      this.#options.onFull?.(false)
      for (const wake of this.#room.splice(0)) wake()
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

  async changed(seen: number, signal: AbortSignal): Promise<void> {
    if (this.version !== seen || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    this.#wake.push(wake)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    signal.removeEventListener('abort', wake)
  }

  async close(): Promise<void> {
    this.#save()
    for (const stream of this.#streams.values()) await stream.close()
    this.#events.close()
    closeSync(this.#names)
  }

  async remove(): Promise<void> {
    await this.close()
    rmSync(this.#options.dir, { recursive: true, force: true })
  }

  #openStream(name: string): StreamSpool {
    const dir = join(this.#options.dir, String(this.#streams.size + 1).padStart(4, '0'))
    mkdirSync(dir, { recursive: true })
    const spool = new StreamSpool(name, {
      dir,
      clock: this.#options.clock,
      onWritten: () => this.#notify(),
      keep: this.#keep,
    })
    this.#streams.set(name, spool)
    return spool
  }

  #isFull(): boolean {
    let waiting = 0
    for (const { bytes, acked } of this.#streams.values()) waiting += bytes - acked
    return waiting >= this.#options.limitBytes
  }

  async #untilRoom(signal: AbortSignal | undefined): Promise<void> {
    if (this.#room.length === 0) this.#options.onFull?.(true)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = (): void => {
      reject(signal?.reason)
    }
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort, { once: true })
    this.#room.push(resolve)
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  #notify(): void {
    this.version += 1
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** A rename waits for other writers of the disk (2 ms and more), so it is not done for every frame. */
  #saveSoon(): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#savedAt < SAVE_EVERY_MS) return
    this.#savedAt = now
    this.#save()
  }

  /** Losing this file only means that some things are sent again, so it is replaced, not synced, and left as it is on a full disk. */
  #save(): void {
    const acks = {
      events: this.#events.acked,
      streams: Object.fromEntries([...this.#streams].map(([name, { acked }]) => [name, acked])),
    }
    const path = join(this.#options.dir, 'acks.json')
    try {
      writeFileSync(`${path}.new`, JSON.stringify(acks))
      renameSync(`${path}.new`, path)
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  #restore(): void {
    const acks = readAcks(join(this.#options.dir, 'acks.json'))
    this.#events.acknowledge(acks.events)
    for (const [name, offset] of Object.entries(acks.streams)) this.#streams.get(name)?.restore(offset)
  }
}

function readAcks(path: string): { events: number; streams: Record<string, number> } {
  const acks: { events: number; streams: Record<string, number> } = { events: 0, streams: {} }
  let saved: unknown
  try {
    saved = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return acks
  }
  if (typeof saved !== 'object' || saved === null) return acks
  if ('events' in saved && typeof saved.events === 'number') acks.events = saved.events
  if ('streams' in saved && typeof saved.streams === 'object' && saved.streams !== null) {
    for (const [name, offset] of Object.entries(saved.streams)) if (typeof offset === 'number') acks.streams[name] = offset
  }
  return acks
}
