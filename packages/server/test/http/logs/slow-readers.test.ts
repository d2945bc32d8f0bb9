/** Slow readers: their memory use, their timeout, how they continue, and their maximum number. */
import { get, type IncomingMessage } from 'node:http'
import { manualClock, systemClock, type ManualClock } from '@windlass/kit'
import { ApiKeyCreated, FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { READER_LIMITS } from '../../../src/feed/readers.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const MIB = 1_048_576
const STALL_MS = 20_000

/** Opens a response without reading it, so that only the buffers fill up. */
async function openReader(scene: HttpScene, path: string, token = scene.adminToken): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get(scene.server.url + path, { agent: false, headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject)
  const reader = await promise
  reader.on('error', () => undefined)
  reader.on('readable', () => undefined)
  return reader
}

async function until(isTrue: () => boolean, meanwhile: () => void = () => undefined): Promise<void> {
  while (!isTrue()) {
    meanwhile()
    await systemClock.sleep(10)
  }
}

/** Opens a scene with a build whose log has the given number of frames of 1 MiB. */
async function openLargeLog(frames: number): Promise<{ scene: HttpScene; clock: ManualClock; id: string; text: string }> {
  const clock = manualClock(systemClock.now())
  const scene = await openHttpScene({ clock, readerLimits: { ...READER_LIMITS, total: 500, perKey: 500, stallMs: STALL_MS } })
  const { build, engine } = await scene.start()
  const texts = Array.from({ length: frames }, (_, n) => `frame ${n}`.padEnd(MIB - 1, '.') + '\n')
  for (const text of texts) await engine.log('step/hello', text)
  await engine.finish({ status: 'success' })
  return { scene, clock, id: build.id, text: texts.join('') }
}

/** Returns the items that arrived completely. */
async function itemsOf(body: AsyncIterable<Uint8Array>): Promise<FeedItem[]> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of body) parts.push(part)
  } catch {
    // The server closed the connection.
  }
  const blocks = Buffer.concat(parts).toString().split('\n\n').slice(0, -1)
  const data = blocks.filter((block) => block.includes('event: log') || block.includes('event: event'))
  return data.map((block) => FeedItem.parse(JSON.parse(block.slice(block.indexOf('\ndata: ') + 7))))
}

function textOf(items: readonly FeedItem[]): string {
  return items.map((item) => (item.kind === 'log' ? Buffer.from(item.bytes, 'base64').toString() : '')).join('')
}

test('300 stalled followers use little memory, are disconnected, and get every byte once when they continue', async () => {
  const { scene, clock, id, text } = await openLargeLog(16)
  await using _scene = scene
  const { readers } = scene.server.app
  const before = process.memoryUsage().rss
  const stuck = await Promise.all(Array.from({ length: 300 }, () => openReader(scene, `/v1/builds/${id}/follow`)))
  let peak = 0
  const measure = (): void => void (peak = Math.max(peak, process.memoryUsage().rss - before))
  await until(() => stuck.every(({ readableLength }) => readableLength > 16_384), measure)
  expect(readers.count).toBe(300)
  await until(
    () => readers.count === 0,
    () => {
      measure()
      clock.advance(STALL_MS)
    },
  )
  // Both ends of all connections are in this process. A whole item per follower, in base64, would need 420 MiB.
  expect(peak).toBeLessThan(350 * MIB)
  const [reader] = stuck
  if (reader === undefined) throw new Error('no reader')
  const first = await itemsOf(reader)
  for (const other of stuck) other.destroy()
  const after = first.at(-1)?.position ?? 0
  const rest = await itemsOf(await scene.admin.bytes(`/v1/builds/${id}/follow?after=${after}`))
  expect([...first, ...rest].map(({ position }) => position)).toEqual([...first, ...rest].map((_, index) => index + 1))
  expect(textOf([...first, ...rest])).toBe(text)
})

test('disconnects a stalled download, but not a slow one', async () => {
  const { scene, clock, id, text } = await openLargeLog(24)
  await using _scene = scene
  const { readers } = scene.server.app
  const [stuck, slow] = [await openReader(scene, `/v1/builds/${id}/log`), await openReader(scene, `/v1/builds/${id}/log`)]
  await until(() => stuck.readableLength > 16_384 && slow.readableLength > 16_384)
  const parts: Buffer[] = []
  let taken = 0
  let isOver = false
  slow.on('close', () => (isOver = true))
  while (!isOver) {
    const part: unknown = slow.read()
    if (part instanceof Buffer) {
      parts.push(part)
      taken += part.length
    }
    // The content of the kernel buffers takes more than half of the stall timeout.
    if (taken > 6 * MIB) {
      taken = 0
      clock.advance(STALL_MS * 0.6)
    }
    await systemClock.sleep(0)
  }
  expect(Buffer.concat(parts).toString()).toBe(text)
  await until(
    () => readers.count === 0,
    () => clock.advance(STALL_MS),
  )
  await expect(Array.fromAsync(stuck)).rejects.toThrow()
})

test('rejects readers above the limits with a retry time', async () => {
  await using scene = await openHttpScene({ readerLimits: { total: 3, perKey: 2 } })
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'hello\n')
  const keyOf = async (name: string): Promise<string> =>
    (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name, role: 'viewer' } })).token
  const path = `/v1/builds/${build.id}/follow`
  const full = { code: 'too-many-readers', status: 429, retryable: true, details: { retryAfter: 5 } }
  const own = [await openReader(scene, path), await openReader(scene, path)]
  await expect(scene.admin.events(path).next()).rejects.toMatchObject(full)
  await expect(scene.admin.text('GET', `/v1/builds/${build.id}/log`)).rejects.toMatchObject(full)
  expect((await openReader(scene, path)).headers['retry-after']).toBe('5')
  const other = await openReader(scene, path, await keyOf('other'))
  await expect(
    scene.admin
      .withToken(await keyOf('third'))
      .events(path)
      .next(),
  ).rejects.toMatchObject(full)
  other.destroy()
  own[0]?.destroy()
  await until(() => scene.server.app.readers.count === 1)
  expect(await scene.admin.text('GET', `/v1/builds/${build.id}/log`)).toBe('hello\n')
})

test('stalled followers keep no large events in memory, and get each of them once when they read', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const value = 'x'.repeat(MIB - 1000)
  for (let n = 0; n < 40; n += 1)
    await engine.event({
      type: 'step.finished',
      step: `s${n}`,
      try: 1,
      status: 'success',
      members: {},
      exports: [{ name: 'A', value, secret: false }],
    })
  await engine.finish({ status: 'success' })
  const path = `/v1/builds/${build.id}/follow`
  const before = process.memoryUsage().rss
  let peak = 0
  const measure = (): void => void (peak = Math.max(peak, process.memoryUsage().rss - before))
  const stuck = await Promise.all(Array.from({ length: 20 }, () => openReader(scene, path)))
  await until(() => stuck.every(({ readableLength }) => readableLength > 16_384), measure)
  // Both ends of all connections are in this process. All events for each follower, as text, would need 800 MiB.
  expect(peak).toBeLessThan(350 * MIB)
  for (const reader of stuck.slice(1)) reader.destroy()
  const [first] = stuck
  if (first === undefined) throw new Error('no reader')
  const items = await itemsOf(first)
  expect(items.map(({ position }) => position)).toEqual(items.map((_, index) => index + 1))
  const steps = items.flatMap((item) => (item.kind === 'event' && item.type === 'step.finished' ? [item.data['step']] : []))
  expect(steps).toEqual(Array.from({ length: 40 }, (_, n) => `s${n}`))
})
