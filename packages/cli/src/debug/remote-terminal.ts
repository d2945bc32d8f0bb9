/** A terminal in a build on a server. Keys are sent in numbered parts, output is streamed; both resume after a connection loss. */
import { backoffMs, pauseMs, systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { TerminalEnd, type TerminalInputBatch, type TerminalPart, type TerminalRecord } from '@windlass/protocol'

export interface RemoteTerminal {
  readonly client: ApiClient
  readonly buildId: string
  readonly record: TerminalRecord
  readonly signal: AbortSignal
}

const BACKOFF = { baseMs: 100, maxMs: 2_000 }
/** Number of output parts after which an acknowledgement is sent, so that the server can drop them. */
const ACK_EVERY = 20
const ANSWER_MS = 10_000

export interface Shown {
  /** Number of the last output part shown. */
  seq: number
}

/** Yields the output, each byte once, and returns how the terminal ended. Throws the server's fault if it rejects the call. */
export async function* showOutput(
  { client, buildId, record, signal }: RemoteTerminal,
  shown: Shown,
): AsyncGenerator<Buffer, TerminalEnd | undefined> {
  for (let misses = 0; !signal.aborted; misses += 1) {
    let reason: unknown
    try {
      const query = { after: shown.seq }
      for await (const { event, data, id } of client.debug.followTerminal(buildId, record.id, { query, signal })) {
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
      reason = error
    }
    await systemClock.sleep(pauseMs(BACKOFF, misses + 1, reason), signal).catch(() => undefined)
  }
  return undefined
}

/** Sends keys and sizes in order, one call at a time. Later input is batched into the next call. */
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
    // Merge waiting keys into one part; parts already being sent must not change.
    if ('keys' in part && last !== undefined && 'keys' in last && last.keys.length < 8_192)
      this.#parts[this.#parts.length - 1] = {
        keys: Buffer.concat([Buffer.from(last.keys, 'base64'), Buffer.from(part.keys, 'base64')]).toString('base64'),
      }
    else this.#parts.push(part)
    this.#sending ??= this.#sendAll()
  }

  /** Call after showing a part; sends an acknowledgement if one is due. */
  acknowledge(): void {
    if (this.#shown.seq - this.#acked >= ACK_EVERY) this.#sending ??= this.#sendAll()
  }

  /** Resolves when the server has received all input. */
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
      // The terminal ended, or the server rejected the input: the output stream reports it.
    } finally {
      this.#sending = undefined
    }
  }

  async #send(batch: TerminalInputBatch): Promise<void> {
    const { client, buildId, record, signal } = this.#terminal
    for (let n = 1; ; n += 1) {
      try {
        await client.debug.sendInput(buildId, record.id, batch, { signal, timeoutMs: ANSWER_MS })
        this.#acked = batch.ackSeq ?? this.#acked
        return
      } catch (error) {
        if (signal.aborted || !isFault(error) || !error.retryable) throw error
        await systemClock.sleep(backoffMs(BACKOFF, n), signal)
      }
    }
  }
}
