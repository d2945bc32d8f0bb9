/** Connects terminals to the server: output is sent in numbered parts, input arrives over a stream that is held open. */
import { backoffMs, endsWork, isFault, isRefusal, type Clock, type Logger } from '@windlass/kit'
import { engineCalls, type EngineCalls } from '@windlass/client/engine'
import { MAX_TERMINAL_BYTES, TerminalPart, type Client, type TerminalEnd, type TerminalOutput } from '@windlass/protocol'
import type { Terminal } from '../debug/terminal.ts'
import type { DebugLink } from '../debug/link.ts'

export interface TerminalLinkOptions {
  /** Has the attempt token. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const BACKOFF = { baseMs: 100, maxMs: 3_000 }
/** The server holds a call while a viewer is slow. Milliseconds. */
const HELD_MS = 45_000
/** Maximum output that waits to be sent; above it the process in the terminal is blocked. Bytes. */
const MAX_WAITING_BYTES = 262_144
/** Input is acknowledged with output. Without output, it is acknowledged after this many parts. */
const MAX_UNACKED = 50

export function terminalLink(options: TerminalLinkOptions): DebugLink {
  return {
    async serve(id, opened) {
      const connection = new TerminalConnection(options, id)
      try {
        await connection.run(await opened)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        await connection
          .send({ end: { message } })
          .catch((cause: unknown) => options.log.warn({ err: cause, terminal: id }, 'terminal is lost'))
      }
    },
  }
}

class TerminalConnection {
  readonly #options: TerminalLinkOptions
  readonly #server: EngineCalls
  readonly #id: string
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
    this.#server = engineCalls(options.client)
    this.#id = id
  }

  async run(terminal: Terminal): Promise<void> {
    const signal = AbortSignal.any([this.#options.signal, this.#over.signal])
    const typing = this.#receiveInput(terminal, signal)
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

  /** Sends one part, with retries until the server has it. Rejects if the server refuses it. */
  async send(part: Pick<TerminalOutput, 'output' | 'end'>): Promise<void> {
    const { clock, signal } = this.#options
    this.#seq += 1
    for (let n = 1; ; n += 1) {
      const ackSeq = this.#typed
      const body: TerminalOutput = { seq: this.#seq, ackSeq, ...part }
      try {
        await this.#server.sendOutput(this.#id, body, { signal, timeoutMs: HELD_MS })
        this.#acked = ackSeq
        return
      } catch (error) {
        if (signal.aborted || !isFault(error) || isOver(error)) throw error
        await clock.sleep(backoffMs(BACKOFF, n), signal)
      }
    }
  }

  async #read(terminal: Terminal): Promise<void> {
    for await (const bytes of terminal.output) {
      this.#waiting.push(bytes)
      this.#waitingBytes += bytes.length
      this.#news.resolve()
      while (this.#waitingBytes > MAX_WAITING_BYTES) {
        this.#room = Promise.withResolvers()
        await this.#room.promise
      }
    }
  }

  /** Sends output. Output that arrives during a call is sent with the next one. */
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
      else if (this.#typed - this.#acked > MAX_UNACKED) await this.send({})
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

  async #receiveInput(terminal: Terminal, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    for (let misses = 0; !signal.aborted; misses += 1) {
      try {
        const query = { after: this.#typed }
        for await (const { event, data, id } of this.#server.followTerminal(this.#id, { query, signal })) {
          if (event === 'end') return
          misses = 0
          const seq = Number(id)
          if (seq <= this.#typed) continue
          await applyInput(terminal, TerminalPart.parse(JSON.parse(data)))
          this.#typed = seq
          if (this.#typed - this.#acked > MAX_UNACKED) this.#news.resolve()
        }
      } catch (error) {
        if (signal.aborted) return
        log.debug({ err: error, misses }, 'terminal input failed')
        if (isOver(error)) return
      }
      await clock.sleep(backoffMs(BACKOFF, misses + 1), signal).catch(() => undefined)
    }
  }
}

async function applyInput(terminal: Terminal, part: TerminalPart): Promise<void> {
  if ('keys' in part) terminal.write(Buffer.from(part.keys, 'base64'))
  else await terminal.resize(part)
}

async function endOf(terminal: Terminal): Promise<TerminalEnd> {
  return terminal.ended.then(
    (exitCode) => ({ exitCode }),
    (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
  )
}

/** Returns true if the server closed the terminal, or the attempt has ended. */
function isOver(error: unknown): boolean {
  return isRefusal(error) || endsWork('attempt', error)
}
