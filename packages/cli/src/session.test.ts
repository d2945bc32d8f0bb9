import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openClient } from '@windlass/client'
import { fault, type Fault } from '@windlass/kit/faults'
import { expect, test } from 'vitest'
import { openSession, orUndefined } from './session.ts'

test('resolves to undefined if the server answers not-found, but not if a proxy answers 404', async () => {
  const answers = {
    server: { type: 'application/problem+json', body: problemOf(fault('not-found')) },
    proxy: { type: 'text/html', body: '<html>default backend - 404</html>' },
  }
  const ask = (from: keyof typeof answers): Promise<unknown> => {
    const { type, body } = answers[from]
    const transport = async () => ({
      status: 404,
      headers: { 'content-type': type },
      text: async () => body,
      body: (async function* () {})(),
    })
    return orUndefined(openClient({ url: 'http://windlass.test', token: 'id.secret', transport }).runtimes.get('default'))
  }
  expect(await ask('server')).toBeUndefined()
  await expect(ask('proxy')).rejects.toMatchObject({
    code: 'unavailable',
    message: 'A proxy answered 404 instead of the server.',
    details: { foreign: true },
  })
})

function problemOf({ code, status, message, hint }: Fault): string {
  return JSON.stringify({ type: `urn:windlass:fault:${code}`, title: message, status, code, detail: message, message, hint })
}

test.each([
  { seconds: '1', calls: 2, outcome: 'ok' },
  { seconds: '50', calls: 1, outcome: 'rate-limited' },
])('retries a call if the server asks to wait $seconds s: $outcome', async ({ seconds, calls, outcome }) => {
  let seen = 0
  const server = createServer((request, response) => {
    seen += 1
    request.resume()
    if (seen > 1) return void response.setHeader('content-type', 'application/json').end('{"items":[]}')
    const problem = { type: 'about:blank', title: 'Too many calls.', status: 429, code: 'rate-limited' }
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': seconds }).end(JSON.stringify(problem))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { client } = openSession({ url, apiKey: 'id.secret', configFile: '/nowhere' } as Parameters<typeof openSession>[0])
    const answer = client.agents.list().then(() => 'ok')
    expect(await answer.catch((error: { code: string }) => error.code)).toBe(outcome)
    expect(seen).toBe(calls)
  } finally {
    server.close()
  }
})
