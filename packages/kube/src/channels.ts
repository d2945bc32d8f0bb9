/**
 * The streams of a command over one WebSocket, in the subprotocols `v5.channel.k8s.io` and `v4.channel.k8s.io`: the first byte of a message is the
 * number of its channel. Only v5 can close stdin; it needs Kubernetes 1.30.
 */
import { Readable, Writable } from 'node:stream'
import { callbackify } from 'node:util'
import { fault, parseJson, ticks, type Clock } from '@windlass/kit'
import type { RawData, WebSocket } from 'ws'

export const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, result: 3, resize: 4, close: 255 } as const
/** Maximum bytes of stdin per message. The API server accepts 32 MiB. */
const FRAME_BYTES = 64 * 1024
/** Bytes of a stream that are kept for a slow reader before the connection is paused. */
const BUFFER_BYTES = 256 * 1024
/** Maximum size of the result, which is a short `Status`. */
const RESULT_BYTES = 64 * 1024
/** Keeps the connection open in load balancers that close idle ones. */
const PING_MS = 10_000
/** A connection without any message or pong for this long is lost. */
const SILENCE_MS = 60_000

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface Channels {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  resize(size: TerminalSize): void
  /** Resolves with the message of the result channel, a `Status`, when all output is passed on to the streams. */
  readonly result: Promise<unknown>
}

export interface ChannelsOptions {
  /** Opened and paused. */
  readonly socket: WebSocket
  /** Without it, stdin is destroyed from the start. */
  readonly stdin: boolean
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
}

/** Takes over a socket. Whatever ends it rejects `result` and destroys the streams, unless the result has arrived. */
export function openChannels(options: ChannelsOptions): Channels {
  return new SocketChannels(options)
}

class SocketChannels implements Channels {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly result: Promise<unknown>
  readonly #socket: WebSocket
  readonly #clock: Clock
  readonly #settled = Promise.withResolvers<unknown>()
  readonly #over = new AbortController()
  /** Streams whose reader is behind. */
  readonly #full = new Set<Readable>()
  readonly #result = new ObjectText()
  #heardAt: number
  /** True while the API server has not answered anything since bytes were written to stdin: it does not read pings while the command reads nothing. */
  #hasUnheardStdin = false

  constructor({ socket, stdin, signal, clock }: ChannelsOptions) {
    this.#socket = socket
    this.#clock = clock
    this.#heardAt = clock.monotonic()
    this.result = this.#settled.promise
    this.result.catch(() => undefined)
    this.stdout = this.#output()
    this.stderr = this.#output()
    this.stdin = new Writable({
      highWaterMark: BUFFER_BYTES,
      decodeStrings: true,
      write: (chunk: Buffer, _, done) => callbackify(() => this.#write(chunk))(done),
      final: (done) => callbackify(() => this.#endStdin())(done),
    })
    // The streams fail with the connection, and `result` rejects. A caller that does not use one of them need not listen to its errors.
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.on('error', () => undefined)
    socket.on('message', (data) => this.#hear(() => this.#read(data)))
    socket.on('pong', () => this.#hear(() => undefined))
    socket.on('error', (error) => this.#fail(lost(error.message, error)))
    socket.on('close', (code, reason) => this.#close(code, reason.toString()))
    const abort = (): void => this.#fail(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    this.#over.signal.addEventListener('abort', () => signal?.removeEventListener('abort', abort), { once: true })
    if (!stdin) this.stdin.destroy()
    if (signal?.aborted === true) abort()
    else if (socket.readyState === socket.CLOSED) this.#close(1006, '')
    else socket.resume()
    void this.#ping()
  }

  resize({ columns, rows }: TerminalSize): void {
    if (this.#over.signal.aborted) return
    this.#socket.send(frame(CHANNEL.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))))
  }

  #output(): Readable {
    const stream: Readable = new Readable({
      highWaterMark: BUFFER_BYTES,
      read: () => this.#release(stream),
      destroy: (error, done) => {
        // Its further bytes are dropped, and it does not hold up the other one.
        this.#release(stream)
        done(error)
      },
    })
    return stream
  }

  #release(stream: Readable): void {
    if (!this.#full.delete(stream) || this.#full.size > 0) return
    this.#heardAt = this.#clock.monotonic()
    this.#socket.resume()
  }

  #push(stream: Readable, bytes: Buffer): void {
    if (bytes.length === 0 || stream.destroyed || stream.push(bytes)) return
    this.#full.add(stream)
    this.#socket.pause()
  }

  #hear(handle: () => void): void {
    this.#heardAt = this.#clock.monotonic()
    this.#hasUnheardStdin = false
    handle()
  }

  #read(data: RawData): void {
    const message = toBuffer(data)
    const payload = message.subarray(1)
    if (message[0] === CHANNEL.stdout) this.#push(this.stdout, payload)
    else if (message[0] === CHANNEL.stderr) this.#push(this.stderr, payload)
    else if (message[0] === CHANNEL.result && payload.length > 0) this.#readResult(payload)
  }

  /** The result may come in several messages. It is complete when its object ends. */
  #readResult(part: Buffer): void {
    if (this.#over.signal.aborted) return
    if (this.#result.bytes + part.length > RESULT_BYTES)
      return this.#fail(lost(`the result has more than ${RESULT_BYTES / 1024} KiB`))
    if (!this.#result.push(part)) return
    const result = parseJson(this.#result.text())
    if (result === undefined) return this.#fail(lost('the result is not JSON'))
    this.#over.abort()
    this.#settled.resolve(result)
    this.stdout.push(null)
    this.stderr.push(null)
    this.stdin.destroy()
    this.#socket.close(1000)
  }

  #close(code: number, reason: string): void {
    this.#fail(lost(reason === '' ? `close code ${code}` : `${reason} (close code ${code})`))
  }

  /** Ends everything with an error. Does nothing after the result. */
  #fail(error: unknown): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#settled.reject(error)
    const cause = error instanceof Error ? error : new Error(String(error))
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy(cause)
    this.#socket.terminate()
  }

  async #write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#socket.send(frame(CHANNEL.stdin, bytes.subarray(at, at + FRAME_BYTES)), (error) =>
        error ? reject(error) : resolve(),
      )
      await promise
      this.#hasUnheardStdin = true
    }
  }

  async #endStdin(): Promise<void> {
    if (this.#over.signal.aborted) return
    if (this.#socket.protocol === PROTOCOLS[0]) return this.#socket.send(Buffer.from([CHANNEL.close, CHANNEL.stdin]))
    const message = 'The Kubernetes API cannot close the stdin of a command, which would then wait forever.'
    const error = fault('cluster-refused', { message, hint: 'Use Kubernetes 1.30 or later.' })
    this.#fail(error)
    throw error
  }

  async #ping(): Promise<void> {
    for await (const n of ticks(PING_MS, { clock: this.#clock, signal: this.#over.signal })) {
      if (n === 0) continue
      const isDeaf = this.#full.size > 0 || this.#hasUnheardStdin
      if (!isDeaf && this.#clock.monotonic() - this.#heardAt > SILENCE_MS)
        this.#fail(lost(`no answer to a ping within ${SILENCE_MS / 1000} s`))
      else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    }
  }
}

/** Collects the text of a JSON object, and finds its end without parsing it again for each part. */
class ObjectText {
  bytes = 0
  readonly #parts: Buffer[] = []
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** Adds a part. Returns true if the object ends in it. */
  push(part: Buffer): boolean {
    this.bytes += part.length
    this.#parts.push(part)
    // The characters that count are single bytes in UTF-8, and no byte of another character equals them.
    return part.some((byte) => this.#isEnd(String.fromCharCode(byte)))
  }

  text(): string {
    return Buffer.concat(this.#parts).toString('utf8')
  }

  #isEnd(character: string): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === '"') this.#isInString = !this.#isInString
    else if (this.#isInString) this.#isEscaped = character === '\\'
    else if (character === '{') this.#depth += 1
    else if (character === '}') this.#depth -= 1
    else return false
    return character === '}' && !this.#isInString && this.#depth <= 0
  }
}

function frame(channel: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([channel]), bytes])
}

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}

function lost(cause: string, error?: unknown): Error {
  const message = `The connection to a command in the cluster was lost: ${cause}. The command may still run.`
  return fault('cluster-unreachable', { message }, error)
}
