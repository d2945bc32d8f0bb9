import { once } from 'node:events'
import http from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { watchUnused } from './unused-connections.ts'

async function openConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

test('a server that closes does not wait for a connection that has sent nothing, and answers a call in progress', async () => {
  const { promise: called, resolve: call } = Promise.withResolvers<http.ServerResponse>()
  const server = http.createServer((_, response) => call(response))
  const closeUnused = watchUnused(server, { hasUpgrades: false })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens has an address of this kind.
  const { port } = server.address() as AddressInfo
  const silent = await openConnection(port)
  const silentText = text(silent)
  const busy = await openConnection(port)
  busy.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  const response = await called
  const closed = new Promise((resolve) => server.close(resolve))
  closeUnused()
  // Node answers a request that is late with 408.
  expect(await silentText).toBe('')
  const busyText = text(busy)
  response.end('done')
  expect(await busyText).toContain('done')
  await closed
})
