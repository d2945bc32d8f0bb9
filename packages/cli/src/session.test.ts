import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openSession } from './session.ts'

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
