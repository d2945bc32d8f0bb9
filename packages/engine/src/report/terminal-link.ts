/** Carries terminals over to the server: what they show goes out in numbered parts, what is typed comes over a stream held open. */
import { backoffMs, isFault, type Clock, type Logger } from '@windlass/kit'
import {
  MAX_TERMINAL_BYTES,
  TerminalOutputAck,
  TerminalPart,
  type Client,
  type TerminalEnd,
  type TerminalOutput,
} from '@windlass/protocol'
import type { DebugLink } from '../debug/debugger.ts'
import type { Terminal } from '../debug/terminal.ts'

export interface TerminalLinkOptions {
  /** Carries the attempt token. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const AWAY = { baseMs: 100, maxMs: 3_000 }
/** The server holds a call while whoever looks is slow. */
const HELD_MS = 45_000
/** Output that waits to be sent; the process in the terminal waits beyond. */
const MOST_WAITING = 262_144
/** Input is acknowledged with output; where none comes, after so many parts. */
const MOST_UNACKED = 50

export function terminalLink(options: TerminalLinkOptions): DebugLink {
  return {
    async serve(id, opened) {
      const carrier = new Carrier(options, id)
      try {
        await carrier.carry(await opened)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        await carrier
          .send({ end: { message } })
          .catch((cause: unknown) => options.log.warn({ err: cause, terminal: id }, 'terminal is lost'))
      }
    },
  }
}

class Carrier {
  readonly #options: TerminalLinkOptions
  readonly #path: string
  /** Aborted when the terminal has ended. */
  readonly #over = new AbortController()
  #seq = 0
  #typed = 0
  #acked = 0
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #news = Promise.withResolvers<void>()
  #room = Promise.withResolvers<void>()

  constructor(options: TerminalLinkOptions, id: string) {
    this.#options = options
    this.#path = `/v1/engine/terminals/${id}`
  }

  async carry(terminal: Terminal): Promise<void> {
    const signal = AbortSignal.any([this.#options.signal, this.#over.signal])
    const typing = this.#type(terminal, signal)
    const read = this.#read(terminal)
    read.catch(() => undefined)
    try {
      await this.#sendAll(read)
      await this.send({ end: await endOf(terminal) })
    } finally {
      this.#over.abort()
      await typing
    }
  }

  /** One part, again and again until the server has it. Rejects when the server does not want it. */
  async send(part: Pick<TerminalOutput, 'output' | 'end'>): Promise<void> {
    const { client, clock, signal } = this.#options
    this.#seq += 1
    for (let n = 1; ; n += 1) {
      const ackSeq = this.#typed
      const body: TerminalOutput = { seq: this.#seq, ackSeq, ...part }
      try {
        await client.call('POST', `${this.#path}/output`, TerminalOutputAck, { body, signal, timeoutMs: HELD_MS })
        this.#acked = ackSeq
        return
      } catch (error) {
        if (signal.aborted || !isFault(error) || !error.retryable) throw error
        await clock.sleep(backoffMs(AWAY, n), signal)
      }
    }
  }

  async #read(terminal: Terminal): Promise<void> {
    for await (const bytes of terminal.output) {
      this.#waiting.push(bytes)
      this.#waitingBytes += bytes.length
      this.#news.resolve()
      while (this.#waitingBytes > MOST_WAITING) {
        this.#room = Promise.withResolvers()
        await this.#room.promise
      }
    }
  }

  /** What gathers while a part is on its way goes out with the next one. */
  async #sendAll(read: Promise<void>): Promise<void> {
    let isRead = false
    const done = read.finally(() => {
      isRead = true
      this.#news.resolve()
    })
    done.catch(() => undefined)
    for (;;) {
      this.#news = Promise.withResolvers()
      if (this.#waitingBytes > 0) await this.send({ output: this.#take().toString('base64') })
      else if (this.#typed - this.#acked > MOST_UNACKED) await this.send({})
      else if (isRead) return done
      else await this.#news.promise
    }
  }

  #take(): Buffer {
    const all = this.#waiting.length === 1 && this.#waiting[0] !== undefined ? this.#waiting[0] : Buffer.concat(this.#waiting)
    const part = all.subarray(0, MAX_TERMINAL_BYTES)
    this.#waiting = part.length < all.length ? [all.subarray(part.length)] : []
    this.#waitingBytes -= part.length
    this.#room.resolve()
    return part
  }

  async #type(terminal: Terminal, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#options
    for (let misses = 0; !signal.aborted; misses += 1) {
      try {
        for await (const { event, data, id } of client.events(`${this.#path}/input`, { query: { after: this.#typed }, signal })) {
          if (event === 'end') return
          misses = 0
          const seq = Number(id)
          if (seq <= this.#typed) continue
          await press(terminal, TerminalPart.parse(JSON.parse(data)))
          this.#typed = seq
          if (this.#typed - this.#acked > MOST_UNACKED) this.#news.resolve()
        }
      } catch (error) {
        if (signal.aborted) return
        log.debug({ err: error, misses }, 'keys of a terminal do not arrive')
        if (isFault(error) && !error.retryable) return
      }
      await clock.sleep(backoffMs(AWAY, misses + 1), signal).catch(() => undefined)
    }
  }
}

async function press(terminal: Terminal, part: TerminalPart): Promise<void> {
  if ('keys' in part) terminal.write(Buffer.from(part.keys, 'base64'))
  else await terminal.resize(part)
}

async function endOf(terminal: Terminal): Promise<TerminalEnd> {
  return terminal.ended.then(
    (exitCode) => ({ exitCode }),
    (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
  )
}
