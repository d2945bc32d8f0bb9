/** Sends keys and sizes to a terminal in numbered parts, so that each arrives once and in order, also after a lost connection. */
import { isFault } from '@windlass/kit/faults'
import type { TerminalInputBatch, TerminalPart } from '@windlass/protocol'
import type { ApiClient } from '../client.ts'
import { fromBase64, toBase64 } from './base64.ts'

export interface KeySenderOptions {
  readonly client: Pick<ApiClient, 'debug'>
  readonly buildId: string
  readonly terminal: string
  /** Number of the last input that the server has: `inputSeq` of the record. */
  readonly inputSeq: number
  readonly signal: AbortSignal
  /** Resolves before the next try of a call that failed `failures` times in a row. */
  readonly pause: (failures: number) => Promise<void>
  /** Called when the server refuses input. Later input is refused too. */
  readonly onRefused?: (error: unknown) => void
}

/** Shown output after which an acknowledgement is sent, so that the server can drop older output: it keeps 196,608 bytes, and parts of up to 32,768. */
const ACK_EVERY = { parts: 20, bytes: 65_536 }
const ANSWER_MS = 10_000
/** Maximum size of a part, into which longer pastes are split. The server accepts `MAX_TERMINAL_BYTES` of the protocol. Bytes. */
const PART_BYTES = 8_192
/** Maximum parts of one call, so that its body stays below the limit of the server. */
const MAX_PARTS = 50

/** Sends one call at a time. Input that arrives during a call is sent with the next one. */
export class KeySender {
  readonly #options: KeySenderOptions
  #parts: TerminalPart[] = []
  #seq: number
  #shown = { seq: 0, bytes: 0 }
  #acked = { seq: 0, bytes: 0 }
  #sending: Promise<void> | undefined

  constructor(options: KeySenderOptions) {
    this.#options = options
    this.#seq = options.inputSeq
  }

  /** Sends key presses. Those that wait for the next call are merged. */
  press(keys: Uint8Array): void {
    const last = this.#parts.at(-1)
    // Parts that are being sent are no longer in this list, so they do not change.
    const waiting = last !== undefined && 'keys' in last ? fromBase64(last.keys) : undefined
    if (waiting !== undefined) this.#parts.pop()
    const all = waiting === undefined ? keys : join(waiting, keys)
    for (let at = 0; at < all.length; at += PART_BYTES) this.#parts.push({ keys: toBase64(all.subarray(at, at + PART_BYTES)) })
    this.#start()
  }

  /** Changes the size of the terminal. */
  resize(size: { readonly columns: number; readonly rows: number }): void {
    this.#parts.push({ columns: size.columns, rows: size.rows })
    this.#start()
  }

  /** Call after the output part with this number, of `bytes` bytes, is shown. Sends an acknowledgement if one is due. */
  acknowledge(seq: number, bytes: number): void {
    this.#shown = { seq, bytes: this.#shown.bytes + bytes }
    if (this.#owesAck()) this.#start()
  }

  /** Reads the number of the last input again before the next call, because another page may have typed. Keeps it if that fails. */
  recount(read: () => Promise<number>): void {
    this.#sending ??= this.#sendAll(async () => {
      this.#seq = await read().catch(() => this.#seq)
    })
  }

  /** Resolves when the server has received all input. */
  async flushed(): Promise<void> {
    await this.#sending
  }

  #start(): void {
    this.#sending ??= this.#sendAll()
  }

  #owesAck(): boolean {
    const { seq, bytes } = this.#shown
    return seq - this.#acked.seq >= ACK_EVERY.parts || bytes - this.#acked.bytes >= ACK_EVERY.bytes
  }

  async #sendAll(before?: () => Promise<void>): Promise<void> {
    try {
      await before?.()
      while (this.#parts.length > 0 || this.#owesAck()) {
        const parts = this.#parts.splice(0, MAX_PARTS)
        const wasStored = await this.#send(parts)
        // Another sender took the numbers. These are the next ones.
        if (!wasStored) await this.#send(parts)
      }
    } catch (error) {
      // The stream of the output also reports the end of the terminal.
      if (!this.#options.signal.aborted) this.#options.onRefused?.(error)
    } finally {
      this.#sending = undefined
    }
  }

  /** Sends parts after the last number that is known. Returns false if they were ignored. */
  async #send(parts: TerminalPart[]): Promise<boolean> {
    const { client, buildId, terminal, signal, pause } = this.#options
    const last = this.#seq + parts.length
    const shown = this.#shown
    const batch: TerminalInputBatch = { seq: this.#seq + 1, parts, ackSeq: shown.seq }
    for (let failures = 1; ; failures += 1) {
      try {
        const { seq } = await client.debug.sendInput(buildId, terminal, batch, { signal, timeoutMs: ANSWER_MS })
        this.#acked = shown
        this.#seq = seq
        // A call whose answer was lost may have stored them before others typed more.
        return parts.length === 0 || seq === last || failures > 1
      } catch (error) {
        if (signal.aborted || !isFault(error) || !error.retryable) throw error
        await pause(failures)
      }
    }
  }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}
