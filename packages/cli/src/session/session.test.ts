import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { openClient, withRoutes, type ApiClient } from '@windlass/client'
import { manualClock } from '@windlass/kit'
import { fault, type Fault } from '@windlass/kit/faults'
import { createClient } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openSession, orUndefined, withRetries } from './session.ts'

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
    code: 'proxy-answered',
    message: 'The server answered 404: <html>default backend - 404</html>',
    hint: expect.stringContaining('leads to the Windlass server'),
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

interface Answered {
  readonly status: number
  readonly type: string
  readonly body: string
}

const PROXY: Answered = { status: 502, type: 'text/html', body: '<html>502 Bad Gateway</html>' }
const KEY = { id: '65a1b2c3d4e5f60718293a4b', name: 'ci', role: 'developer', prefix: '65a1b2c3', createdAt: 1, token: 'a.b' }
const CREATED: Answered = { status: 201, type: 'application/json', body: JSON.stringify(KEY) }
const TAKEN: Answered = { status: 409, type: 'application/problem+json', body: problemOf(fault('conflict')) }
const AWAY: Answered = { status: 503, type: 'application/problem+json', body: problemOf(fault('unavailable')) }

interface Repeats {
  readonly client: ApiClient
  /** Idempotency keys of the calls. */
  readonly keys: (string | undefined)[]
  /** Moves the clock until the work is over. Returns its result or the code of its error, and its duration in milliseconds. */
  finish(work: Promise<unknown>): Promise<readonly [unknown, number]>
}

/** Opens a client whose calls get these answers in order, then the last one again. `lost` is an answer that does not arrive. */
function openRepeats(answers: readonly (Answered | 'lost')[]): Repeats {
  const clock = manualClock()
  const keys: (string | undefined)[] = []
  const client = createClient({
    url: 'http://windlass.test',
    token: 'id.secret',
    async transport({ headers }) {
      const answer = answers[Math.min(keys.length, answers.length - 1)] ?? PROXY
      keys.push(headers['idempotency-key'])
      if (answer === 'lost') throw new Error('socket hang up')
      const { status, type, body } = answer
      return { status, headers: { 'content-type': type }, text: async () => body, body: (async function* () {})() }
    },
  })
  return {
    client: withRoutes(withRetries(client, clock)),
    keys,
    async finish(work) {
      let result: unknown
      let isOver = false
      const end = (value: unknown): void => {
        result = value
        isOver = true
      }
      work.then(end, (error: { code: string }) => end(error.code))
      for (let n = 0; n < 1_000 && !isOver; n += 1) {
        await setImmediate()
        if (!isOver) clock.advance(100)
      }
      return [result, clock.monotonic()]
    },
  }
}

test('repeats a creation with the same idempotency key until an answer of the server arrives', async () => {
  const { client, keys, finish } = openRepeats(['lost', PROXY, AWAY, CREATED])
  const [result] = await finish(client.keys.create({ name: 'ci', role: 'developer' }))
  expect(result).toEqual(KEY)
  expect([keys.length, new Set(keys).size]).toEqual([4, 1])
})

test('stops repeating a creation after 10 s', async () => {
  const { client, keys, finish } = openRepeats(['lost'])
  const [result, took] = await finish(client.keys.create({ name: 'ci', role: 'developer' }))
  expect(result).toBe('server-unreachable')
  expect(took).toBeGreaterThan(8_000)
  expect(took).toBeLessThan(12_000)
  expect(keys.length).toBeGreaterThan(8)
})

test.each([
  { what: 'a refusal', answer: TAKEN, code: 'conflict' },
  { what: 'the 403 page of a proxy', answer: { ...PROXY, status: 403 }, code: 'forbidden' },
])('does not repeat a creation after $what', async ({ answer, code }) => {
  const { client, keys, finish } = openRepeats([answer])
  expect((await finish(client.keys.create({ name: 'ci', role: 'developer' })))[0]).toBe(code)
  expect(keys).toHaveLength(1)
})

test('does not repeat calls without an idempotency key', async () => {
  const { client, keys, finish } = openRepeats(['lost'])
  expect((await finish(client.keys.list()))[0]).toBe('server-unreachable')
  expect((await finish(client.keys.create({ name: 'ci', role: 'developer' }, { idempotencyKey: false })))[0]).toBe(
    'server-unreachable',
  )
  expect(keys).toEqual([undefined, undefined])
})

test('an aborted signal ends the repeats', async () => {
  const { client, keys, finish } = openRepeats(['lost'])
  const interrupt = new AbortController()
  const work = client.keys.create({ name: 'ci', role: 'developer' }, { signal: interrupt.signal })
  await setImmediate()
  interrupt.abort(Object.assign(new Error('interrupted'), { code: 'interrupted' }))
  expect(await finish(work)).toEqual(['interrupted', 0])
  expect(keys).toHaveLength(1)
})
