import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { manualClock, nodeTransport, silentLog } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { chooseProtocol, type ChooseOptions } from './choose-protocol.ts'

type Answer = (response: ServerResponse) => void

const page: Answer = (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no backend</html>')
const problem =
  (status: number, code: string): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/problem+json' }).end(
      JSON.stringify({
        type: `urn:windlass:fault:${code}`,
        title: 'No.',
        detail: 'No.',
        message: 'No.',
        hint: '',
        status,
        code,
      }),
    )
const invalid = problem(400, 'request-invalid')

/** Chooses the protocol for a server that answers each hello with the next answer. */
async function choose(answers: readonly Answer[], heartbeat?: () => Promise<void>): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    answers[Math.min(calls++, answers.length - 1)]?.(response)
  })
  let calls = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const clock = manualClock()
  const client = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, transport: nodeTransport() })
  const platform = heartbeat === undefined ? undefined : { heartbeat }
  const options = { client, platform, memory: { hasSpokenV2: async () => false }, clock, log: silentLog }
  let isOver = false
  try {
    const choice = chooseProtocol(options as unknown as ChooseOptions, new AbortController().signal).finally(
      () => (isOver = true),
    )
    const advance = async (): Promise<void> => {
      for (; !isOver; clock.advance(1_000)) await setImmediate()
    }
    const [chosen] = await Promise.all([choice, advance()])
    return chosen
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a server that refuses an empty hello speaks v2', async () => {
  expect(await choose([invalid])).toBe('v2')
})

test('the page of a proxy decides nothing: the agent asks again until the server answers', async () => {
  expect(await choose([page, page, invalid])).toBe('v2')
  const heartbeat = () => Promise.reject(new Error('no backend'))
  expect(await choose([page, page, invalid], heartbeat)).toBe('v2')
})

test('a platform that does not know the path, and takes a heartbeat, speaks v1', async () => {
  expect(await choose([page], async () => undefined)).toBe('v1')
})

test('a server of v2 behind an ingress that answers the first hello itself speaks v2, although it takes a heartbeat of v1', async () => {
  expect(await choose([page, invalid], async () => undefined)).toBe('v2')
  const unavailable = problem(503, 'unavailable')
  expect(await choose([page, unavailable, invalid], async () => undefined)).toBe('v2')
})

test('an agent without an id cannot use v1', async () => {
  await expect(choose([problem(404, 'not-found')])).rejects.toMatchObject({ code: 'config-invalid' })
})
