/** Opens the WebSocket of a tunnel, through a proxy if one is set. */
import type { IncomingMessage } from 'node:http'
import {
  defined,
  explainUnreachable,
  fault,
  hideLogin,
  isFaultCode,
  isLoopback,
  isTlsCode,
  openAgent,
  parseJson,
  proxyOf,
  readText,
  rootError,
  secureContextWith,
  type Fault,
  type ProxySettings,
} from '@windlass/kit'
import { WebSocket } from 'ws'
import { z } from 'zod'
import { HELLO, MAX_MESSAGE, STANDBY_MS, SUBPROTOCOL, TUNNEL_PATH } from '../protocol.ts'

/** Maximum time until the WebSocket is open: names, connection, proxy, TLS and the answer. Milliseconds. */
const HANDSHAKE_MS = 10_000
/** Maximum size of an answer that is not an upgrade. Bytes. */
const MAX_REFUSAL = 65_536

export interface DialOptions {
  /** Base URL of the server of the tunnel. */
  readonly server: URL
  readonly token: string
  readonly runtime: string
  /** Random per process. */
  readonly clientId: string
  readonly version: string
  /** True to wait for the place of another client. */
  readonly waits: boolean
  /** PEM of certificate authorities that are trusted besides the default ones. */
  readonly ca?: string | undefined
  readonly proxy: ProxySettings
  readonly signal: AbortSignal
  /** True to ask only whether the client could connect. Default: false. */
  readonly isCheck?: boolean
}

/**
 * Returns the open WebSocket. `prepare` is called in the moment in which it opens, before any message. Throws the fault that the server answered with,
 * `proxy-answered` for an answer of something else, `server-unreachable`, or the reason of the signal.
 */
export async function dial(options: DialOptions, prepare: (socket: WebSocket) => void): Promise<void> {
  const { server, signal, waits } = options
  const limitMs = HANDSHAKE_MS + (waits ? STANDBY_MS : 0)
  signal.throwIfAborted()
  const isSecure = server.protocol === 'https:'
  const address = new URL(`${server.pathname.replace(/\/+$/, '')}${TUNNEL_PATH}`, server)
  address.protocol = isSecure ? 'wss:' : 'ws:'
  const proxy = proxyOf(server, options.proxy)
  // Each connection resolves the name again.
  const agent = openAgent({
    ...(isSecure && { tls: { context: secureContextWith(defined({ ca: options.ca })) } }),
    ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }, connectMs: HANDSHAKE_MS }),
  })
  const socket = new WebSocket(address, [SUBPROTOCOL], {
    agent,
    headers: {
      authorization: `Bearer ${options.token}`,
      [HELLO.runtime]: options.runtime,
      [HELLO.client]: options.clientId,
      [HELLO.version]: options.version,
      ...(waits && { [HELLO.standby]: '1' }),
      ...(options.isCheck === true && { [HELLO.check]: '1' }),
    },
    handshakeTimeout: limitMs,
    maxPayload: MAX_MESSAGE,
    perMessageDeflate: false,
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => {
    reject(signal.reason)
    socket.terminate()
  }
  signal.addEventListener('abort', abort, { once: true })
  // A proxy that does not answer is not covered by the timeout of the WebSocket.
  const late = setTimeout(() => {
    reject(unreachable(new Error(`no answer within ${limitMs} ms`), server))
    socket.terminate()
  }, limitMs)
  socket.on('error', (error) => reject(unreachable(error, server)))
  socket.once('unexpected-response', (call, response) => {
    void readRefusal(response, server)
      .then(reject, reject)
      .finally(() => call.destroy())
  })
  socket.once('open', () => {
    prepare(socket)
    resolve()
  })
  try {
    await promise
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', abort)
  }
}

const TRUST = 'Name the CA of the server with `--ca-file` (WINDLASS_TUNNEL_CA_PATH).'
const LISTENS = 'Check that a server listens for tunnels at this address.'

function unreachable(error: unknown, server: URL): Fault {
  const { cause, hint: known } = explainUnreachable(error, server.href)
  const { code } = rootError(error)
  const isTls = isTlsCode(code)
  const hint = isTls ? TRUST : isLoopback(server.href) ? LISTENS : known
  // Node puts the login of a proxy into the message of a refused tunnel.
  const message = `The server of the tunnel cannot be reached: ${hideLogin(cause)}.`
  // Where the connection ended, for checks.
  const at = isTls ? 'TLS' : code === 'ERR_PROXY_TUNNEL' ? 'proxy' : undefined
  return fault('server-unreachable', { message, hint, ...defined({ at }) })
}

const Problem = z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() })

/** Returns the fault of an answer that is not an upgrade. */
async function readRefusal(response: IncomingMessage, server: URL): Promise<Fault> {
  const foreign = (): Fault =>
    fault('proxy-answered', {
      message: `${server.host} answered with the status ${response.statusCode} and not as a server of tunnels.`,
      hint: 'Check the URL, and every proxy and load balancer on the way: they must allow WebSockets.',
    })
  const text = await readText(response, MAX_REFUSAL, foreign)
  const { data } = Problem.safeParse(parseJson(text))
  if (data === undefined || !isFaultCode(data.code)) return foreign()
  const seconds = Number(response.headers['retry-after'])
  return fault(data.code, {
    message: data.detail,
    ...defined({ hint: data.hint, retryAfter: seconds > 0 ? seconds : undefined }),
  })
}
