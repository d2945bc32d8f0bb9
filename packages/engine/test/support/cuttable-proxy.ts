/** A TCP proxy for a socket that can be cut off, like a daemon that dies. */
import { connect, createServer, type Socket } from 'node:net'

export interface CuttableProxy extends AsyncDisposable {
  /** Value for DOCKER_HOST. */
  readonly host: string
  /** Closes every connection and accepts no more. */
  cut(): void
}

export async function startCuttableProxy(path: string, onPort = 0): Promise<CuttableProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((front) => {
    const back = connect(path)
    for (const [from, to] of [
      [front, back],
      [back, front],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
    if (isCut) front.destroy()
  })
  await new Promise<void>((resolve) => server.listen(onPort, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    host: `tcp://127.0.0.1:${port}`,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
      server.close()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
