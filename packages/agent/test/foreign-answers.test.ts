/** Connections that reach something other than the server, for example while a Service of Kubernetes has no server behind it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net'
import { openClient } from '@windlass/client'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import { openFakeCluster } from '../../../e2e/support/fake-engines/index.ts'
import { startAgent } from '../src/index.ts'

/** Opens a port that leads to a foreign server until `isForeign` is false; open connections keep their destination. */
async function openCrossing(serverUrl: string, answer: { status: number; body: string }) {
  const foreign = createServer((_, response) =>
    response.writeHead(answer.status, { 'content-type': 'text/html' }).end(answer.body),
  )
  foreign.listen(0, '127.0.0.1')
  await once(foreign, 'listening')
  const state = { isForeign: true, answered: 0 }
  foreign.on('request', () => (state.answered += 1))
  const crossing = createTcpServer((client) => {
    const port = state.isForeign ? (foreign.address() as AddressInfo).port : Number(new URL(serverUrl).port)
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.pipe(server).pipe(client)
    client.once('close', () => server.destroy())
    server.once('close', () => client.destroy())
  })
  crossing.listen(0, '127.0.0.1')
  await once(crossing, 'listening')
  return {
    state,
    url: `http://127.0.0.1:${(crossing.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      crossing.close()
      foreign.closeAllConnections()
      foreign.close()
    },
  }
}

test.each([
  ['an error', { status: 404, body: '' }],
  ['a page', { status: 200, body: '<html>Welcome</html>' }],
])('opens a new connection for the call after %s of a foreign server', async (_, answer) => {
  await using scene = await openHttpScene()
  await using crossing = await openCrossing(scene.server.url, answer)
  const client = openClient({ url: crossing.url, token: scene.adminToken, transport: nodeTransport() })
  await expect(client.builds.list()).rejects.toMatchObject({ details: { foreign: true } })
  crossing.state.isForeign = false
  expect(await client.builds.list()).toEqual({ items: [] })
})

test('finds its server after foreign answers as soon as a new connection leads there', async () => {
  await using scene = await openHttpScene()
  await using crossing = await openCrossing(scene.server.url, { status: 404, body: '' })
  const cluster = openFakeCluster({ transport: nodeTransport(), clock: systemClock, log: silentLog })
  const client = openClient({ url: crossing.url, token: scene.agentToken, transport: nodeTransport() })
  const agent = startAgent({
    client,
    executor: cluster.executor,
    clock: systemClock,
    log: silentLog,
    waitMs: 2_000,
    sweepMs: 200,
  })
  try {
    while (crossing.state.answered < 3) await systemClock.sleep(20)
    crossing.state.isForeign = false
    await agent.ready
  } finally {
    await agent.close(0)
    await cluster.close()
  }
})
