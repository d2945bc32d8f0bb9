import { manualClock, nodeTransport, systemClock } from '@windlass/kit'
import { ApiKeyCreated, Build, FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startEngine } from '../../support/fakes/fake-agent.ts'
import { feedTopic } from '../../../src/builds/lifecycle/edit.ts'
import { retain } from '../../../src/retention.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

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

test('a follower gets every item once, in order, and the end', async () => {
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

test('ends an old stream, and its follower needs a valid credential to continue', async () => {
  await using scene = await openHttpScene({ readerLimits: { lifeMs: 300 } })
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'one\n')
  const { id, token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'reader', role: 'viewer' } })
  const reader = { ...scene, admin: scene.nobody.withToken(token) }
  const { items, ended } = await follow(reader, build.id)
  expect(ended).toBe(false)
  const after = items.at(-1)?.position ?? 0
  const { store } = scene.server.app
  const watch = store.watch.bind(store)
  const open = Promise.withResolvers<void>()
  Object.assign(store, {
    watch(topic: string) {
      if (topic === feedTopic(build.id)) open.resolve()
      return watch(topic)
    },
  })
  const following = follow(reader, build.id, { after })
  await open.promise
  await scene.admin.text('DELETE', `/v1/keys/${id}`)
  expect(await following).toEqual({ items: [], ended: false })
  await expect(follow(reader, build.id, { after })).rejects.toMatchObject({ code: 'unauthenticated' })
  await engine.succeed()
  const rest: FeedItem[] = []
  // A stream may be too old before it has sent everything.
  for (let isOver = false; !isOver;) {
    const part = await follow(scene, build.id, { after: rest.at(-1)?.position ?? after })
    rest.push(...part.items)
    isOver = part.ended
  }
  expect(rest[0]?.position).toBe(after + 1)
})

test('a disconnected follower continues exactly where it stopped', async () => {
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

test('a line wakes its follower while the clock of the server is stopped', async () => {
  await using scene = await openHttpScene({ clock: manualClock(systemClock.now()) })
  const { build, engine } = await scene.start()
  const seen = new Map<string, () => void>()
  const following = (async () => {
    for await (const { event, data } of scene.admin.events(`/v1/builds/${build.id}/follow`)) {
      if (event === 'end') return
      const item = FeedItem.parse(JSON.parse(data))
      if (item.kind === 'log') seen.get(Buffer.from(item.bytes, 'base64').toString())?.()
    }
  })()
  for (let n = 0; n < 30; n += 1) {
    const { promise, resolve } = Promise.withResolvers<void>()
    seen.set(`line ${n}\n`, resolve)
    await engine.log('step/hello', `line ${n}\n`)
    await promise
  }
  await engine.finish({ status: 'success' })
  await following
})

test('serves a log as a whole, by stream, by byte range and by its last lines', async () => {
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

test('a wait call is held until the build ends, and closing the server ends held calls early', async () => {
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
  const { store } = scene.server.app
  const watch = store.watch.bind(store)
  let watches = 0
  Object.assign(store, {
    watch(topic: string) {
      watches += 1
      return watch(topic)
    },
  })
  const query = { timeoutMs: 60_000 }
  const held = Promise.allSettled([
    scene.agent.claim(60_000, 0),
    scene.admin.call('GET', `/v1/builds/${other.id}/wait`, Build, { query, timeoutMs: 90_000 }),
    follow(scene, other.id),
  ])
  while (watches < 3) await systemClock.sleep(5)
  await scene[Symbol.asyncDispose]()
  // All of them got a complete response.
  expect(await held).toMatchObject([
    { value: [] },
    { value: { id: other.id, status: expect.not.stringContaining('success') } },
    { value: { ended: false } },
  ])
})

test('a build wakes a waiting claim while the clock of the server is stopped', async () => {
  await using scene = await openHttpScene({ clock: manualClock(systemClock.now()) })
  for (let n = 0; n < 30; n += 1) {
    const claim = scene.agent.claim()
    await scene.submit()
    const [task] = await claim
    if (task === undefined) throw new Error('no task')
    await scene.agent.report(task, 'done')
  }
})

test('a build with an expired log can be followed to its end, and the feed lists the missing ranges', async () => {
  await using scene = await openHttpScene({ retention: { logDays: 0 } })
  const { build, engine } = await scene.start()
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.log('step/hello', 'one\n')
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  for (const text of ['two\n', 'three\n']) await engine.log('step/hello', text)
  await engine.event({ type: 'step.finished', step: 'hello', try: 1, status: 'success', exitCode: 0, members: {}, exports: [] })
  await engine.finish({ status: 'success' })
  const before = await follow(scene, build.id)
  const logs = before.items.filter(({ kind }) => kind === 'log').map(({ position }) => position)
  const last = before.items.length
  // The end of the build must be in the past.
  while (scene.server.app.clock.now() <= (before.items.at(-1)?.at ?? 0)) await systemClock.sleep(1)
  await retain(scene.server.app)
  const { items, ended } = await follow(scene, build.id)
  expect(ended).toBe(true)
  expect(items.map(({ position }) => position)).toEqual(before.items.map(({ position }) => position).filter((n) => n !== logs[1]))
  expect(items.flatMap((item) => (item.kind === 'event' && item.type === 'log.expired' ? [item.data] : []))).toEqual([
    { from: logs[0], to: logs[0] },
    { from: logs[1], to: logs[2] },
  ])
  expect(await follow(scene, build.id, { after: logs[1] ?? 0 })).toMatchObject({
    ended: true,
    items: [{ position: logs[2] }, {}, {}, {}],
  })
  expect(await follow(scene, build.id, { after: last })).toEqual({ ended: true, items: [] })
  // Pages of one item also lead to the end.
  const Page = z.object({ items: z.array(FeedItem), next: z.int() })
  const seen: number[] = []
  for (let after = 0, count = 1; count > 0;) {
    const page = await scene.admin.call('GET', `/v1/builds/${build.id}/feed`, Page, { query: { after, limit: 1 } })
    seen.push(...page.items.map(({ position }) => position))
    ;({ next: after } = page)
    count = page.items.length
  }
  expect(seen).toEqual(items.map(({ position }) => position))
})
