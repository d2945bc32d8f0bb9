/** A forwarder that makes a loopback port of this machine reachable at another address, for pods. */
import { once } from 'node:events'
import net from 'node:net'

export interface Forwarder extends AsyncDisposable {
  /** The port at the address on which it listens. */
  readonly port: number
  /** Resets all connections, and returns their number. New ones are accepted. */
  cut(): number
}

/** Listens on a free port of `host` and forwards every connection to a loopback port. Disposing it closes all connections. */
export async function forwardPort(host: string, target: number): Promise<Forwarder> {
  const open = new Set<net.Socket>()
  const server = net.createServer((near) => {
    const far = net.connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the forwarder has no port')
  return {
    port: address.port,
    cut() {
      const sockets = [...open]
      for (const socket of sockets) socket.resetAndDestroy()
      // Each connection has a socket on both sides.
      return sockets.length / 2
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
