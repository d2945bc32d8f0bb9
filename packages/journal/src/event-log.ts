/** The numbered events of an attempt: one file, written at once, kept in memory until acknowledged. */
import { closeSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import type { Clock } from '@windlass/kit'
import { appendRecord, scanRecords } from './record.ts'

export interface Numbered {
  readonly seq: number
  readonly at: number
}

/** An event without what the journal adds. */
export type Unnumbered<E> = E extends Numbered ? Omit<E, 'seq' | 'at'> : never

/** Sequence numbers are dense and begin with 1: the n-th record is event n. */
export class EventLog<E extends Numbered> {
  readonly #fd: number
  readonly #clock: Clock
  readonly #waiting: E[] = []
  #last = 0
  #acked = 0
  /** Length of the file. */
  #end = 0

  constructor(path: string, clock: Clock, decode: (value: unknown) => E) {
    this.#clock = clock
    this.#fd = openSync(path, 'a+')
    for (const record of scanRecords(readFileSync(path))) {
      this.#waiting.push(decode(JSON.parse(record.payload.toString('utf8'))))
      this.#last += 1
      this.#end = record.end
    }
    ftruncateSync(this.#fd, this.#end)
  }

  /** Writes before it answers: an event whose number is known survives the death of the process. Throws `spool-full`. */
  append(body: Unnumbered<E>): E {
    // The spread of a generic type is not known to be E again; `Unnumbered` took exactly these two fields away.
    const event = { ...body, seq: this.#last + 1, at: this.#clock.now() } as unknown as E
    this.#end = appendRecord(this.#fd, this.#end, { payload: Buffer.from(JSON.stringify(event)), at: event.at })
    this.#last = event.seq
    this.#waiting.push(event)
    return event
  }

  /** The oldest events that are not acknowledged. */
  next(limit: number): readonly E[] {
    return this.#waiting.slice(0, limit)
  }

  /** Forgets events up to `seq`; a lower number than before changes nothing. */
  acknowledge(seq: number): void {
    const upTo = Math.min(seq, this.#last)
    if (upTo <= this.#acked) return
    this.#acked = upTo
    const keep = this.#waiting.findIndex((event) => event.seq > upTo)
    this.#waiting.splice(0, keep < 0 ? this.#waiting.length : keep)
  }

  get acked(): number {
    return this.#acked
  }

  get last(): number {
    return this.#last
  }

  close(): void {
    closeSync(this.#fd)
  }
}
