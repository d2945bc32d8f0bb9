/** Merging of many small log files into few, with identical content before, during and after. */
import { spawnSync } from 'node:child_process'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { silentLog } from '@windlass/kit'
import type { FeedItem } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { compactDue } from '../../../src/logs/objects/compact.ts'
import { SETTLE_MS } from '../../../src/logs/objects/object-keys.ts'
import type { Objects } from '../../../src/logs/objects/objects.ts'
import { openApp } from '../../../src/open-app.ts'
import { retain } from '../../../src/retention.ts'
import { ended, feedOf, openScene, runAttempt, say, started, submit, writeLog, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const HOUR_MS = 3_600_000
/** How long unused files are kept. */
const UNUSED_MS = 24 * HOUR_MS + 1000
const STREAMS = ['system', 'step/one', 'step/two']

function filesOf({ app }: Pick<TestApp, 'app'>): string[] {
  return readdirSync(join(app.dataDir, 'logs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== '.log-folder')
    .map(({ parentPath, name }) => join(parentPath, name))
}

/** Writes small frames and remembers what it has written. */
class Trickle {
  readonly texts = new Map(STREAMS.map((stream) => [stream, '']))
  readonly key: AttemptKey
  #count = 0

  constructor(key: AttemptKey) {
    this.key = key
  }

  /** Writes frames of one line each, alternating between all streams; each one gets its own file. */
  async write(app: App, frames: number): Promise<void> {
    for (let n = 0; n < frames; n += 1) {
      this.#count += 1
      const stream = STREAMS[this.#count % STREAMS.length] ?? ''
      const before = this.texts.get(stream) ?? ''
      const text = `${this.#count} of the build ${this.key.buildId}\n`
      await writeLog(app, this.key, { stream, offset: Buffer.byteLength(before), text })
      this.texts.set(stream, before + text)
    }
  }

  /** Checks that all ways of reading return what was written. */
  async check(app: App): Promise<void> {
    for (const [stream, text] of this.texts) {
      expect(await readText(app, { ...this.key, stream }, 0, text.length)).toBe(text)
      for (const [from, to] of [
        [1, 2],
        [text.length - 40, text.length],
        [Math.floor(text.length / 3), Math.floor(text.length / 2)],
      ] as const)
        expect(await readText(app, { ...this.key, stream }, from, to)).toBe(text.slice(from, to))
    }
    this.checkItems(await wholeFeed(app, this.key.buildId))
  }

  /** Checks that every position occurs once and in order, and the bytes of every stream. */
  checkItems(items: readonly FeedItem[]): void {
    expect(items.map(({ position }) => position)).toEqual(items.map((_, index) => index + 1))
    const seen = new Map(STREAMS.map((stream) => [stream, '']))
    for (const item of items)
      if (item.kind === 'log') seen.set(item.stream, (seen.get(item.stream) ?? '') + Buffer.from(item.bytes, 'base64').toString())
    expect(seen).toEqual(this.texts)
  }
}

async function readText(app: App, key: AttemptKey & { stream: string }, from: number, to: number): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of app.logs.read(key, { from, to })) parts.push(part)
  return Buffer.concat(parts).toString()
}

async function wholeFeed(app: App, id: string, page = 1000): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  for (;;) {
    const next = await feedOf(app, id, { after: items.length, limit: page })
    if (next.length === 0) return items
    items.push(...next)
  }
}

async function begin(held: TestApp): Promise<{ scene: Scene; trickle: Trickle }> {
  const scene = await openScene(held.app)
  const trickle = new Trickle(await runAttempt(scene, await submit(scene)))
  await say(held.app, trickle.key, started)
  return { scene, trickle }
}

/** Advances the clock until written files can be merged, and until merged ones are deleted. */
async function round(held: TestApp): Promise<void> {
  held.clock.advance(2 * SETTLE_MS)
  await compactDue(held.app)
  held.clock.advance(UNUSED_MS)
  await compactDue(held.app)
}

describe.each(DATABASES)('compaction on $name', ({ open, name }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('merges the files of a slowly written log after the end of the build, without changing what is read', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { trickle } = await begin(held)
    const frames = name === 'SQLite' ? 2_000 : 400
    await trickle.write(app, frames)
    await say(app, trickle.key, ended('success'))
    expect(filesOf(held)).toHaveLength(frames)
    await trickle.check(app)
    await round(held)
    expect(filesOf(held).length).toBeLessThanOrEqual(200)
    await trickle.check(app)
    expect(await app.store.query.selectFrom('dead_object').selectAll().execute()).toEqual([])
  })

  test('merges the files of a running build', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { trickle } = await begin(held)
    for (let part = 1; part <= 4; part += 1) {
      await trickle.write(app, 300)
      await round(held)
      expect(filesOf(held).length).toBeLessThanOrEqual(part + 256)
    }
    await trickle.check(app)
    await trickle.write(app, 20)
    await say(app, trickle.key, ended('success'))
    await round(held)
    expect(filesOf(held).length).toBeLessThanOrEqual(16)
    await trickle.check(app)
  })

  test('returns the same bytes to a reader that got its rows before the merge', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { trickle } = await begin(held)
    await trickle.write(app, 400)
    const stream = 'step/one'
    const text = trickle.texts.get(stream) ?? ''
    const reading = app.logs.read({ ...trickle.key, stream }, { from: 0, to: text.length })
    const first = await reading.next()
    await say(app, trickle.key, ended('success'))
    const before = await feedOf(app, trickle.key.buildId, { after: 0, limit: 100 })
    await round(held)
    const parts = [first.value]
    for await (const part of reading) parts.push(part)
    expect(Buffer.concat(parts.filter((part) => part !== undefined)).toString()).toBe(text)
    const after = await feedOf(app, trickle.key.buildId, { after: 100, limit: 1000 })
    trickle.checkItems([...before, ...after])
  })

  test('merges frames that share a file with another build and keeps the file for the other one', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const [one, other] = [
      new Trickle(await runAttempt(scene, await submit(scene))),
      new Trickle(await runAttempt(scene, await submit(scene))),
    ]
    for (let n = 0; n < 100; n += 1) await Promise.all([one.write(app, 1), other.write(app, 1)])
    await say(app, one.key, ended('success'))
    await round(held)
    await one.check(app)
    await other.check(app)
    await say(app, other.key, ended('success'))
    await round(held)
    await one.check(app)
    await other.check(app)
    expect(filesOf(held).length).toBeLessThanOrEqual(4)
  })

  test.each(['put', 'get', 'head', 'delete'] as const)(
    'merges files in the next run after `%s` fails at any time',
    async (call) => {
      await using held = await openTestApp(database)
      const { app, clock } = held
      const { trickle } = await begin(held)
      await trickle.write(app, 60)
      await say(app, trickle.key, ended('success'))
      clock.advance(SETTLE_MS)
      for (const nth of [1, 2, 40]) {
        const restore = breakObjects(app.logs.objects, call, nth)
        await compactDue(app).catch(() => undefined)
        restore()
        await trickle.check(app)
        clock.advance(SETTLE_MS)
      }
      await round(held)
      await trickle.check(app)
      expect(filesOf(held).length).toBeLessThanOrEqual(16)
    },
  )

  test('leaves a damaged file unchanged and merges the others', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { trickle } = await begin(held)
    await trickle.write(app, 60)
    await say(app, trickle.key, ended('success'))
    const { object } = await app.store.query.selectFrom('chunk').select('object').limit(1).executeTakeFirstOrThrow()
    await app.logs.objects.delete(object)
    await app.logs.objects.put(object, [Buffer.from('x')])
    await round(held)
    expect(filesOf(held)).toHaveLength(2)
    expect(await app.logs.objects.head(object)).toEqual({ bytes: 1 })
  })

  test('deletes an unreferenced file after a crash between merge and deletion', async () => {
    await using held = await openTestApp(database, { retention: { logDays: 1 } })
    const { app, clock } = held
    const { trickle } = await begin(held)
    await trickle.write(app, 40)
    await say(app, trickle.key, ended('success'))
    // Orphans of this hour were already deleted.
    clock.advance(3 * HOUR_MS)
    await retain(app)
    const restore = breakObjects(app.logs.objects, 'delete', 1)
    await compactDue(app)
    clock.advance(UNUSED_MS)
    await expect(compactDue(app)).rejects.toThrow('broken')
    restore()
    expect(filesOf(held)).toHaveLength(41)
    await compactDue(app)
    expect(filesOf(held)).toHaveLength(1)
    clock.advance(25 * HOUR_MS)
    await retain(app)
    clock.advance(UNUSED_MS)
    const again = breakObjects(app.logs.objects, 'delete', 1)
    // A deletion that fails is logged, and the file is found again by a later part of the same run.
    await retain(app)
    again()
    expect(filesOf(held)).toHaveLength(0)
  })

  if (name === 'PostgreSQL')
    test('merges each build once when two servers merge at the same time', async () => {
      const place = await database.fresh()
      await using held = await openTestApp({ ...database, fresh: async () => place })
      const { app, clock } = held
      const scene = await openScene(app)
      const trickles: Trickle[] = []
      for (let n = 0; n < 4; n += 1) {
        const trickle = new Trickle(await runAttempt(scene, await submit(scene)))
        await trickle.write(app, 40)
        await say(app, trickle.key, ended('success'))
        trickles.push(trickle)
      }
      const other = await openApp(
        { ...place, log: silentLog, clock, time: 'process', startsLoops: false },
        () => 'http://server.test',
      )
      try {
        clock.advance(2 * SETTLE_MS)
        let isMerged = false
        const merging = Promise.all([compactDue(app), compactDue(other.app)]).finally(() => (isMerged = true))
        do for (const trickle of trickles) await Promise.all([trickle.check(app), trickle.check(other.app)])
        while (!isMerged)
        await merging
        expect(await app.store.query.selectFrom('chunk').select('object').distinct().execute()).toHaveLength(4)
        clock.advance(UNUSED_MS)
        await Promise.all([compactDue(app), compactDue(other.app)])
        expect(filesOf(held)).toHaveLength(4)
        for (const trickle of trickles) await trickle.check(other.app)
      } finally {
        await other.close()
      }
    })
})

test('merges a log of many files in a folder that is slower than a lease', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { app, clock } = held
  const { trickle } = await begin(held)
  await trickle.write(app, 60)
  await say(app, trickle.key, ended('success'))
  clock.advance(2 * SETTLE_MS)
  const { objects } = app.logs
  const head = objects.head.bind(objects)
  let looks = 0
  Object.assign(objects, {
    head: async (key: string) => {
      looks += 1
      if (looks > 200) throw new Error('the files are checked repeatedly')
      clock.advance(60_000)
      return head(key)
    },
  })
  await compactDue(app)
  expect(await app.store.query.selectFrom('chunk').select('object').distinct().execute()).toHaveLength(1)
  await trickle.check(app)
})

test('does not merge logs on a disk with little free space, unless the logs are in a bucket', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database, { minFreeShare: 0.6 })
  const { trickle } = await begin(held)
  await trickle.write(held.app, 60)
  await say(held.app, trickle.key, ended('success'))
  await round(held)
  expect(filesOf(held)).toHaveLength(60)
  Object.assign(held.app.logs, { folder: undefined })
  await round(held)
  expect(filesOf(held)).toHaveLength(1)
})

test('loses nothing when a server is killed at any point of a merge, and leaves no garbage after the next one', async () => {
  await using database = await DATABASES[0].open()
  const place = await database.fresh()
  const folders = { ...database, fresh: async () => place }
  let startAt = 1_800_000_000_000
  let trickle: Trickle
  {
    await using held = await openTestApp(folders, { startAt })
    ;({ trickle } = await begin(held))
    await trickle.write(held.app, 60)
    await say(held.app, trickle.key, ended('success'))
  }
  const steps = [
    ['head', 1],
    ['write', 2],
    ['put', 1],
    ['get', 3],
    // The file is read a second time for comparison.
    ['get', 61],
    ['write', 3],
    ['write', 4],
    ['delete', 1],
  ] as const
  for (const [call, nth] of steps) {
    startAt += call === 'delete' ? UNUSED_MS : HOUR_MS
    const script = new URL('../../support/compact-and-die.ts', import.meta.url).pathname
    const child = spawnSync(process.execPath, [script, place.dataDir, String(startAt), call, String(nth)], { encoding: 'utf8' })
    expect([call, child.signal, child.stderr]).toEqual([call, 'SIGKILL', ''])
    await using held = await openTestApp(folders, { startAt })
    await trickle.check(held.app)
  }
  startAt += HOUR_MS
  await using held = await openTestApp(folders, { startAt })
  await round(held)
  await trickle.check(held.app)
  held.clock.advance(UNUSED_MS)
  // Files of the killed servers have the time of this machine.
  for (const file of filesOf(held)) utimesSync(file, startAt / 1000, startAt / 1000)
  await retain(held.app)
  expect(filesOf(held)).toHaveLength(1)
  await trickle.check(held.app)
})

/** Makes the nth call fail once. Returns a function that restores the original. */
function breakObjects(objects: Objects, call: 'put' | 'get' | 'head' | 'delete', nth: number): () => void {
  const original = objects[call]
  let calls = 0
  Object.assign(objects, {
    async [call](...parameters: unknown[]): Promise<unknown> {
      calls += 1
      if (calls === nth) throw new Error('broken')
      return Reflect.apply(original, objects, parameters)
    },
  })
  return () => void Object.assign(objects, { [call]: original })
}
