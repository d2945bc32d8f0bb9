/** Refused upgrades, of clients that keep their side of the connection open. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { refuseUpgrade } from './refuse-upgrade.ts'

test('closes the connection of a refused upgrade although the client does not', async () => {
  const server = createServer()
  server.on('upgrade', (_, socket) => refuseUpgrade(socket, 503))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const client = connect({ host: '127.0.0.1', port: port ?? 0, allowHalfOpen: true })
  onTestFinished(() => void client.destroy())
  let answer = ''
  client.on('data', (part: Buffer) => {
    answer += part.toString()
  })
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore')
  await once(client, 'end')
  expect(answer).toBe('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  // Resolves when no connection is left.
  await new Promise((resolve) => server.close(resolve))
  expect(client.writable).toBe(true)
})
