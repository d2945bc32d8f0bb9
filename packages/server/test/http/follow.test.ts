import { nodeTransport } from '@windlass/kit'
import { Build, FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startEngine } from '../support/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../support/http-scene.ts'

async function follow(
  scene: HttpScene,
  id: string,
  options: { after?: number; lastEventId?: string; stopAt?: number } = {},
): Promise<{ items: FeedItem[]; ended: boolean }> {
  const items: FeedItem[] = []
  const stop = new AbortController()
  const headers = options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }
  try {
    for await (const { event, data, id: position } of scene.admin.events(`/v1/builds/${id}/follow`, {
      query: { after: options.after },
      headers,
      signal: stop.signal,
    })) {
      if (event === 'end') return { items, ended: true }
      const item = FeedItem.parse(JSON.parse(data))
      expect([event, position]).toEqual([item.kind, String(item.position)])
      items.push(item)
      if (item.position === options.stopAt) stop.abort()
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  return { items, ended: false }
}

test('a follower sees every item once, in order, as it happens, and the end', async () => {
  await using scene = await openHttpScene()
  const build = await scene.submit()
  const following = follow(scene, build.id)
  const [task] = await scene.agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error('no task')
  await (await startEngine(scene.server.url, task)).succeed()
  const { items, ended } = await following
  expect(ended).toBe(true)
  expect(items.map(({ position }) => position)).toEqual(items.map((_, index) => index + 1))
  expect(items.map((item) => (item.kind === 'log' ? item.stream : item.type))).toEqual([
    'build.created',
    'attempt.created',
    'attempt.started',
    'step.started',
    'step/hello',
    'step.finished',
    'attempt.finished',
    'build.finished',
  ])
})

test('a follower that was cut off goes on exactly where it stopped', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'one\n')
  await engine.log('step/hello', 'two\n')
  const first = await follow(scene, build.id, { stopAt: 3 })
  await engine.log('step/hello', 'three\n')
  await engine.finish({ status: 'success' })
  const second = await follow(scene, build.id, { lastEventId: String(first.items.at(-1)?.position) })
  const bytes = [...first.items, ...second.items].flatMap((item) =>
    item.kind === 'log' ? [Buffer.from(item.bytes, 'base64').toString()] : [],
  )
  expect(bytes.join('')).toBe('one\ntwo\nthree\n')
  expect(second.ended).toBe(true)
  const Page = z.object({ items: z.array(FeedItem), next: z.int() })
  const pageOf = await scene.admin.call('GET', `/v1/builds/${build.id}/feed`, Page, { query: { after: 2, limit: 2 } })
  expect([pageOf.items.map(({ position }) => position), pageOf.next]).toEqual([[3, 4], 4])
})

test('a line is seen by a follower within 120 ms in the median', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const seenAt = new Map<string, number>()
  const following = (async () => {
    for await (const { event, data } of scene.admin.events(`/v1/builds/${build.id}/follow`)) {
      if (event === 'end') return
      const item = FeedItem.parse(JSON.parse(data))
      if (item.kind === 'log') seenAt.set(Buffer.from(item.bytes, 'base64').toString(), performance.now())
    }
  })()
  const delays: number[] = []
  for (let n = 0; n < 30; n += 1) {
    const writtenAt = performance.now()
    await engine.log('step/hello', `line ${n}\n`)
    while (!seenAt.has(`line ${n}\n`)) await new Promise((resolve) => setTimeout(resolve, 1))
    delays.push((seenAt.get(`line ${n}\n`) ?? 0) - writtenAt)
  }
  await engine.finish({ status: 'success' })
  await following
  expect(delays.toSorted((a, b) => a - b)[15]).toBeLessThan(120)
})

test('a log is read whole, by stream, by byte range and by its last lines', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.log('system', 'hello from the system\n')
  await engine.log('step/hello', 'one\ntwo\n')
  await engine.log('step/hello', 'three\nfour\n')
  const read = (query: Record<string, string | number>): Promise<string> =>
    scene.admin.text('GET', `/v1/builds/${build.id}/log`, { query })
  expect(await read({})).toBe('hello from the system\none\ntwo\nthree\nfour\n')
  expect(await read({ stream: 'step/hello' })).toBe('one\ntwo\nthree\nfour\n')
  expect(await read({ stream: 'step/hello', offset: 4, limit: 5 })).toBe('two\nt')
  expect(await read({ stream: 'step/hello', tail: 2 })).toBe('three\nfour\n')
  expect(await read({ tail: 1 })).toBe('four\n')
  expect(await read({ stream: 'step/none' })).toBe('')
  const range = async (header: string): Promise<unknown[]> => {
    const headers = { authorization: `Bearer ${scene.adminToken}`, range: header }
    const answer = await nodeTransport()({
      method: 'GET',
      url: `${scene.server.url}/v1/builds/${build.id}/log?stream=step/hello`,
      headers,
    })
    return [answer.status, answer.headers['content-range'], await answer.text()]
  }
  expect(await range('bytes=0-2')).toEqual([206, 'bytes 0-2/19', 'one'])
  expect(await range('bytes=-5')).toEqual([206, 'bytes 14-18/19', 'four\n'])
  expect((await range('bytes=50-'))[0]).toBe(400)
})

test('waiting for a build is held until its end, and closing the server ends held calls within five seconds', async () => {
  const scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const waiting = scene.admin.call('GET', `/v1/builds/${build.id}/wait`, Build, {
    query: { timeoutMs: 20_000 },
    timeoutMs: 30_000,
  })
  expect((await scene.admin.call('GET', `/v1/builds/${build.id}/wait`, Build, { query: { timeoutMs: 50 } })).status).toBe(
    'running',
  )
  await engine.finish({ status: 'success' })
  expect((await waiting).status).toBe('success')
  const other = await scene.submit()
  const held = [
    scene.agent.claim(30_000, 0),
    scene.admin.call('GET', `/v1/builds/${other.id}/wait`, Build, { query: { timeoutMs: 30_000 }, timeoutMs: 40_000 }),
    follow(scene, other.id),
  ].map((call) => call.catch((error: unknown) => error))
  await new Promise((resolve) => setTimeout(resolve, 100))
  const before = performance.now()
  await scene[Symbol.asyncDispose]()
  await Promise.all(held)
  expect(performance.now() - before).toBeLessThan(5000)
})

test('a claim that waits is woken by a build, not by a poll', async () => {
  await using scene = await openHttpScene()
  for (let n = 0; n < 30; n += 1) {
    const claim = scene.agent.claim()
    await scene.submit()
    const [task] = await claim
    if (task === undefined) throw new Error('no task')
    await scene.agent.report(task, 'done')
  }
  const { values } = await scene.server.app.metrics.taskWait.get()
  const sum = values.find(({ metricName }) => metricName?.endsWith('_sum'))?.value ?? Infinity
  expect(sum / 30).toBeLessThan(0.025)
})
