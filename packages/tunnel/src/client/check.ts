/** Asks a server of tunnels whether a client could connect, on the way that the client would take. Nothing changes at the server. */
import { randomUUID } from 'node:crypto'
import { fault, type Clock } from '@windlass/kit'
import type { WebSocket } from 'ws'
import { readServerMessage, type Checked } from '../protocol.ts'
import { dial, type DialOptions } from './dial.ts'
import { readToken } from './token-source.ts'
import type { TunnelClientOptions } from './tunnel-client.ts'

/** Time for the answer, and for the ping after it. Milliseconds. */
const ANSWER_MS = 10_000

export interface TunnelCheck extends Omit<Checked, 'type'> {
  /** Time of a ping and its answer through the WebSocket. Milliseconds. */
  readonly roundTripMs: number
}

/**
 * Opens a WebSocket with the token, and closes it. Throws the faults of `dial`, `config-invalid` for a file without a token, and `protocol-unsupported` for a server that
 * does not know checks.
 */
export async function checkTunnel(
  options: Pick<TunnelClientOptions, 'server' | 'runtime' | 'tokenFile' | 'version' | 'ca' | 'proxy' | 'clock'>,
): Promise<TunnelCheck> {
  const { clock } = options
  const over = new AbortController()
  const asked: DialOptions = {
    ...options,
    token: readToken(options.tokenFile),
    clientId: randomUUID(),
    signal: over.signal,
    waits: false,
    isCheck: true,
  }
  const open = Promise.withResolvers<WebSocket>()
  const checked = Promise.withResolvers<Checked>()
  await dial(asked, (socket) => {
    socket.on('message', (data, isBinary) => {
      const message = isBinary || !Buffer.isBuffer(data) ? undefined : readServerMessage(data.toString())
      if (message?.type === 'checked') checked.resolve(message)
    })
    open.resolve(socket)
  })
  const socket = await open.promise
  try {
    const { type: _type, ...answer } = await within(clock, checked.promise)
    const sentAt = clock.monotonic()
    const pong = Promise.withResolvers<void>()
    socket.once('pong', () => pong.resolve())
    socket.ping()
    await within(clock, pong.promise)
    return { ...answer, roundTripMs: Math.max(0, clock.monotonic() - sentAt) }
  } finally {
    over.abort()
    socket.close(1000)
    socket.terminate()
  }
}

/** Throws `protocol-unsupported` if nothing arrives in time. */
async function within<T>(clock: Clock, arriving: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = clock.sleep(ANSWER_MS, over.signal).then(
    () => undefined,
    () => undefined,
  )
  const arrived = await Promise.race([arriving.then((value) => ({ value })), late])
  over.abort()
  if (arrived !== undefined) return arrived.value
  throw fault('protocol-unsupported', {
    message: 'The WebSocket opens, and the server does not answer the check.',
    hint: 'Upgrade the server, or check the proxies on the way: they must pass messages of WebSockets on at once.',
  })
}
