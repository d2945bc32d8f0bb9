/** Sends the log of a stream with several frames in flight, so that the receiver stores some while the next ones are on the way. */
import type { Journal } from '@windlass/journal'
import { isFault } from '@windlass/kit'
import { MAX_FRAME_BYTES, type EngineEvent } from '@windlass/protocol'
import type { Sink } from './sink.ts'

export interface SenderOptions {
  readonly journal: Journal<EngineEvent>
  readonly sink: Sink
  readonly signal: AbortSignal
}

interface Sent {
  /** End of the frame in the stream. */
  readonly end: number
  /** It was sent while an earlier frame was in flight. */
  readonly isAhead: boolean
  readonly answer: Promise<number>
  /** Contains the bytes of the frame until the answer. */
  readonly memory: Buffer
}

const MIN_FRAME_BYTES = 65_536
/** Maximum number of frames in flight, whatever the server requests. Each needs 1 MiB of memory. */
const MAX_IN_FLIGHT = 8

export class FrameSender {
  readonly #options: SenderOptions
  /** Memory of answered frames. New memory for each frame would cost more than sending it. */
  readonly #free: Buffer[] = []
  /** Maximum bytes of a frame. Reduced behind a proxy with a smaller limit. */
  #frameBytes = MAX_FRAME_BYTES

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /**
   * Sends the unacknowledged bytes of a stream up to `to` and acknowledges them. Returns early if the receiver's copy ends elsewhere than expected, or
   * if some bytes were acknowledged before a fault; the next call continues after them. Otherwise it throws the fault of the sink once no frame is in
   * flight any more. Calls must not overlap.
   */
  async send(stream: string, to: number): Promise<void> {
    const { journal, sink } = this.#options
    const sent: Sent[] = []
    const over = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, over.signal])
    const begun = journal.extent(stream).acked
    try {
      for (let from = begun; ;) {
        while (from < to && sent.length < Math.min(sink.inFlight?.() ?? 1, MAX_IN_FLIGHT)) {
          const frame = await this.#begin(stream, { from, isAhead: sent.length > 0 }, signal)
          if (frame === undefined) break
          sent.push(frame)
          from = frame.end
        }
        const [first] = sent
        if (first === undefined) return
        const end = await first.answer
        // Only a frame that followed nothing in flight knows the end of the receiver's copy. An answer to a frame ahead may be older.
        await this.continueAt(stream, first.isAhead ? Math.max(end, journal.extent(stream).acked) : end)
        sent.shift()
        this.#free.push(first.memory)
        from = Math.max(from, end)
      }
    } catch (error) {
      if (!isFault(error)) throw error
      if (error.code === 'payload-too-large') this.#frameBytes = Math.max(MIN_FRAME_BYTES, this.#frameBytes / 2)
      const offset = error.code === 'log-offset' ? error.details['offset'] : undefined
      if (typeof offset === 'number') {
        if (sent[0]?.isAhead === false) await this.continueAt(stream, offset)
      } else if (journal.extent(stream).acked <= begun) throw error
    } finally {
      // The frames behind a refused one are refused too, or already stored. They are sent again. The receiver would hold them until the missing one
      // arrives, which is sent only after their answers.
      over.abort(new DOMException('an earlier frame has failed', 'AbortError'))
      await Promise.allSettled(sent.map(({ answer }) => answer))
      this.#free.push(...sent.map(({ memory }) => memory))
    }
  }

  /** Sets the end of the receiver's copy of a stream. */
  async continueAt(stream: string, offset: number): Promise<void> {
    const { journal } = this.#options
    // After a loss at its end, the spool has nothing that the server lacks.
    if (!(await journal.acknowledge(stream, Math.min(offset, journal.extent(stream).written))))
      throw new Error(`the log of ${stream} cannot continue at ${offset}`)
  }

  async #begin(
    stream: string,
    { from, isAhead }: { readonly from: number; readonly isAhead: boolean },
    signal: AbortSignal,
  ): Promise<Sent | undefined> {
    const { journal, sink } = this.#options
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(MAX_FRAME_BYTES)
    const frame = await journal.readFrame(stream, this.#frameBytes, { from, into: memory })
    if (frame === undefined) {
      this.#free.push(memory)
      return undefined
    }
    const answer = sink.frame({ ...frame, isAhead }, signal)
    // Awaited later. An earlier frame may be refused first.
    answer.catch(() => undefined)
    return { end: frame.offset + frame.bytes.byteLength, isAhead, answer, memory }
  }
}
