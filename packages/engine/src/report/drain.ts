/** Empties a journal into a sink: events and frames, again and again until they are taken, the attempt's end last. */
import type { Journal } from '@windlass/journal'
import { backoffMs, isFault, type Clock, type Fault, type Logger } from '@windlass/kit'
import { MAX_EVENTS, MAX_FRAME_BYTES, type EngineEvent } from '@windlass/protocol'
import type { Sink } from './sink.ts'

export interface DrainOptions {
  readonly journal: Journal<EngineEvent>
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Logger
  /** Ends the drain at once. */
  readonly signal: AbortSignal
}

export interface Drain {
  /** Nothing more will be written: resolves when the sink has everything, or the signal was aborted. */
  finish(): Promise<void>
  /** Rejects when the sink refused for good (`attempt-stale`, a bug). Never resolves. */
  readonly failed: Promise<never>
}

/** A stream that has so much waiting is sent at once, a smaller rest every 100 ms. What a frame costs the server, it costs whatever its size. */
const FLUSH_BYTES = MAX_FRAME_BYTES
const FLUSH_MS = 100
const AWAY = { baseMs: 200, maxMs: 10_000 }
const MAX_BATCH_CHARS = 1_048_576

export function startDrain(options: DrainOptions): Drain {
  const drain = new Draining(options)
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined)
  const events = drain.sendEvents()
  const frames = drain.sendFrames()
  for (const loop of [events, frames]) loop.catch(reject)
  return {
    failed,
    async finish() {
      drain.isLast = true
      drain.wake()
      await Promise.race([Promise.all([events, frames]), failed])
    },
  }
}

class Draining {
  isLast = false
  readonly #options: DrainOptions
  readonly #sentAt = new Map<string, number>()
  #nudge = new AbortController()
  /** Frames go out one after the other: all of them lie here. New memory for each would cost more than sending it. */
  #frame: Buffer | undefined

  constructor(options: DrainOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.wake(), { once: true })
  }

  wake(): void {
    this.#nudge.abort()
  }

  async sendEvents(): Promise<void> {
    const { journal, signal } = this.#options
    while (!signal.aborted) {
      const seen = journal.version
      const events = this.#nextEvents()
      if (events.length > 0) await this.#persist(() => this.#takeEvents(events))
      else if (this.isLast && journal.isDrained()) return
      else await this.#changed(seen)
    }
  }

  async sendFrames(): Promise<void> {
    const { journal, signal, clock } = this.#options
    while (!signal.aborted) {
      const seen = journal.version
      const waiting = journal.waiting()
      const now = clock.monotonic()
      const due = waiting.find(({ stream, bytes }) => this.isLast || bytes >= FLUSH_BYTES || this.#dueAt(stream) <= now)
      if (due !== undefined) {
        // Behind the others from here on: a loud stream must not silence them.
        this.#sentAt.delete(due.stream)
        this.#sentAt.set(due.stream, now)
        await this.#persist(() => this.#takeFrame(due.stream))
      } else if (waiting.length > 0) await this.#pause(Math.min(...waiting.map(({ stream }) => this.#dueAt(stream))) - now)
      else if (this.isLast && journal.isDrained()) return
      else await this.#changed(seen)
    }
  }

  #dueAt(stream: string): number {
    return (this.#sentAt.get(stream) ?? -Infinity) + FLUSH_MS
  }

  /** The end of the attempt waits until every byte of log is taken. */
  #nextEvents(): readonly EngineEvent[] {
    const { journal } = this.#options
    const events: EngineEvent[] = []
    let chars = 0
    for (const event of journal.nextEvents(MAX_EVENTS)) {
      chars += JSON.stringify(event).length
      if (events.length > 0 && chars > MAX_BATCH_CHARS) break
      if (event.type === 'attempt.finished' && (events.length > 0 || journal.waiting().length > 0)) break
      events.push(event)
    }
    return events
  }

  async #takeEvents(events: readonly EngineEvent[]): Promise<void> {
    const { journal, sink, signal } = this.#options
    try {
      journal.acknowledgeEvents(await sink.events(events, signal))
    } catch (error) {
      if (!isFault(error, 'log-incomplete')) throw error
      for (const [stream, offset] of Object.entries(offsetsOf(error))) await this.#goOnAt(stream, offset)
      throw error
    }
  }

  async #takeFrame(stream: string): Promise<void> {
    const { journal, sink, signal } = this.#options
    this.#frame ??= Buffer.allocUnsafeSlow(MAX_FRAME_BYTES)
    const frame = await journal.nextFrame(stream, MAX_FRAME_BYTES, this.#frame)
    if (frame === undefined) return
    try {
      await this.#goOnAt(stream, await sink.frame(frame, signal))
    } catch (error) {
      const offset = isFault(error, 'log-offset') ? error.details['offset'] : undefined
      if (typeof offset !== 'number') throw error
      await this.#goOnAt(stream, offset)
    }
  }

  async #goOnAt(stream: string, offset: number): Promise<void> {
    if (!(await this.#options.journal.acknowledge(stream, offset)))
      throw new Error(`the log of ${stream} cannot go on at ${offset}`)
  }

  /** Tries until it works; errors that no repetition mends are thrown. */
  async #persist(work: () => Promise<void>): Promise<void> {
    const { clock, log, signal } = this.#options
    for (let n = 1; ; n += 1) {
      try {
        return await work()
      } catch (error) {
        if (signal.aborted) return
        if (!isFault(error) || !error.retryable) throw error
        if (n === 1) log.warn({ code: error.code, message: error.message }, 'report is waiting')
        await clock.sleep(backoffMs(AWAY, n), signal).catch(() => undefined)
        if (signal.aborted) return
      }
    }
  }

  #changed(seen: number): Promise<void> {
    this.#refreshNudge()
    return this.#options.journal.changed(seen, this.#nudge.signal)
  }

  async #pause(ms: number): Promise<void> {
    this.#refreshNudge()
    await this.#options.clock.sleep(ms, this.#nudge.signal).catch(() => undefined)
  }

  /** A nudge wakes whoever waits at that moment; nothing is missed, because nobody else runs between a look and the wait after it. */
  #refreshNudge(): void {
    if (this.#nudge.signal.aborted && !this.#options.signal.aborted) this.#nudge = new AbortController()
  }
}

function offsetsOf(error: Fault): Record<string, number> {
  const offsets = error.details['offsets']
  if (typeof offsets !== 'object' || offsets === null) return {}
  return Object.fromEntries(Object.entries(offsets).filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
}
