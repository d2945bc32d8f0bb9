/** A way to a server that can be closed, as a Service without pods is: connections are refused then. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface Relay extends AsyncDisposable {
  /** Has the path of the server. */
  readonly url: string
  /** Refuses connections, and ends those that are open. */
  close(): Promise<void>
  /** Listens again, on the same port. */
  open(): Promise<void>
}

export async function openRelay(target: URL): Promise<Relay> {
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let port = 0

  function pass(socket: Socket): void {
    const other = connect({ host: target.hostname, port: Number(target.port) })
    for (const one of [socket, other]) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.once('close', () => {
        sockets.delete(one)
        for (const each of [socket, other]) each.destroy()
      })
    }
    socket.pipe(other).pipe(socket)
  }

  async function open(): Promise<void> {
    server = createServer(pass)
    await once(server.listen(port, '127.0.0.1'), 'listening')
    const address = server.address()
    port = typeof address === 'object' && address !== null ? address.port : port
  }

  async function close(): Promise<void> {
    const closed = server
    server = undefined
    for (const socket of sockets) socket.destroy()
    if (closed !== undefined) await new Promise((resolve) => closed.close(resolve))
  }

  await open()
  const path = target.pathname.replace(/\/$/, '')
  return { url: `http://127.0.0.1:${port}${path}`, open, close, [Symbol.asyncDispose]: close }
}
