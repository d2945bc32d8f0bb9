/** Lines of logs by number, and search, on the rows that frames, merges, expiry and earlier versions leave. */
import { sha256 } from '@windlass/kit'
import {
  LogSearchQuery,
  LogStreamQuery,
  MAX_LINE_BYTES,
  MAX_LINES_BYTES,
  type LogLines,
  type LogSearch,
} from '@windlass/protocol'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { compactDue } from '../../../src/logs/objects/compact.ts'
import { findCountedStream } from '../../../src/logs/text/count-stream.ts'
import { listLogStreams } from '../../../src/logs/list-streams.ts'
import { readLines } from '../../../src/logs/text/read-lines.ts'
import { searchLog } from '../../../src/logs/search/search.ts'
import { retain } from '../../../src/retention.ts'
import { findBuild } from '../../../src/store/builds/builds.ts'
import type { StreamKey } from '../../../src/store/builds/logs/streams.ts'
import { ended, openScene, runAttempt, say, started, submit, tell } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const never = new AbortController().signal

async function append(app: App, key: StreamKey, chunks: readonly Buffer[], { from = 0, at = 1 } = {}): Promise<number> {
  let offset = from
  for (const [index, bytes] of chunks.entries())
    ({ end: offset } = await app.logs.append({ ...key, offset, at: at + index, bytes, sha256: sha256(bytes) }))
  return offset
}

async function lines(app: App, key: StreamKey, from: number, count: number): Promise<LogLines> {
  const row = await findCountedStream(app, key)
  if (row === undefined) throw new Error('no such stream')
  return readLines(app, row, { from, count })
}

function search(app: App, buildId: string, query: object): Promise<LogSearch> {
  return searchLog(app, buildId, LogSearchQuery.parse(query), never)
}

async function streams(app: App, id: string, query: object = {}): ReturnType<typeof listLogStreams> {
  const build = await findBuild(app.store.query, app.accountId, id)
  if (build === undefined) throw new Error(`no build ${id}`)
  return listLogStreams(app, build, LogStreamQuery.parse(query))
}

/** Makes the rows of a build like those of a version without lines. */
async function forgetLines({ store }: App, buildId: string): Promise<void> {
  const uncounted = { counted: 0, lines: 0, line_start: 0, first_at: null, last_at: null }
  await store.query.updateTable('stream').set(uncounted).where('build_id', '=', buildId).execute()
  await store.query.updateTable('chunk').set({ first_line: null, lines: null }).where('build_id', '=', buildId).execute()
}

describe.each(DATABASES)('lines of logs on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('reads any lines of any output, cut into any chunks, also of an earlier version', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const attempt = await runAttempt(scene, await submit(scene))
    const part = fc.constantFrom('a', 'line', '\n', '\r\n', '\r', 'ä', '😀', '\n\n', '\u0000', '\u009Fx')
    let streamNumber = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 12 }),
        fc.array(fc.tuple(fc.integer({ min: -15, max: 20 }), fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 5 }),
        async (parts, sizes, ranges) => {
          const key = { ...attempt, stream: `step/s${(streamNumber += 1)}` }
          const whole = Buffer.from(parts.join(''))
          const chunks: Buffer[] = []
          let at = 0
          for (const size of [...sizes, whole.length]) {
            if (at < whole.length) chunks.push(whole.subarray(at, at + size))
            at += size
          }
          await append(app, key, chunks)
          if (streamNumber % 2 === 0) await forgetLines(app, attempt.buildId)
          const expected = whole.toString().split(/(?<=\n)/)
          const total = expected.length
          for (const [given, count] of ranges) {
            const from = given < 0 ? Math.max(0, total + given) : Math.min(given, total)
            const text = expected.slice(from, from + count).join('')
            const found = await lines(app, key, given, count)
            expect(found).toMatchObject({ from, lines: Math.max(0, Math.min(count, total - from)), total, text, cut: [] })
            expect(found.startByte).toBe(Buffer.byteLength(expected.slice(0, from).join('')))
            expect(found.bytes).toBe(Buffer.byteLength(text))
            expect(found.complete).toBe(found.lines === count && text.endsWith('\n'))
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  test('a stream of a server without lines grows by one with them, and is counted once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const chunks = Array.from({ length: 450 }, (_, n) => Buffer.from(`line ${n}\nnext of ${n}, `))
    let end = await append(app, key, chunks.slice(0, 250))
    await forgetLines(app, key.buildId)
    end = await append(app, key, chunks.slice(250, 300), { from: end, at: 300 })
    const rows = await app.store.query.selectFrom('chunk').select('first_line').where('build_id', '=', key.buildId).execute()
    expect(rows.every(({ first_line: first }) => first === null)).toBe(true)
    const both = await Promise.all([lines(app, key, 260, 1), lines(app, key, -1, 1)])
    expect(both.map(({ text, total }) => [text, total])).toEqual([
      ['next of 259, line 260\n', 301],
      ['next of 299, ', 301],
    ])
    await append(app, key, chunks.slice(300), { from: end, at: 500 })
    expect(await lines(app, key, 449, 9)).toMatchObject({ text: 'next of 448, line 449\nnext of 449, ', total: 451 })
    const row = await findCountedStream(app, key)
    expect(row).toMatchObject({ counted: row?.bytes, lines: 450, first_at: 1, last_at: 649 })
    const uncounted = await app.store.query
      .selectFrom('chunk')
      .select('position')
      .where('build_id', '=', key.buildId)
      .where('first_line', 'is', null)
      .execute()
    expect(uncounted).toEqual([])
  })

  test('answers with times, colors, and the length of what is cut from long lines', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const long = 'x'.repeat(300_000)
    const text = ['\u001B[1;31mred\n', 'still red\u001B[0m\nplain\nbegin of ', `a line\n${long}`, `${long}\nafter\n`, long]
    await append(
      app,
      key,
      text.map((one) => Buffer.from(one)),
      { at: 100 },
    )
    expect(await lines(app, key, 1, 2)).toMatchObject({ sgr: '1;31', times: [[1, 101]], text: 'still red\u001B[0m\nplain\n' })
    const rest = await lines(app, key, 2, 10)
    expect(rest).toMatchObject({ sgr: '', lines: 5, total: 7, complete: false })
    expect(rest.times).toEqual([
      [2, 101],
      [4, 102],
      [5, 103],
      [6, 104],
    ])
    expect(rest.cut).toEqual([
      [4, 600_000 - MAX_LINE_BYTES],
      [6, 300_000 - MAX_LINE_BYTES],
    ])
    const kept = 'x'.repeat(MAX_LINE_BYTES)
    expect(rest.text).toBe(`plain\nbegin of a line\n${kept}\nafter\n${kept}`)
    expect(rest.startByte + rest.bytes).toBe(Buffer.byteLength(text.join('')))
    expect(await lines(app, key, 5, 1)).toMatchObject({ text: 'after\n', complete: true, startByte: rest.startByte + 600_023 })
  })

  test('an answer has at most 1 MiB, and the next one continues after it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const frames = Array.from({ length: 10 }, (_, n) => Buffer.from(`${String(n).repeat(999)}\n`.repeat(300)))
    await append(app, key, frames)
    const first = await lines(app, key, 0, 5_000)
    expect(first).toMatchObject({ lines: Math.floor(MAX_LINES_BYTES / 1_000), complete: true, total: 3_000 })
    const second = await lines(app, key, first.lines, 5_000)
    expect(second.startByte).toBe(first.bytes)
    expect((first.text + second.text).startsWith(frames.slice(0, 6).join(''))).toBe(true)
  })

  test('numbers stay the same while the log grows, after a merge of its files, and in an attempt that is lost', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const attempt = await runAttempt(scene, await submit(scene))
    const key = { ...attempt, stream: 'step/one' }
    await say(app, attempt, started, { type: 'step.started', step: 'one', try: 1 })
    let end = await append(
      app,
      key,
      Array.from({ length: 40 }, (_, n) => Buffer.from(`line ${n}\n`)),
    )
    const before = await lines(app, key, 30, 10)
    expect(before).toMatchObject({ complete: true, total: 40 })
    end = await append(app, key, [Buffer.from('unfinished')], { from: end })
    expect(await lines(app, key, 30, 11)).toMatchObject({ complete: false, lines: 11, total: 41 })
    end = await append(app, key, [Buffer.from(' no more\n')], { from: end })
    expect(await lines(app, key, 40, 1)).toMatchObject({ complete: true, text: 'unfinished no more\n', total: 41 })
    expect((await streams(app, key.buildId)).items).toMatchObject([
      { attempt: 1, stream: 'step/one', bytes: end, lines: 41, firstAt: 1, lastAt: 1, open: true, cut: false },
    ])
    await tell(scene, { ...attempt, object: 'engine-x', state: 'lost', reason: 'node-lost', permanent: true })
    expect((await streams(app, key.buildId)).items).toMatchObject([{ lines: 41, open: false, cut: true, missingBytes: 0 }])
    await app.store.query.updateTable('build').set({ compact_at: 1 }).where('id', '=', key.buildId).execute()
    clock.advance(600_000)
    await compactDue(app)
    const objects = await app.store.query
      .selectFrom('chunk')
      .select('object')
      .where('build_id', '=', key.buildId)
      .distinct()
      .execute()
    expect(objects).toHaveLength(1)
    expect(await lines(app, key, 30, 10)).toEqual({ ...before, total: 41 })
    expect((await search(app, key.buildId, { q: 'LINE 39' })).streams).toEqual([
      { attempt: 1, stream: 'step/one', matches: [[39, 0, 7]] },
    ])
  })

  test('finds text through colors, in all streams, and continues at the cursor', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const attempt = await runAttempt(scene, await submit(scene))
    const text = (stream: string): string =>
      Array.from({ length: 500 }, (_, n) => `${stream} \u001B[3${n % 8}mer\u001B[0mror ${n}: error\r\n`).join('')
    for (const stream of ['step/one', 'step/two', 'system'])
      await append(app, { ...attempt, stream }, [Buffer.from(text(stream))])
    await append(app, { ...attempt, stream: `terminal/${'a'.repeat(24)}` }, [Buffer.from('error 77: error\n')])
    const once = await search(app, attempt.buildId, { q: 'error 77:', text: 'true' })
    expect(once).toEqual({
      count: 3,
      streams: ['step/one', 'step/two', 'system'].map((stream) => ({
        attempt: 1,
        stream,
        matches: [[77, stream.length + 1, 9]],
        texts: [`${stream} error 77: error`],
      })),
    })
    const found: [string, number, number][] = []
    for (let after: string | undefined; ;) {
      const page = await search(app, attempt.buildId, { q: 'error', limit: 101, ...(after !== undefined && { after }) })
      expect(page.count).toBeLessThanOrEqual(102)
      for (const { stream, matches } of page.streams) for (const [line, column] of matches) found.push([stream, line, column])
      if (page.next === undefined) break
      after = page.next
    }
    expect(found).toHaveLength(3_000)
    expect(new Set(found.map(String)).size).toBe(3_000)
    const inTwo = await search(app, attempt.buildId, { q: '^step/two error [0-9]*9: error$', regex: 'true', stream: 'step/two' })
    expect(inTwo.streams[0]?.matches.map(([line]) => line)).toEqual(Array.from({ length: 50 }, (_, n) => 10 * n + 9))
    expect(await search(app, attempt.buildId, { q: 'ERROR', case: 'true' })).toEqual({ count: 0, streams: [] })
    expect(await search(app, attempt.buildId, { q: 'error', stream: 'step/none' })).toEqual({ count: 0, streams: [] })
    expect(await search(app, attempt.buildId, { q: 'error', attempt: 2 })).toEqual({ count: 0, streams: [] })
    await expect(search(app, attempt.buildId, { q: 'x', stream: 'system', after: '1 4 step/one' })).rejects.toMatchObject({
      code: 'request-invalid',
    })
  })

  test('finds text in very long lines once, also where their parts meet', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream: 'step/one' }
    const every = 100_000
    const long = Array.from({ length: 12 }, (_, n) => `needle${n}`.padEnd(every, '.')).join('')
    const whole = Buffer.from(`first\n${'.'.repeat(37)}${long}\nneedle at the end`)
    const chunks = Array.from({ length: Math.ceil(whole.length / 70_000) }, (_, n) =>
      whole.subarray(70_000 * n, 70_000 * (n + 1)),
    )
    await append(app, key, chunks)
    const { streams: found, count } = await search(app, key.buildId, { q: 'needle', text: 'true' })
    expect(found[0]?.matches).toEqual([...Array.from({ length: 12 }, (_, n) => [1, 37 + every * n, 6]), [2, 0, 6]])
    expect(count).toBe(13)
    expect(found[0]?.texts?.[3]).toMatch(/^\.{100}needle3\.+$/)
    const meeting = `${'.'.repeat(294_908)}needle${'.'.repeat(100)}\n`
    await append(app, { ...key, stream: 'step/two' }, [Buffer.from(meeting)])
    const two = await search(app, key.buildId, { q: 'needle', stream: 'step/two' })
    expect(two.streams[0]?.matches).toEqual([[0, 294_908, 6]])
  })

  test('lists streams in pages, and no longer those of an expired log', async () => {
    await using own = await openTestApp(database, { retention: { logDays: 1, buildDays: 9 } })
    const { app, clock } = own
    const scene = await openScene(app)
    const attempt = await runAttempt(scene, await submit(scene))
    const names = ['step/a b', 'step/one', 'system']
    for (const stream of names) await append(app, { ...attempt, stream }, [Buffer.from('one\ntwo')])
    await forgetLines(app, attempt.buildId)
    const first = await streams(app, attempt.buildId, { limit: 1 })
    expect(first).toMatchObject({
      items: [{ stream: 'step/a b', lines: 2, bytes: 7, firstAt: 1, lastAt: 1 }],
      next: '1 step/a b',
    })
    const rest = await streams(app, attempt.buildId, { cursor: first.next })
    expect(rest.items.map(({ stream, lines: count }) => [stream, count])).toEqual([
      ['step/one', 2],
      ['system', 2],
    ])
    expect(rest.next).toBeUndefined()
    expect((await streams(app, attempt.buildId, { attempt: 2 })).items).toEqual([])
    await say(app, attempt, started, ended('success'))
    clock.advance(86_400_001)
    await retain(app)
    const expired = await streams(app, attempt.buildId)
    expect(expired).toEqual({ items: [], expiredAt: clock.now() })
    expect(await findCountedStream(app, { ...attempt, stream: 'system' })).toBeUndefined()
    expect(await search(app, attempt.buildId, { q: 'one' })).toEqual({ count: 0, streams: [] })
  })
})
