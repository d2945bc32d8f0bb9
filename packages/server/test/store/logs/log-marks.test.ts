/** Folds, problems and new lines of logs, on the rows that frames, expiry and several attempts leave. */
import { sha256 } from '@windlass/kit'
import type { LogMarks } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { findComparedBuild } from '../../../src/builds/list/compared-build.ts'
import { requireLogStream } from '../../../src/logs/find-log-stream.ts'
import { findNewLines, limitComparisons, type Comparison } from '../../../src/logs/marks/new-lines.ts'
import { readMarks } from '../../../src/logs/marks/read-marks.ts'
import { retain } from '../../../src/retention.ts'
import { findMarks } from '../../../src/store/builds/logs/marks.ts'
import type { StreamKey } from '../../../src/store/builds/logs/streams.ts'
import { ended, openScene, runAttempt, say, started, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const never = new AbortController().signal
const stream = 'step/one'

/** Appends text in frames of a few bytes up to 500 kB. */
async function append(app: App, key: StreamKey, text: string, from = 0): Promise<number> {
  const bytes = Buffer.from(text)
  const size = Math.max(7, Math.min(500_000, Math.ceil(bytes.length / 5)))
  let offset = from
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    ;({ end: offset } = await app.logs.append({ ...key, offset, at: 1, bytes: part, sha256: sha256(part) }))
  }
  return offset
}

async function marks(app: App, key: StreamKey): Promise<LogMarks> {
  return readMarks(app, await requireLogStream(app, key.buildId, key), never)
}

async function newLines(app: App, own: StreamKey, other: StreamKey, limit = 100): Promise<Comparison> {
  const [one, two] = [await requireLogStream(app, own.buildId, own), await requireLogStream(app, other.buildId, other)]
  return findNewLines(app, { own: one, other: two }, { limit, signal: never })
}

describe.each(DATABASES)('marks of logs on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('marks a log while it grows, reads it once, and forgets the marks with the log', async () => {
    await using held = await openTestApp(database, { retention: { logDays: 1 } })
    const { app, clock } = held
    const scene = await openScene(app)
    const attempt = await runAttempt(scene, await submit(scene))
    const key = { ...attempt, stream }
    const end = await append(app, key, '::group::Install\r\nadded 96 packages\n\u001B[31ma.c:1:2: error: x\u001B[0m\n::endgr')
    expect(await marks(app, key)).toMatchObject({
      lines: 3,
      complete: false,
      folds: [{ name: 'Install', from: 0 }],
      problems: [{ line: 2, kind: 'compiler', text: 'a.c:1:2: error: x' }],
    })
    // A line that is not read because of its length, more than one store of the state, and an unfinished line.
    const filler = `${'y'.repeat(99)}\n`.repeat(4_000)
    await append(app, key, `oup::\n${'z'.repeat(700_000)}\n${filler}E   assert 19 == 7`, end)
    const grown = await marks(app, key)
    expect(grown).toMatchObject({ lines: 4_005, complete: false, folds: [{ from: 0, to: 3 }], problems: [{ line: 2 }] })
    expect(await findMarks(app.store.query, key)).toMatchObject({ bytes: end + 6 + 700_001 + filler.length })
    await say(app, attempt, started, ended('success'))
    const whole = await marks(app, key)
    expect(whole).toMatchObject({
      complete: true,
      problems: [{ line: 2 }, { line: 4_005, kind: 'test', text: 'E   assert 19 == 7' }],
    })
    await app.store.query.updateTable('stream_marks').set({ version: 0, state: 'of an older version' }).execute()
    expect(await marks(app, key)).toEqual(whole)
    expect(await marks(app, key)).toEqual(whole)
    clock.advance(2 * 86_400_000)
    await retain(app)
    await expect(marks(app, key)).rejects.toMatchObject({ code: 'not-found' })
    expect(await findMarks(app.store.query, key)).toBeUndefined()
  })

  test('finds exactly the 14 lines that differ, whatever times, ids and paths the logs have (W052)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const line = (run: number, index: number): string =>
      `[12:0${run}:${String(index % 60).padStart(2, '0')}] task ${index * run} of run ${run}f${run}ab${index} wrote /tmp/x${run}/${index}.o in ${run}.${index} s\n`
    const log = (run: number, extra: ReadonlyMap<number, string>): string =>
      Array.from({ length: 5_000 }, (_, index) => `${extra.get(index) ?? ''}${line(run, index)}`).join('')
    const differing = new Map(
      Array.from({ length: 14 }, (_, index) => [index * 300, `assertion of ${'abcdefghijklmn'[index]}x failed\n`]),
    )
    const green = { ...(await runAttempt(scene, await submit(scene))), stream }
    await append(app, green, log(1, new Map()))
    const red = { ...(await runAttempt(scene, await submit(scene))), stream }
    await append(app, red, log(2, differing))
    const found = await newLines(app, red, green)
    expect(found).toMatchObject({ count: 14, complete: true })
    expect(found.lines.map(({ line: at }) => at)).toEqual(Array.from({ length: 14 }, (_, index) => index * 301))
    expect(found.lines[0]).toEqual({ line: 0, text: 'assertion of ax failed' })
    expect(await newLines(app, red, green, 3)).toMatchObject({ count: 14, lines: [{}, {}, { line: 602 }] })
    expect(await newLines(app, green, red)).toEqual({ count: 0, lines: [], complete: true })
  })

  test('stops at its time limit also inside a block of short lines', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const log = (run: string): string =>
      Array.from({ length: 3_000 }, (_, index) => `${run} ${'abcdefghij'[index % 10]}x\n`).join('')
    const green = { ...(await runAttempt(scene, await submit(scene))), stream }
    await append(app, green, 'other\n')
    const red = { ...(await runAttempt(scene, await submit(scene))), stream }
    await append(app, red, log('red'))
    expect(await newLines(app, red, green)).toMatchObject({ count: 3_000, complete: true })
    // Each look at the clock takes a second.
    const slow = { ...clock, monotonic: () => (clock.advance(1_000), clock.monotonic()) }
    const found = await newLines({ ...app, clock: slow }, red, green)
    expect(found.complete).toBe(false)
    expect(found.count).toBeLessThan(1_000)
  })

  test('compares for four callers at once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const key = { ...(await runAttempt(scene, await submit(scene))), stream }
    await append(app, key, 'one\n')
    const row = await requireLogStream(app, key.buildId, key)
    const compare = limitComparisons()
    const once = () => compare(app, { own: row, other: row }, { limit: 1, signal: never })
    const calls = await Promise.allSettled(Array.from({ length: 5 }, once))
    expect(calls.map(({ status }) => status)).toEqual([...Array.from({ length: 4 }, () => 'fulfilled'), 'rejected'])
    expect(calls[4]).toMatchObject({ reason: { code: 'rate-limited' } })
    expect(await once()).toEqual({ count: 0, lines: [], complete: true })
  })

  test('compares with the last successful build of the branch that the caller may see', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const compared = (id: string | undefined, seen?: Parameters<typeof findComparedBuild>[2]['seen']) =>
      findComparedBuild(app, build, { id, seen })
    await expect(compared(undefined)).rejects.toMatchObject({ code: 'not-found', hint: 'Name the build to compare with.' })
    const other = await submit(scene)
    expect(await compared(other.id)).toMatchObject({ id: other.id })
    await expect(compared(other.id, { projects: ['65a1b2c3d4e5f60718293a4b'], pipelines: [] })).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(compared('65a1b2c3d4e5f60718293a4b')).rejects.toMatchObject({ code: 'not-found' })
  })
})
