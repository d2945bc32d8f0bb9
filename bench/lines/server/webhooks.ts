/** Calls of a forge: until they are answered, and from a push to the first output line of its build. */
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { githubPush } from '../../../packages/server/test/support/payloads/payloads.ts'
import { spread, type Line, type Row } from '../../row.ts'
import { openFakeStack, type FakeStack } from '../../stack/fake.ts'

const CALLS = 1_000
/** Calls that a forge makes at once. */
const IN_FLIGHT = 10
const WARM_UP = 50
const PUSHES = 50
const REPO = 'acme/app'

/** Each call has its own commit and starts a build, while those of the calls before run. */
export const webhooks: Line = { name: 'webhooks', measure }

interface Hook {
  readonly url: URL
  readonly secret: string
}

async function measure(): Promise<Row[]> {
  await using stack = await openFakeStack()
  const { url, secret } = await stack.client.webhooks.create({ name: 'github', forge: 'github' })
  const hook = { url: new URL(new URL(url).pathname, stack.server.ready[0]), secret }
  await stack.client.triggers.create({ pipeline: 'bench/one', name: 'push', repo: REPO, events: ['push'] })
  await sendAll(hook, { from: 0, count: WARM_UP })
  const answered = await sendAll(hook, { from: WARM_UP, count: CALLS })
  await untilBuilt(stack, WARM_UP + CALLS)
  const floor = await sendAll(
    { ...hook, url: new URL('/healthz', hook.url) },
    { from: 0, count: CALLS, status: 200, method: 'GET' },
  )
  const pushes: number[] = []
  for (let n = 0; n < PUSHES; n += 1) pushes.push(await untilFirstStart(stack, hook, WARM_UP + CALLS + n))
  return [
    {
      name: 'webhooks',
      figure: `from a signed push to its 202, ${IN_FLIGHT} at once, ${CALLS} builds start beside them`,
      unit: 'ms',
      value: spread(answered),
      warmUp: WARM_UP,
      floor: { what: 'GET /healthz of the same server, as many at once', value: spread(floor) },
      goalP99: 100,
    },
    {
      name: 'push-to-engine',
      figure: 'from a signed push to the start task of its build at the agent, on an idle server',
      unit: 'ms',
      value: spread(pushes),
      warmUp: 0,
    },
  ]
}

interface Calls {
  readonly from: number
  readonly count: number
  readonly status?: number
  readonly method?: 'GET' | 'POST'
}

/** Makes the calls and returns the time of each. Milliseconds. */
async function sendAll(hook: Hook, { from, count, status = 202, method = 'POST' }: Calls): Promise<number[]> {
  const times: number[] = []
  let next = from
  const sender = async (): Promise<void> => {
    while (next < from + count) times.push(await send(hook, next++, { status, method }))
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, sender))
  return times
}

async function send({ url, secret }: Hook, n: number, { status = 202, method = 'POST' } = {}): Promise<number> {
  // A commit of zeros alone means that the branch was deleted.
  const commit = (n + 1).toString(16).padStart(40, '0')
  const body = method === 'GET' ? '' : JSON.stringify(githubPush({ after: commit, before: commit.replace(/^./, 'f') }))
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': `bench-${n}`,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
  const startedAt = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const call = request(url, { method, headers }, (response) => {
    void text(response).then((answer) => {
      if (response.statusCode === status) resolve(performance.now() - startedAt)
      else reject(new Error(`the server answered ${response.statusCode}: ${answer}`))
    }, reject)
  })
  call.on('error', reject)
  call.end(body)
  return promise
}

/** Waits until each call has its build and all builds have ended. */
async function untilBuilt({ client }: FakeStack, count: number): Promise<void> {
  for (;;) {
    const [delivery] = (await client.deliveries.list({ query: { status: 'received', limit: 1 } })).items
    // The calls of one moment get their ids and their numbers in different orders.
    const newest = (await client.builds.list({ query: { limit: 20 } })).items
    if (delivery === undefined && newest.length > 0 && newest.every(({ finishedAt }) => finishedAt !== undefined)) {
      const built = Math.max(...newest.map(({ number }) => number))
      if (built < count) throw new Error(`${built} builds for ${count} calls`)
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function untilFirstStart(stack: FakeStack, hook: Hook, n: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>()
  stack.onStart = () => resolve()
  const startedAt = performance.now()
  await send(hook, n)
  await promise
  const took = performance.now() - startedAt
  await untilBuilt(stack, n + 1)
  return took
}
