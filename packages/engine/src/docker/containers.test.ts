import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock, systemClock, type Clock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { containerCalls, type Containers, type ContainerSpec } from './containers.ts'
import { openHttp } from './http.ts'

const SPEC: ContainerSpec = { image: 'alpine', environment: [], labels: {}, mounts: [], network: 'none', stdin: false }

/** Opens a daemon that loses the first response to a creation and has reserved the name since. `find` answers the reads of the container. */
async function openDaemon(find: () => string | undefined, clock: Clock): Promise<Containers> {
  let creations = 0
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    request.resume().on('end', () => {
      if (request.method === 'POST' && (creations += 1) === 1) return request.socket.resetAndDestroy()
      if (request.method === 'POST') return answer(409, { message: 'Conflict. The container name is already in use' })
      const id = find()
      return id === undefined ? answer(404, { message: 'No such container' }) : answer(200, { Id: id })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const http = openHttp({ kind: 'tcp', host: '127.0.0.1', port, text: 'the test daemon', tls: undefined })
  onTestFinished(() => {
    http.close()
    server.close()
  })
  return containerCalls(http, clock)
}

test('waits for a container whose creation lost its response and is still under way', async () => {
  let reads = 0
  const containers = await openDaemon(() => ((reads += 1) < 3 ? undefined : 'abc'), systemClock)
  expect(await containers.createContainer(SPEC)).toBe('abc')
  expect(reads).toBe(3)
})

test('reports the daemon as unreachable if it reserves a name for longer than ten seconds', async () => {
  const clock = manualClock()
  const containers = await openDaemon(() => undefined, { ...clock, sleep: async () => clock.advance(200) })
  await expect(containers.createContainer(SPEC)).rejects.toMatchObject({ code: 'docker-unreachable' })
})

test.each([
  [3, 'driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker: directory not empty', 'removed'],
  [3, 'the daemon is broken', 'refused'],
  [9, 'device or resource busy', 'refused'],
])('a removal that fails %i times because "%s" is %s in the end', async (failures, message, outcome) => {
  const clock = manualClock()
  let calls = 0
  const server = createServer((request, response) => {
    calls += 1
    const status = calls <= failures ? 500 : 204
    response.writeHead(status, { 'content-type': 'application/json' }).end(status === 500 ? JSON.stringify({ message }) : '')
    request.resume()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const http = openHttp({ kind: 'tcp', host: '127.0.0.1', port, text: 'the test daemon', tls: undefined })
  onTestFinished(() => {
    http.close()
    server.close()
  })
  const removal = containerCalls(http, { ...clock, sleep: async () => undefined }).removeContainer('abc')
  if (outcome === 'removed') await removal
  else await expect(removal).rejects.toMatchObject({ code: 'docker-refused' })
  expect(calls).toBe(outcome === 'removed' ? 4 : message.includes('busy') ? 6 : 1)
})
