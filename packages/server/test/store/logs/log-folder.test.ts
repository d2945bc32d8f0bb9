/** The marker file that ties a log folder to its database, and what retention does with foreign files. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { compactDue } from '../../../src/logs/objects/compact.ts'
import { newObjectKey } from '../../../src/logs/objects/object-keys.ts'
import { diskStorage } from '../../../src/logs/objects/storage.ts'
import { requireOwnLogs } from '../../../src/logs/objects/storage-mark.ts'
import { retain } from '../../../src/retention.ts'
import { ended, openScene, runAttempt, say, started, submit, writeLog } from '../../support/scene.ts'
import { DATABASES, openTestApp } from '../../support/stores.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const HOUR_MS = 3_600_000
const START = 1_800_000_000_000

const folderOf = ({ dataDir }: Pick<App, 'dataDir'>): string => join(dataDir, 'logs')
const markOf = (app: Pick<App, 'dataDir'>): string => join(folderOf(app), '.log-folder')

/** Returns the log files, without the marker. */
function filesOf(app: Pick<App, 'dataDir'>): string[] {
  return readdirSync(folderOf(app), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== '.log-folder')
    .map(({ parentPath, name }) => join(parentPath, name))
}

/** Writes a finished build with a log of one file. */
async function writeBuild(app: App): Promise<void> {
  const scene = await openScene(app)
  const key = await runAttempt(scene, await submit(scene))
  await say(app, key, started)
  await writeLog(app, key, { offset: 0, text: 'hello\n' })
  await say(app, key, ended('success'))
}

/** Sets the age of all files, including the marker, to match the clock of the test. */
function setAge(app: Pick<App, 'dataDir'>, time: number): void {
  for (const file of [...filesOf(app), markOf(app)]) if (existsSync(file)) utimesSync(file, time / 1000, time / 1000)
}

/** Checks a folder as a server does when it starts. */
async function requireLogFolder({ store, clock }: Pick<App, 'store' | 'clock'>, folder: string): Promise<void> {
  await requireOwnLogs(store, clock, await diskStorage(folder))
}

test('makes servers of one database that start concurrently agree on one log folder', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  await using elsewhere = await openTestApp(database)
  const { store } = held.app
  const [folder, other] = [folderOf(held.app), folderOf(elsewhere.app)]
  await store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
  for (const { app } of [held, elsewhere]) rmSync(markOf(app))
  await Promise.all(Array.from({ length: 5 }, () => requireLogFolder(held.app, folder)))
  await expect(requireLogFolder(held.app, other)).rejects.toMatchObject({ code: 'config-invalid' })
  await expect(requireLogFolder(held.app, other)).rejects.toThrow('does not belong to this database')
  writeFileSync(markOf(elsewhere.app), readFileSync(markOf(held.app)))
  await requireLogFolder(held.app, other)
})

test('starts only one of several concurrent servers with separate log folders', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  await using elsewhere = await openTestApp(database)
  const { store } = held.app
  await store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
  for (const { app } of [held, elsewhere]) rmSync(markOf(app))
  const starts = await Promise.allSettled([held, elsewhere].map(({ app }) => requireLogFolder(held.app, folderOf(app))))
  expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test.each(['before the row', 'before the mark', 'after the mark'])(
  'starts again after a first start that was killed %s',
  async (moment) => {
    await using database = await DATABASES[0].open()
    await using held = await openTestApp(database)
    const { store, clock } = held.app
    await store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
    rmSync(markOf(held.app))
    const storage = await diskStorage(folderOf(held.app))
    const killed = new Error('killed')
    const cut = {
      ...storage,
      async readMark() {
        if (moment === 'before the row') throw killed
        return storage.readMark()
      },
      async writeMark(mark: string) {
        if (moment === 'after the mark') await storage.writeMark(mark)
        throw killed
      },
    }
    await expect(requireOwnLogs(store, clock, cut)).rejects.toBe(killed)
    for (let n = 0; n < 2; n += 1) await requireOwnLogs(store, clock, storage)
    const rows = await store.query.selectFrom('meta').selectAll().where('key', 'like', 'log-folder%').execute()
    expect(rows).toEqual([{ key: 'log-folder', value: await storage.readMark() }])
  },
)

test('starts again after a first start that was killed once its mark was read', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { store, clock } = held.app
  await store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
  rmSync(markOf(held.app))
  const storage = await diskStorage(folderOf(held.app))
  const killed = new Error('killed')
  // The last write of a start stores the row of the database.
  const failing = (nth: number): typeof store => {
    let writes = 0
    return { ...store, write: (work) => ((writes += 1) === nth ? Promise.reject(killed) : store.write(work)) }
  }
  for (const nth of [1, 2]) await expect(requireOwnLogs(failing(nth), clock, storage)).rejects.toBe(killed)
  expect(existsSync(markOf(held.app))).toBe(true)
  await requireOwnLogs(store, clock, storage)
})

test('calls the storage outside of transactions', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { store, clock } = held.app
  await store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
  rmSync(markOf(held.app))
  const storage = await diskStorage(folderOf(held.app))
  // A write of this test would wait for one that waits for the storage.
  const inBetween = (): Promise<unknown> => store.write((tx) => tx.query.selectFrom('meta').selectAll().execute())
  await requireOwnLogs(store, clock, {
    ...storage,
    readMark: async () => (await inBetween(), storage.readMark()),
    writeMark: async (mark) => (await inBetween(), storage.writeMark(mark)),
  })
})

test('keeps the marker of the log folder and files that are not logs', async () => {
  await using database = await DATABASES[0].open()
  const place = await database.fresh()
  const same = { ...database, fresh: async () => place }
  {
    await using held = await openTestApp(same)
    writeFileSync(join(folderOf(held.app), 'note.txt'), 'of the operator')
    await held.app.logs.objects.put('2027-01-15/07/0123456789abcdef01234567', [Buffer.from('without rows')])
    setAge(held.app, START)
    held.clock.advance(100 * HOUR_MS)
    await retain(held.app)
    expect(readdirSync(folderOf(held.app)).toSorted()).toEqual(['.log-folder', '2027-01-15', 'note.txt'])
    expect(filesOf(held.app)).toEqual([join(folderOf(held.app), 'note.txt')])
  }
  await using again = await openTestApp(same, { startAt: START + 101 * HOUR_MS })
  expect(existsSync(markOf(again.app))).toBe(true)
})

test('deletes an unreferenced object that was completed in the hour after the one of its key', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { app, clock } = held
  await retain(app)
  const hour = Math.floor(START / HOUR_MS) * HOUR_MS
  await app.logs.objects.put(newObjectKey(hour + HOUR_MS - 1000), [Buffer.from('without rows')])
  setAge(app, hour + HOUR_MS + 10_000)
  clock.setNow(hour + 25 * HOUR_MS + 60_000)
  await retain(app)
  expect(filesOf(app)).toEqual([])
  await app.logs.objects.put(newObjectKey(clock.now()), [Buffer.from('young')])
  await retain(app)
  expect(filesOf(app)).toHaveLength(1)
})

test('recreates a lost marker only if the folder has the logs of the database', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  await using elsewhere = await openTestApp(database)
  const { app } = held
  await writeBuild(app)
  const mark = readFileSync(markOf(app), 'utf8')
  rmSync(markOf(app))
  await requireLogFolder(app, folderOf(app))
  expect(readFileSync(markOf(app), 'utf8')).toBe(mark)
  rmSync(markOf(elsewhere.app))
  await expect(requireLogFolder(app, folderOf(elsewhere.app))).rejects.toThrow('does not belong to this database')
  expect(existsSync(markOf(elsewhere.app))).toBe(false)
})

test.each(['with', 'without'])('rejects a new database on a folder with logs of another one, %s its marker', async (mark) => {
  await using database = await DATABASES[0].open()
  const place = await database.fresh()
  {
    await using held = await openTestApp({ ...database, fresh: async () => place })
    await writeBuild(held.app)
    setAge(held.app, START)
  }
  for (const name of readdirSync(place.dataDir)) if (name.startsWith('windlass.db')) rmSync(join(place.dataDir, name))
  if (mark === 'without') rmSync(markOf(place))
  const start = openTestApp({ ...database, fresh: async () => place }, { startAt: START + 100 * HOUR_MS })
  await expect(start).rejects.toMatchObject({
    code: 'config-invalid',
    message: `The log folder ${folderOf(place)} belongs to another database.`,
    hint: expect.stringContaining('WINDLASS_SERVER_DATABASE_URL'),
  })
  expect(filesOf(place)).toHaveLength(1)
})

test('starts a database from before markers on its logs, with or without a marker', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { app } = held
  await writeBuild(app)
  for (const isMarked of [true, false]) {
    await app.store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'log-folder').execute())
    if (!isMarked) rmSync(markOf(app))
    await requireLogFolder(app, folderOf(app))
    const { value } = await app.store.query
      .selectFrom('meta')
      .select('value')
      .where('key', '=', 'log-folder')
      .executeTakeFirstOrThrow()
    expect(readFileSync(markOf(app), 'utf8')).toBe(`${value}\n`)
  }
})

test('can restore a database backup from before a merge for a day without losing logs', async () => {
  await using database = await DATABASES[0].open()
  const place = await database.fresh()
  const same = { ...database, fresh: async () => place }
  const backup = join(place.dataDir, 'backup')
  let key: AttemptKey
  {
    await using held = await openTestApp(same)
    const scene = await openScene(held.app)
    key = await runAttempt(scene, await submit(scene))
    await say(held.app, key, started)
    for (let n = 0; n < 40; n += 1) await writeLog(held.app, key, { offset: 2 * n, text: 'x\n' })
    await say(held.app, key, ended('success'))
  }
  copyDatabase(place.dataDir, backup)
  {
    await using held = await openTestApp(same, { startAt: START + HOUR_MS })
    await compactDue(held.app)
    held.clock.advance(22 * HOUR_MS)
    await compactDue(held.app)
    expect(await held.app.store.query.selectFrom('chunk').select('object').distinct().execute()).toHaveLength(1)
  }
  copyDatabase(backup, place.dataDir)
  await using held = await openTestApp(same, { startAt: START + 23 * HOUR_MS })
  setAge(held.app, START)
  await retain(held.app)
  const parts: Buffer[] = []
  for await (const part of held.app.logs.read({ ...key, stream: 'system' }, { from: 0, to: 80 })) parts.push(part)
  expect(Buffer.concat(parts).toString()).toBe('x\n'.repeat(40))
  setAge(held.app, START)
  held.clock.advance(3 * HOUR_MS)
  await retain(held.app)
  // The merged file is unknown to this database.
  expect(filesOf(held.app)).toHaveLength(40)
})

/** Replaces the database of a folder with that of another one. */
function copyDatabase(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  const isPart = (name: string): boolean => name.startsWith('windlass.db')
  for (const name of readdirSync(to).filter(isPart)) rmSync(join(to, name))
  for (const name of readdirSync(from).filter(isPart)) cpSync(join(from, name), join(to, name))
}
