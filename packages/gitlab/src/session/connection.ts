/** Connects the WebSocket of a user with a shell, until one of both ends. */
import { aborted, ticks, type Clock } from '@windlass/kit'
import type { RawData, WebSocket } from 'ws'
import { decodeInput, encodeOutput, type Subprotocol } from './subprotocol.ts'
import type { Shell, Terminal } from './terminal.ts'

export interface ConnectionOptions {
  readonly socket: WebSocket
  readonly subprotocol: Subprotocol
  readonly terminal: Terminal
  readonly clock: Clock
  /** Aborted when the manager stops. */
  readonly signal: AbortSignal
}

/** What ended a connection, for the log. `error`: the shell could not be opened, or was lost. */
export interface ConnectionEnd {
  readonly by: 'user' | 'shell' | 'job' | 'manager' | 'error'
  readonly error?: unknown
}

/** Keeps connections open in proxies that close idle ones, and finds those whose client is gone. Milliseconds. */
const PING_MS = 30_000
const SILENCE_MS = 90_000

/** Codes of RFC 6455. */
const CLOSE = { normal: 1_000, goingAway: 1_001, unsupported: 1_003, failed: 1_011 } as const

/** What a user reads when a terminal ends in another way than by the shell or the user. */
const TEXTS = {
  job: 'The job has ended.',
  manager: 'The runner stops.',
  error: 'The terminal cannot be opened, or was lost. The log of the runner has the reason.',
} as const

/** Serves a connection. Resolves when it has ended and the job may end. Never rejects. */
export async function serveConnection(options: ConnectionOptions): Promise<ConnectionEnd> {
  const { socket, terminal, clock, signal } = options
  const gone = new AbortController()
  socket.on('error', () => undefined)
  socket.once('close', () => gone.abort())
  if (socket.readyState === socket.CLOSED) gone.abort()
  // Nothing is read until a shell is there for it.
  socket.pause()
  void heartbeat(socket, clock, gone.signal)
  const stop = AbortSignal.any([signal, terminal.over, gone.signal])
  let shell: Shell | undefined
  let end: ConnectionEnd = { by: 'shell' }
  try {
    shell = await terminal.open(stop)
    passInput(options, shell)
    await Promise.race([passOutput(options, shell), aborted(stop)])
  } catch (error) {
    end = { by: 'error', error }
  }
  if (gone.signal.aborted) end = { by: 'user' }
  else if (terminal.over.aborted) end = { by: 'job' }
  else if (signal.aborted) end = { by: 'manager' }
  await closeSocket(options, end.by)
  await shell?.close()
  return end
}

function passInput({ socket, subprotocol }: ConnectionOptions, { input }: Shell): void {
  socket.on('message', (data, isBinary) => {
    const bytes = decodeInput(subprotocol, { data: toBuffer(data), isBinary })
    if (bytes === undefined) return socket.close(CLOSE.unsupported, 'the subprotocol does not have such messages')
    if (input.destroyed || input.write(bytes)) return
    socket.pause()
    input.once('drain', () => socket.resume())
  })
  socket.resume()
}

async function passOutput({ socket, subprotocol }: ConnectionOptions, { output }: Shell): Promise<void> {
  // Streams of the cluster have bytes. The next part is read when this one is on its way, so a slow user slows the shell.
  for await (const chunk of output) await send(socket, encodeOutput(subprotocol, chunk as Buffer))
}

function send(socket: WebSocket, message: Buffer | string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.send(message, (error) => (error ? reject(error) : resolve()))
  return promise
}

async function closeSocket({ socket, subprotocol }: ConnectionOptions, by: ConnectionEnd['by']): Promise<void> {
  if (by === 'job' || by === 'manager' || by === 'error') {
    const text = Buffer.from(`\r\n${TEXTS[by]}\r\n`)
    await send(socket, encodeOutput(subprotocol, text)).catch(() => undefined)
  }
  // A paused connection does not read the answer of the client.
  socket.resume()
  socket.close(by === 'manager' ? CLOSE.goingAway : by === 'error' ? CLOSE.failed : CLOSE.normal)
}

/** Ends a connection whose client does not answer. */
async function heartbeat(socket: WebSocket, clock: Clock, signal: AbortSignal): Promise<void> {
  let heardAt = clock.monotonic()
  const hear = (): void => {
    heardAt = clock.monotonic()
  }
  socket.on('pong', hear).on('message', hear)
  for await (const n of ticks(PING_MS, { clock, signal })) {
    if (n === 0) continue
    // A connection that waits for the shell reads no answers.
    if (socket.isPaused) hear()
    if (clock.monotonic() - heardAt > SILENCE_MS) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.ping()
  }
}

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
