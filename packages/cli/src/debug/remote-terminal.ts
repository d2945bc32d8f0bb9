/** A terminal of a server's build: keys go out in numbered parts, what it shows comes over a stream; both go on after a break. */
import { backoffMs, systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import {
  TerminalEnd,
  TerminalInputAck,
  type Client,
  type TerminalInputBatch,
  type TerminalPart,
  type TerminalRecord,
} from '@windlass/protocol'

export interface RemoteTerminal {
  readonly client: Client
  readonly buildId: string
  readonly record: TerminalRecord
  readonly signal: AbortSignal
}

const AWAY = { baseMs: 100, maxMs: 2_000 }
/** Output is acknowledged after so many parts, so that the server need not keep it. */
const ACK_EVERY = 20
const ANSWER_MS = 10_000

export interface Shown {
  /** Number of the last output that was shown. */
  seq: number
}

/** What the terminal shows, each byte once; answers how it ended. Throws the server's fault when it refuses. */
export async function* showOutput(
  { client, buildId, record, signal }: RemoteTerminal,
  shown: Shown,
): AsyncGenerator<Buffer, TerminalEnd | undefined> {
  const path = `/v1/builds/${buildId}/terminals/${record.id}/output`
  for (let misses = 0; !signal.aborted; misses += 1) {
    try {
      for await (const { event, data, id } of client.events(path, { query: { after: shown.seq }, signal })) {
        misses = 0
        if (event === 'end') return TerminalEnd.parse(JSON.parse(data))
        const seq = Number(id)
        if (seq <= shown.seq) continue
        yield Buffer.from(data, 'base64')
        shown.seq = seq
      }
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isFault(error) || !error.retryable) throw error
    }
    await systemClock.sleep(backoffMs(AWAY, misses + 1), signal).catch(() => undefined)
  }
  return undefined
}

/** Sends keys and sizes in order, one call at a time; what is pressed meanwhile goes with the next. */
export class KeySender {
  readonly #terminal: RemoteTerminal
  readonly #shown: Shown
  #parts: TerminalPart[] = []
  #seq: number
  #acked = 0
  #sending: Promise<void> | undefined

  constructor(terminal: RemoteTerminal, shown: Shown) {
    this.#terminal = terminal
    this.#shown = shown
    this.#seq = terminal.record.inputSeq
  }

  push(part: TerminalPart): void {
    const last = this.#parts.at(-1)
    // Keys that wait anyway go as one part; only what is on its way may not change any more.
    if ('keys' in part && last !== undefined && 'keys' in last && last.keys.length < 8_192)
      this.#parts[this.#parts.length - 1] = {
        keys: Buffer.concat([Buffer.from(last.keys, 'base64'), Buffer.from(part.keys, 'base64')]).toString('base64'),
      }
    else this.#parts.push(part)
    this.#sending ??= this.#sendAll()
  }

  /** Told after each piece that was shown. */
  acknowledge(): void {
    if (this.#shown.seq - this.#acked >= ACK_EVERY) this.#sending ??= this.#sendAll()
  }

  /** Resolves when all that was pressed is with the server. */
  async flushed(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    try {
      do {
        const parts = this.#parts.splice(0, 100)
        await this.#send({ seq: this.#seq + 1, parts, ackSeq: this.#shown.seq })
        this.#seq += parts.length
      } while (this.#parts.length > 0)
    } catch {
      // The terminal is over, or the server refuses: its output says so.
    } finally {
      this.#sending = undefined
    }
  }

  async #send(batch: TerminalInputBatch): Promise<void> {
    const { client, buildId, record, signal } = this.#terminal
    const path = `/v1/builds/${buildId}/terminals/${record.id}/input`
    for (let n = 1; ; n += 1) {
      try {
        await client.call('POST', path, TerminalInputAck, { body: batch, signal, timeoutMs: ANSWER_MS })
        this.#acked = batch.ackSeq ?? this.#acked
        return
      } catch (error) {
        if (signal.aborted || !isFault(error) || !error.retryable) throw error
        await systemClock.sleep(backoffMs(AWAY, n), signal)
      }
    }
  }
}
