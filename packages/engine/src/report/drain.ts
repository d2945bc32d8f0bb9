/**
 * Sends a journal to a sink: events and frames, each retried until it is acknowledged. Both are sent concurrently, with three exceptions: the first
 * bytes of a step wait for its start event, its end event waits for its bytes, and the end of the attempt waits for everything.
 */
import type { Journal } from '@windlass/journal'
import { backoffMs, isFault, type Clock, type Fault, type Logger } from '@windlass/kit'
import { MAX_EVENTS, MAX_FRAME_BYTES, stepStream, type EngineEvent } from '@windlass/protocol'
import { keptEvent } from './announce.ts'
import { isContentRejected, openRefused } from './refused.ts'
import { FrameSender } from './send-frames.ts'
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
  /** Call when nothing more will be written. Resolves when the sink has everything, or the signal was aborted. */
  finish(): Promise<void>
  /** Rejects if the sink accepts nothing more (`isFinal`), or with a bug. Never resolves. */
  readonly failed: Promise<never>
}

/**
 * A stream with this many waiting bytes is sent at once. Less output is sent every 100 ms, or at a longer interval that the server requests while
 * nobody follows the log. A frame costs the server the same whatever its size.
 */
const FLUSH_BYTES = MAX_FRAME_BYTES
const FLUSH_MS = 100
const MAX_FLUSH_MS = 5000
const BACKOFF = { baseMs: 200, maxMs: 10_000 }
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
  /** When each stream was last due, and up to where it is sent without another pause: a frame has at most 100 ms of output. */
  readonly #sentAt = new Map<string, number>()
  readonly #sendTo = new Map<string, number>()
  #nudge = new AbortController()
  /** Ends the pauses of loops that wait for an unreachable server. */
  readonly #pauses = new Set<AbortController>()
  readonly #sender: FrameSender
  readonly #refused = openRefused()

  constructor(options: DrainOptions) {
    this.#options = options
    this.#sender = new FrameSender(options)
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
      else {
        // Send the bytes that the next event waits for at once.
        if (this.#awaited().length > 0) this.wake()
        await this.#changed(seen)
      }
    }
  }

  async sendFrames(): Promise<void> {
    const { journal, signal, clock } = this.#options
    while (!signal.aborted) {
      const seen = journal.version
      const early = this.#unannounced()
      const waiting = journal.waiting().filter(({ stream }) => !early.has(stream))
      const now = clock.monotonic()
      const due = this.#nextStream(waiting, now)
      if (due !== undefined) {
        if (!this.#isBeingSent(due)) {
          this.#sentAt.set(due, now)
          this.#sendTo.set(due, journal.extent(due).written)
        }
        await this.#persist(() => this.#sender.send(due, this.#sendTo.get(due) ?? 0))
      } else if (waiting.length > 0) await this.#pause(Math.min(...waiting.map(({ stream }) => this.#dueAt(stream))) - now)
      else if (this.isLast && journal.isDrained()) return
      else await this.#changed(seen)
    }
  }

  /** Returns the next stream to send: of those that are due, the one that was sent longest ago. */
  #nextStream(waiting: readonly { readonly stream: string; readonly bytes: number }[], now: number): string | undefined {
    const awaited = this.#awaited()
    const due = waiting.filter(
      ({ stream, bytes }) =>
        this.isLast ||
        bytes >= FLUSH_BYTES ||
        awaited.includes(stream) ||
        this.#isBeingSent(stream) ||
        this.#dueAt(stream) <= now,
    )
    return due.map(({ stream }) => stream).toSorted((a, b) => this.#dueAt(a) - this.#dueAt(b))[0]
  }

  #isBeingSent(stream: string): boolean {
    return this.#options.journal.extent(stream).acked < (this.#sendTo.get(stream) ?? 0)
  }

  #dueAt(stream: string): number {
    return (this.#sentAt.get(stream) ?? -Infinity) + Math.min(this.#options.sink.flushMs?.() ?? FLUSH_MS, MAX_FLUSH_MS)
  }

  *#waiting(limit: number): Generator<EngineEvent> {
    for (const event of this.#options.journal.nextEvents(limit))
      yield keptEvent(this.#options.journal, this.#refused.reduced(event))
  }

  /** Returns the streams that the next end of a step waits for. */
  #awaited(): string[] {
    for (const event of this.#waiting(MAX_EVENTS)) {
      const missing = this.#missing(event)
      if (missing.length > 0) return missing
    }
    return []
  }

  /** Returns the streams of an ended step that are not completely acknowledged. */
  #missing(event: EngineEvent): string[] {
    if (event.type !== 'step.finished') return []
    const lengths = Object.entries(event.streams ?? {})
    return lengths.filter(([stream, bytes]) => this.#options.journal.extent(stream).acked < bytes).map(([stream]) => stream)
  }

  /**
   * Returns streams without acknowledged bytes whose start event is not acknowledged either. The bytes of a step that ended and starts again are not
   * held back, because that end waits for them.
   */
  #unannounced(): Set<string> {
    const { journal } = this.#options
    const streams = new Set<string>()
    const awaited = new Set<string>()
    for (const event of this.#waiting(Infinity)) {
      for (const stream of this.#missing(event)) awaited.add(stream)
      if (event.type !== 'step.started') continue
      const stream = stepStream(event.step)
      if (!awaited.has(stream) && journal.extent(stream).acked === 0) streams.add(stream)
    }
    return streams
  }

  /** Returns the next batch, up to an event that has to wait. */
  #nextEvents(): readonly EngineEvent[] {
    const { journal } = this.#options
    const events: EngineEvent[] = []
    let chars = 0
    for (const event of this.#waiting(MAX_EVENTS)) {
      chars += JSON.stringify(event).length
      if (events.length > 0 && chars > MAX_BATCH_CHARS) break
      if (event.type === 'attempt.finished' && (events.length > 0 || journal.waiting().length > 0)) break
      if (this.#missing(event).length > 0) break
      events.push(event)
      if (this.#refused.isSentAlone(event)) break
    }
    return events
  }

  async #takeEvents(events: readonly EngineEvent[]): Promise<void> {
    const { journal, sink, signal, log } = this.#options
    try {
      journal.acknowledgeEvents(await sink.events(events, signal))
    } catch (error) {
      if (isContentRejected(error) && this.#refused.note(events, error)) {
        const [first] = events
        return log.warn(
          { code: error.code, message: error.message, seq: first?.seq, events: events.length },
          'events were refused',
        )
      }
      if (!isFault(error, 'log-incomplete')) throw error
      for (const [stream, offset] of Object.entries(offsetsOf(error))) await this.#sender.continueAt(stream, offset)
      throw error
    }
  }

  /** Retries until the work succeeds. Throws errors of this process and those that are final to the sink. */
  async #persist(work: () => Promise<void>): Promise<void> {
    const { log, signal, sink } = this.#options
    for (let n = 1; ; n += 1) {
      try {
        await work()
        // The server responds again, so end the pause of the other loop. A success without an earlier failure says nothing about the other loop's
        // calls.
        if (n > 1) for (const pause of this.#pauses) pause.abort()
        return
      } catch (error) {
        if (signal.aborted) return
        if (!isFault(error) || sink.isFinal(error)) throw error
        if (n === 1) log.warn({ code: error.code, message: error.message }, 'report failed, retrying')
        await this.#waitOut(backoffMs(BACKOFF, n))
        if (signal.aborted) return
      }
    }
  }

  async #waitOut(ms: number): Promise<void> {
    const { clock, signal } = this.#options
    const pause = new AbortController()
    this.#pauses.add(pause)
    await clock.sleep(ms, AbortSignal.any([signal, pause.signal])).catch(() => undefined)
    this.#pauses.delete(pause)
  }

  #changed(seen: number): Promise<void> {
    this.#refreshNudge()
    return this.#options.journal.changed(seen, this.#nudge.signal)
  }

  async #pause(ms: number): Promise<void> {
    this.#refreshNudge()
    await this.#options.clock.sleep(ms, this.#nudge.signal).catch(() => undefined)
  }

  /**
   * Prepares the next nudge. A nudge wakes all loops that wait at that moment. None is missed, because nothing else runs between a check and the wait
   * after it.
   */
  #refreshNudge(): void {
    if (this.#nudge.signal.aborted && !this.#options.signal.aborted) this.#nudge = new AbortController()
  }
}

function offsetsOf(error: Fault): Record<string, number> {
  const offsets = error.details['offsets']
  if (typeof offsets !== 'object' || offsets === null) return {}
  return Object.fromEntries(Object.entries(offsets).filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
}
