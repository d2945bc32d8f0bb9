/** Small HTTP and TCP servers that stand in for services of others. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import net from 'node:net'

export interface FakeAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: object | string
}

export interface FakeService extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The requests so far: method and path, with the headers. */
  readonly calls: { readonly line: string; readonly headers: IncomingMessage['headers'] }[]
}

/** Starts a service. A request without an answer gets 404. */
export async function startFakeService(
  answer: (line: string, headers: IncomingMessage['headers']) => FakeAnswer | undefined,
): Promise<FakeService> {
  const calls: FakeService['calls'] = []
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`
    calls.push({ line, headers: request.headers })
    request.resume()
    const { status, headers = {}, body = '' } = answer(line, request.headers) ?? { status: 404 }
    const isText = typeof body === 'string'
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers })
    response.end(isText ? body : JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const port = portOf(server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts a TCP server that greets each connection with a text. */
export async function startGreeter(text: string): Promise<AsyncDisposable & { readonly port: number }> {
  const open = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    socket.write(text)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: portOf(server),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function portOf(server: net.Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}
