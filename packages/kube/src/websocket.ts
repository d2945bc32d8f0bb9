/** Opens WebSockets to the API server. Uses `ws`, because the WebSocket of Node takes neither a CA nor a client certificate nor headers. */
import { defined, fault, readText } from '@windlass/kit'
import type { WebSocket } from 'ws'
import type { ClusterAccess } from './config.ts'
import { connectionOf } from './connection.ts'
import { toAnswer, type KubeAnswer } from './http.ts'

export interface SocketRequest {
  /** Path with query. */
  readonly path: string
  /** Subprotocols, the preferred one first. */
  readonly protocols: readonly string[]
  readonly signal?: AbortSignal | undefined
}

const HANDSHAKE_MS = 30_000
/** Maximum size of a message; those of the API server have at most 32 KiB. Bytes. */
const MAX_MESSAGE = 16 * 1024 * 1024
/** Maximum size of an answer that is not an upgrade, which is a short `Status`. Bytes. */
const MAX_REFUSAL = 1024 * 1024

/**
 * Opens a WebSocket, which is paused. Returns the answer of the API server instead if that is not an upgrade. Throws `cluster-unreachable` if there
 * is no answer, or the reason of the signal. After it has returned, the signal has no effect.
 */
export async function openSocket(access: ClusterAccess, request: SocketRequest): Promise<WebSocket | KubeAnswer> {
  const { path, protocols, signal } = request
  signal?.throwIfAborted()
  // Loaded on demand: most processes never open one.
  const { WebSocket: Socket } = await import('ws')
  const { tls, headers } = connectionOf(access)
  const address = access.server.replace(/^http/, 'ws').replace(/\/+$/, '') + path
  const socket = new Socket(address, [...protocols], {
    ...(tls && { ...defined({ ca: tls.ca, cert: tls.cert, key: tls.key }), rejectUnauthorized: !tls.insecure }),
    headers: headers(),
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE,
    perMessageDeflate: false,
  })
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket | KubeAnswer>()
  const abort = (): void => {
    reject(signal?.reason)
    socket.terminate()
  }
  signal?.addEventListener('abort', abort, { once: true })
  socket.once('open', () => {
    // Messages that arrive before the caller listens would be lost.
    socket.pause()
    resolve(socket)
  })
  socket.once('unexpected-response', (call, response) => {
    const tooLarge = (): Error =>
      fault('cluster-unreachable', {
        message: `The Kubernetes API at ${access.server} sent more than 1 MiB instead of a WebSocket.`,
      })
    readText(response, MAX_REFUSAL, tooLarge)
      .then((body) => resolve(toAnswer(response, body)), reject)
      .finally(() => call.destroy())
  })
  socket.on('error', (error) => {
    const message = `The Kubernetes API at ${access.server} does not answer: ${error.message}.`
    reject(fault('cluster-unreachable', { message }, error))
  })
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
