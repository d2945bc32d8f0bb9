/** A user at the terminal of a job, connected as GitLab does it: over TLS with the certificate and the token of the session. */
import { WebSocket } from 'ws'
import type { SessionOffer } from '../../../packages/gitlab/src/coordinator/job-request.ts'

export interface TerminalClient {
  /** Subprotocol that the server has chosen. */
  readonly subprotocol: string
  /** Output so far. */
  readonly output: string
  /** Resolves with the code when the connection has ended. */
  readonly closed: Promise<number>
  readonly socket: WebSocket
  type(text: string): void
  /** Breaks the connection, as a browser that is closed. */
  leave(): void
}

export interface TerminalOptions {
  /** Default: that of GitLab's page. */
  readonly subprotocols?: readonly string[]
  /** Default: that of the session. */
  readonly token?: string
  /** Path below the session. Default: `/exec`. */
  readonly path?: string
}

/** Opens the terminal. Returns the status of a refusal. Rejects if the server cannot be reached, or its certificate is another one. */
export async function openTerminal(
  { url, certificate, authorization }: SessionOffer,
  { subprotocols = ['terminal.gitlab.com'], token = authorization, path = '/exec' }: TerminalOptions = {},
): Promise<TerminalClient | number> {
  const socket = new WebSocket(`${url.replace(/^https/, 'wss')}${path}`, [...subprotocols], {
    headers: { authorization: token },
    ca: certificate,
  })
  const opened = Promise.withResolvers<TerminalClient | number>()
  const closed = Promise.withResolvers<number>()
  const isText = (): boolean => socket.protocol.startsWith('base64.')
  let output = ''
  socket.on('unexpected-response', (request, response) => {
    opened.resolve(response.statusCode ?? 0)
    request.destroy()
  })
  socket.on('error', (error) => opened.reject(error))
  socket.on('close', (code) => closed.resolve(code))
  socket.on('message', (data: Buffer, isBinary) => {
    output += isBinary ? data.toString() : Buffer.from(data.toString(), 'base64').toString()
  })
  socket.on('open', () =>
    opened.resolve({
      get subprotocol() {
        return socket.protocol
      },
      get output() {
        return output
      },
      closed: closed.promise,
      socket,
      type: (text) => socket.send(isText() ? Buffer.from(text).toString('base64') : Buffer.from(text)),
      leave: () => socket.terminate(),
    }),
  )
  return opened.promise
}

/** Opens the terminal. Throws if it is refused. */
export async function mustOpenTerminal(offer: SessionOffer, options?: TerminalOptions): Promise<TerminalClient> {
  const opened = await openTerminal(offer, options)
  if (typeof opened === 'number') throw new Error(`the terminal was refused with ${opened}`)
  return opened
}
