/** Refusals of requests for another protocol. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Answers a request for an upgrade with a status and without a body, and closes its connection. Node sets no time limits for the connection of an upgrade, and a
 * server that closes waits for it, so it must not depend on the client that it ends.
 */
export function refuseUpgrade(socket: Duplex, status: number): void {
  socket.once('finish', () => socket.destroy())
  // Bytes that are not read would make the end a reset, which can overtake the answer.
  socket.resume()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
