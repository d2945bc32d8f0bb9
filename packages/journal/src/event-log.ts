/** The numbered events of an attempt: one file, written at once, and kept in memory until acknowledged. */
import { closeSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import type { Clock } from '@windlass/kit'
import { appendRecord, scanRecords } from './record.ts'

export interface Numbered {
  readonly seq: number
  readonly at: number
}

/** An event without the fields that the journal adds. */
export type Unnumbered<E> = E extends Numbered ? Omit<E, 'seq' | 'at'> : never

/** Event log. Sequence numbers start at 1 and have no gaps, unless a power cut has removed events that the receiver has. */
export class EventLog<E extends Numbered> {
  readonly #fd: number
  readonly #clock: Clock
  readonly #waiting: E[] = []
  #last = 0
  #acked = 0
  /** Length of the file. Bytes. */
  #end = 0

  constructor(path: string, clock: Clock, decode: (value: unknown) => E) {
    this.#clock = clock
    this.#fd = openSync(path, 'a+')
    for (const record of scanRecords(readFileSync(path))) {
      const event = decode(JSON.parse(record.payload.toString('utf8')))
      this.#waiting.push(event)
      this.#last = event.seq
      this.#end = record.end
    }
    ftruncateSync(this.#fd, this.#end)
  }

  /** Writes an event before it returns, so an event with a number survives the process. Throws `spool-full`. */
  append(body: Unnumbered<E>): E {
    // TypeScript cannot infer that the spread is E again, although `Unnumbered` removed exactly these two fields.
    const event = { ...body, seq: this.#last + 1, at: this.#clock.now() } as unknown as E
    this.#end = appendRecord(this.#fd, this.#end, { payload: Buffer.from(JSON.stringify(event)), at: event.at })
    this.#last = event.seq
    this.#waiting.push(event)
    return event
  }

  /** Returns the oldest unacknowledged events. */
  next(limit: number): readonly E[] {
    return this.#waiting.slice(0, limit)
  }

  /** Drops events up to `seq`. Ignores a lower number than before. After a higher one than the last event, the next event continues there. */
  acknowledge(seq: number): void {
    if (seq <= this.#acked) return
    this.#acked = seq
    this.#last = Math.max(this.#last, seq)
    const keep = this.#waiting.findIndex((event) => event.seq > seq)
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
