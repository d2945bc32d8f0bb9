import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sha256 } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { retain } from '../../../src/retention.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { feedOf, ended, openScene, runAttempt, say, show, started, submit, take, report, writeLog } from '../../support/scene.ts'
import { putStream } from '../../../src/store/builds/logs/streams.ts'
import type { App } from '../../../src/app.ts'

async function readAll(
  app: App,
  key: { buildId: string; attempt: number; stream: string },
  to: number,
  from = 0,
): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of app.logs.read(key, { from, to })) parts.push(part)
  return Buffer.concat(parts)
}

/** Resolves to whether the call has ended within a time. Milliseconds. */
function settledWithin(ms: number, call: Promise<unknown>): Promise<boolean> {
  const settled = call.then(
    () => true,
    () => true,
  )
  return Promise.race([settled, sleep(ms, false)])
}

describe.each(DATABASES)('logs on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('stores frames of many concurrent streams byte for byte', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = await runAttempt(scene, await submit(scene))
    const streams = ['system', 'step/one', 'step/two', 'step/a b/ü']
    const texts = new Map(streams.map((stream) => [stream, Array.from({ length: 12 }, (_, n) => randomBytes(1 + n * 997))]))
    await Promise.all(
      [...texts].map(async ([stream, frames]) => {
        let offset = 0
        for (const bytes of frames) {
          const { end } = await app.logs.append({ ...key, stream, offset, at: 1, bytes, sha256: sha256(bytes) })
          offset += bytes.length
          expect(end).toBe(offset)
        }
      }),
    )
    for (const [stream, frames] of texts) {
      const whole = Buffer.concat(frames)
      expect(sha256(await readAll(app, { ...key, stream }, whole.length))).toBe(sha256(whole))
      expect((await readAll(app, { ...key, stream }, 5000, 990)).equals(whole.subarray(990, 5000))).toBe(true)
    }
    const feed = await feedOf(app, key.buildId, { after: 0, limit: 1000 })
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, index) => index + 1))
    for (const [stream, frames] of texts) {
      const seen = feed.flatMap((item) =>
        item.kind === 'log' && item.stream === stream ? [Buffer.from(item.bytes, 'base64')] : [],
      )
      expect(Buffer.concat(seen).equals(Buffer.concat(frames))).toBe(true)
    }
  })

  test('stores frames that arrive together and in any order once and in the order of their offsets', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const frames = Array.from({ length: 24 }, (_, n) => randomBytes(1 + ((n * 37) % 50)))
    const whole = Buffer.concat(frames)
    const ahead = new AbortController().signal
    let start = 0
    const placed = frames.map((bytes) => ({ offset: (start += bytes.length) - bytes.length, bytes }))
    for (let from = 0; from < placed.length; from += 4) {
      const some = placed.slice(from, from + 4)
      const [first] = some
      // Repeated frames too: their answers were lost.
      const sent = [...placed.slice(Math.max(0, from - 2), from), ...some].toSorted(
        (a, b) => ((a.offset * 7) % 13) - ((b.offset * 7) % 13),
      )
      await Promise.all(
        sent.map(async ({ offset, bytes }) => {
          const frame = { ...key, offset, at: 1, bytes, sha256: sha256(bytes) }
          const { end } = await app.logs.append(frame, offset === first?.offset ? undefined : ahead)
          expect(end).toBeGreaterThanOrEqual(offset + bytes.length)
        }),
      )
    }
    expect((await readAll(app, key, whole.length)).equals(whole)).toBe(true)
    const feed = await feedOf(app, key.buildId, { after: 0, limit: 1000 })
    const seen = feed.flatMap((item) =>
      item.kind === 'log' && item.stream === key.stream ? [Buffer.from(item.bytes, 'base64')] : [],
    )
    expect(Buffer.concat(seen).equals(whole)).toBe(true)
  })

  test('refuses a frame whose earlier ones do not arrive within 2 s or before the server closes', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const bytes = Buffer.from('late')
    const closing = new AbortController()
    const frame = { ...key, offset: 5, at: 1, bytes, sha256: sha256(bytes) }
    const refusal = { code: 'log-offset', details: { offset: 0 } }
    const closed = app.logs.append(frame, closing.signal)
    expect(await settledWithin(200, closed)).toBe(false)
    closing.abort()
    await expect(closed).rejects.toMatchObject(refusal)
    const late = app.logs.append(frame, new AbortController().signal)
    expect(await settledWithin(200, late)).toBe(false)
    held.clock.advance(2_001)
    await expect(late).rejects.toMatchObject(refusal)
    expect(await readAll(app, key, 9)).toHaveLength(0)
  })

  test('stores a frame after an earlier one of another server whose wake-up is lost', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const bytes = Buffer.from('world')
    const frame = { ...key, offset: 6, at: 1, bytes, sha256: sha256(bytes) }
    const ahead = app.logs.append(frame, new AbortController().signal)
    expect(await settledWithin(200, ahead)).toBe(false)
    // As `writeLog` on a server whose connection for notifications is down.
    const { buildId: build_id, attempt, stream } = key
    const row = { build_id, attempt, stream, bytes: 6, counted: 6, lines: 0, line_start: 0, first_at: 1, last_at: 1 }
    await app.store.write((tx) => putStream(tx, row))
    expect(await settledWithin(100, ahead)).toBe(false)
    held.clock.advance(300)
    expect(await ahead).toMatchObject({ end: 11 })
  })

  test('ignores a repeated frame, rejects a wrong offset with the current end, and rejects damaged bytes', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = await runAttempt(scene, await submit(scene))
    expect(await writeLog(app, key, { offset: 0, text: 'hello ' })).toBe(6)
    expect(await Promise.all([1, 2, 3].map(() => writeLog(app, key, { offset: 6, text: 'world' }).catch(() => 11)))).toEqual([
      11, 11, 11,
    ])
    expect(await writeLog(app, key, { offset: 0, text: 'hello ' })).toBe(11)
    await expect(writeLog(app, key, { offset: 20, text: 'x' })).rejects.toMatchObject({
      code: 'log-offset',
      details: { offset: 11 },
    })
    await expect(writeLog(app, key, { offset: 8, text: 'overlapping' })).rejects.toMatchObject({
      code: 'log-offset',
      details: { offset: 11 },
    })
    const damaged = { ...key, stream: 'system', offset: 11, at: 1, bytes: Buffer.from('x'), sha256: sha256('y') }
    await expect(app.logs.append(damaged)).rejects.toMatchObject({ code: 'log-hash' })
    expect((await readAll(app, { ...key, stream: 'system' }, 11)).toString()).toBe('hello world')
  })

  test('deletes old logs and later old builds, and an object with the last build in it', async () => {
    await using held = await openTestApp(database, { retention: { logDays: 1, buildDays: 2 } })
    const { app, clock } = held
    const scene = await openScene(app)
    const keys = [await runAttempt(scene, await submit(scene)), await runAttempt(scene, await submit(scene))]
    await Promise.all(keys.map((key) => writeLog(app, key, { offset: 0, text: 'kept a while' })))
    for (const key of keys.slice(0, 1)) await say(app, key, started, ended('success'))
    for (const task of await take(scene)) await report(scene, task, 'done')
    clock.advance(86_400_001)
    await retain(app)
    expect(await readAll(app, { ...(keys[0] ?? { buildId: '', attempt: 1 }), stream: 'system' }, 12)).toHaveLength(0)
    expect((await readAll(app, { ...(keys[1] ?? { buildId: '', attempt: 1 }), stream: 'system' }, 12)).toString()).toBe(
      'kept a while',
    )
    expect((await show(app, keys[0]?.buildId ?? '')).status).toBe('success')
    clock.advance(86_400_001)
    await retain(app)
    await expect(show(app, keys[0]?.buildId ?? '')).rejects.toThrow('no build')
    expect((await show(app, keys[1]?.buildId ?? '')).status).toBe('running')
  })
})
