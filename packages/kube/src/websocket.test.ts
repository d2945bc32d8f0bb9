import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLog } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openKube } from './index.ts'

const pod = { kind: 'Pod', namespace: 'ci', name: 'build' } as const

test.each([
  [404, '{"kind":"Status","message":"pods \\"build\\" not found","code":404}', { code: 'not-found' }],
  [403, '{"kind":"Status","message":"pods \\"build\\" is forbidden","code":403}', { code: 'cluster-refused' }],
  [502, '<html>bad gateway</html>', { code: 'cluster-unreachable' }],
])('reports the answer %i to the connection like that to a call', async (status, body, expected) => {
  const server = createServer()
  server.on('upgrade', (_, socket) => {
    socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const kube = openKube({ access: { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'ci' }, log: silentLog })
  await expect(kube.exec(pod, { command: ['x'] })).rejects.toMatchObject(expected)
  server.close()
})

test('does not read an endless answer to the connection', async () => {
  const server = createServer()
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => undefined)
    socket.write(`HTTP/1.1 403 No\r\ncontent-length: 100000000\r\n\r\n${'x'.repeat(2_000_000)}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const kube = openKube({ access: { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'ci' }, log: silentLog })
  const started = kube.exec(pod, { command: ['x'] })
  await expect(started).rejects.toMatchObject({
    code: 'cluster-unreachable',
    message: expect.stringContaining('more than 1 MiB'),
  })
  server.close()
})
