/** Connections to a server that have sent no request. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/**
 * Watches the connections of a server, from before it listens. Returns a function that closes those that have sent no request, for the time when the server
 * closes: Node counts them as active, and would wait until their first request is late, which is more than a minute. Browsers open such connections.
 * `hasUpgrades` tells whether the server takes upgrades: it would get them all with a listener for them.
 */
export function watchUnused(server: Server, { hasUpgrades }: { readonly hasUpgrades: boolean }): () => void {
  const unused = new Set<Socket>()
  const forget = ({ socket }: { readonly socket: Socket }): void => void unused.delete(socket)
  // The requests of a server with TLS have the socket of this event.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', forget)
  if (hasUpgrades) server.on('upgrade', forget)
  return () => {
    for (const socket of unused) socket.destroy()
  }
}
