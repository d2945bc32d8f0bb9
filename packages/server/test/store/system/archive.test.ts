/** Backup, restore, export and import: between both databases in all directions, under load, and what is refused. */
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { silentLog, systemClock } from '@windlass/kit'
import { ContextInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBucket, logsIn } from '../../../../../e2e/support/log-bucket.ts'
import { startMoto, type Moto } from '../../../../../e2e/support/moto.ts'
import type { App } from '../../../src/app.ts'
import { loadArchive, type Target } from '../../../src/archive/load-archive.ts'
import { readArchive } from '../../../src/archive/read-archive.ts'
import { openContextVariables } from '../../../src/contexts/context-data.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { openApp } from '../../../src/open-app.ts'
import { findMeta } from '../../../src/store/account/meta.ts'
import { findContext } from '../../../src/store/account/contexts.ts'
import { openDialect } from '../../../src/store/database/dialect.ts'
import { appliedMigrations } from '../../../src/store/migrate.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'
import { archiveOf, craftArchive, directArchiveOf } from '../../support/archives.ts'
import { ended, openScene, runAttempt, say, started, stepDone, submit, writeLog, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const KNOWN = Object.keys(migrations).toSorted()
const PASSPHRASE = 'correct horse battery staple'
const LOG = 'Zażółć ☃ 日本\n'.repeat(2000)

let folder = ''
let databases: Database[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'windlass-archive-'))
  databases = await Promise.all(DATABASES.map(({ open }) => open()))
})
afterAll(async () => {
  for (const database of databases) await database[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

let files = 0
const newFile = (): string => join(folder, `${(files += 1)}.tar`)

/** Writes a finished build, one that runs, and a secret. Returns the attempts of both. */
async function fill(app: App): Promise<{ scene: Scene; over: AttemptKey; running: AttemptKey }> {
  const scene = await openScene(app)
  await putContext(app, {
    input: ContextInput.parse({ name: 'token', type: 'secret', data: { TOKEN: 's3cret' } }),
    mustBeNew: true,
  })
  const over = await runAttempt(
    scene,
    await submit(scene, { variables: { TEXT: 'line\nquote " \\ ☃' }, secrets: { ONCE: 's3cret' } }),
  )
  await say(app, over, started)
  await writeLog(app, over, { offset: 0, text: LOG })
  await say(app, over, stepDone('one'), stepDone('two'), ended('success'))
  const running = await runAttempt(scene, await submit(scene))
  await say(app, running, started)
  await writeLog(app, running, { offset: 0, text: 'begun\n' })
  return { scene, over, running }
}

async function logOf(app: App, key: AttemptKey): Promise<string> {
  const pieces = await Array.fromAsync(app.logs.read({ ...key, stream: 'system' }, { from: 0, to: 1_000_000 }))
  return Buffer.concat(pieces).toString('utf8')
}

const copyKey = (from: App, to: Target): void => copyFileSync(join(from.dataDir, 'master.key'), join(to.dataDir, 'master.key'))

/** Opens a server on restored data. */
function openServer(target: Target): ReturnType<typeof openApp> {
  return openApp({ ...target, log: silentLog, startsLoops: false, minFreeShare: 0 }, () => 'http://server.test')
}

describe.each([
  [0, 1],
  [1, 0],
  [0, 0],
  [1, 1],
])('from database %i to database %i', (from, to) => {
  test('restores every row, log and secret; the next archive has the same rows', async () => {
    const [source, destination] = [databases[from], databases[to]]
    if (source === undefined || destination === undefined) throw new Error('no database')
    await using held = await openTestApp(source)
    const { app } = held
    const { over, running } = await fill(app)
    const file = newFile()
    // Deriving a key takes longer than the rest, and its way does not depend on the databases.
    const passphrase = from === to ? PASSPHRASE : undefined
    const written = await archiveOf(app, file, passphrase)
    expect(written.logs).toMatchObject({ objects: 2, missing: 0 })
    expect(written.tables['build']?.rows).toBe(2)

    const target = await destination.fresh({ isBare: true })
    if (passphrase === undefined) copyKey(app, target)
    const loaded = await loadArchive(file, target, { withLogs: true, passphrase })
    expect(loaded).toMatchObject({ writesKeys: passphrase !== undefined, trailer: written })
    const again = newFile()
    const second = await directArchiveOf(target, again, { withLogs: true })
    expect(second.tables).toEqual(written.tables)
    expect(second.logs).toEqual(written.logs)

    const opened = await openServer(target)
    try {
      expect(await logOf(opened.app, over)).toBe(LOG)
      expect(await logOf(opened.app, running)).toBe('begun\n')
      const context = await findContext(opened.app.store.query, opened.app.accountId, 'token')
      expect(context && openContextVariables(opened.app.vault, context)?.values).toEqual({ TOKEN: 's3cret' })
      // The engine of the build that runs continues with the new server.
      await writeLog(opened.app, running, { offset: 6, text: 'ended\n' })
      expect(await logOf(opened.app, running)).toBe('begun\nended\n')
    } finally {
      await opened.close()
    }
  })

  test('an export is moved to the other database with the log storage and the key of the old server', async () => {
    const [source, destination] = [databases[from], databases[to]]
    if (source === undefined || destination === undefined) throw new Error('no database')
    const place = await source.fresh()
    let over: AttemptKey
    {
      await using held = await openTestApp({ ...source, fresh: async () => place })
      over = (await fill(held.app)).over
    }
    const file = newFile()
    await directArchiveOf(place, file, { withLogs: false })
    const target: Target = {
      ...(await destination.fresh({ isBare: true })),
      masterKey: readFileSync(join(place.dataDir, 'master.key'), 'utf8'),
    }
    await expect(loadArchive(file, target, { withLogs: false })).rejects.toMatchObject({ code: 'config-invalid' })
    const withOldLogs = { ...target, logsUrl: join(place.dataDir, 'logs') }
    expect(await loadArchive(file, withOldLogs, { withLogs: false })).toMatchObject({ writesKeys: false })
    const opened = await openServer(withOldLogs)
    expect(await logOf(opened.app, over)).toBe(LOG)
    await opened.close()
  })
})

describe.each([0, 1])('an archive of database %i', (index) => {
  const open = (): Database => {
    const database = databases[index]
    if (database === undefined) throw new Error('no database')
    return database
  }

  test('has the state of one moment while builds are submitted and report', async () => {
    await using held = await openTestApp(open())
    const { app } = held
    const { scene, running } = await fill(app)
    let isOver = false
    let offset = 6
    const load = (async () => {
      for (let n = 0; !isOver; n += 1) {
        await Promise.all([submit(scene), submit(scene)])
        offset = await writeLog(app, running, { offset, text: `line ${n}\n` })
        if (n < 3) await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    try {
      for (let round = 0; round < 3; round += 1) {
        const file = newFile()
        await archiveOf(app, file)
        await expectOneMoment(file)
      }
    } finally {
      isOver = true
      await load
    }
    expect(readdirSync(app.dataDir).filter((name) => name.startsWith('snapshot-'))).toEqual([])
  })

  test('loads only into an empty database that no server uses, and only once', async () => {
    await using held = await openTestApp(open())
    await fill(held.app)
    const file = newFile()
    await archiveOf(held.app, file, PASSPHRASE)
    const used = await open().fresh()
    const server = await openServer(used)
    const load = (target: Target, passphrase?: string): Promise<unknown> =>
      loadArchive(file, target, { withLogs: true, passphrase })
    await expect(load(used)).rejects.toMatchObject({ code: expect.stringMatching(/store-not-empty|store-locked|config-invalid/) })
    await server.close()
    rmSync(join(used.dataDir, 'logs'), { recursive: true })
    copyKey(held.app, used)
    await expect(load(used)).rejects.toMatchObject({ code: 'store-not-empty' })
    await expect(loadArchive(file, used, { withLogs: true, isDry: true })).rejects.toMatchObject({ code: 'store-not-empty' })

    const target = await open().fresh({ isBare: true })
    const both = await Promise.allSettled([load(target, PASSPHRASE), load(target, PASSPHRASE)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(load(target)).rejects.toMatchObject({ code: 'store-not-empty' })
  })

  test('leaves the database empty if a row cannot be stored, so that the next import succeeds', async () => {
    const target = await open().fresh({ isBare: true })
    const row = { key: 'one', value: 'of the archive' }
    const file = newFile()
    await craftArchive(file, { migrations: KNOWN, rows: { meta: [row, row] } })
    await expect(loadArchive(file, target, { withLogs: false })).rejects.toThrow(/unique|duplicate/i)
    await craftArchive(file, { migrations: KNOWN, rows: { meta: [row] } })
    await loadArchive(file, target, { withLogs: false })
    const dialect = await openDialect({ ...target, clock: systemClock, log: silentLog })
    expect(await dialect.query.selectFrom('meta').selectAll().execute()).toEqual([row])
    await dialect.close()
  })

  test('of an older version is migrated by the server that uses it', async () => {
    const older = KNOWN.filter((name) => name < '017')
    const target = await open().fresh({ isBare: true })
    const file = newFile()
    const row = { key: 'one', value: 'of an older server' }
    await craftArchive(file, { migrations: older, rows: { meta: [row] } })
    await loadArchive(file, target, { withLogs: false })
    const dialect = await openDialect({ ...target, clock: systemClock, log: silentLog })
    expect(await appliedMigrations(dialect.query)).toEqual(older)
    await dialect.close()
    const opened = await openServer(target)
    expect(await appliedMigrations(opened.app.store.query)).toEqual(KNOWN)
    expect(await findMeta(opened.app.store.query, row.key)).toBe(row.value)
    await opened.close()
  })

  test('can be checked without writing anything', async () => {
    await using held = await openTestApp(open())
    await fill(held.app)
    const file = newFile()
    await archiveOf(held.app, file, PASSPHRASE)
    const target = await open().fresh({ isBare: true })
    expect(await loadArchive(file, target, { withLogs: true, passphrase: PASSPHRASE, isDry: true })).toMatchObject({
      writesKeys: true,
    })
    expect(readdirSync(target.dataDir)).toEqual([])
    copyKey(held.app, target)
    await loadArchive(file, target, { withLogs: true })
  })
})

/** Throws unless the archive is that of one moment: the number of the last build is the number of builds, and each has its plan and its first event. */
async function expectOneMoment(file: string): Promise<void> {
  const columns = new Map<string, readonly string[]>()
  const found = new Map<string, unknown[][]>()
  await readArchive(file, {
    async header(header) {
      for (const table of header.tables) columns.set(table.name, table.columns)
    },
    async rows(table, rows) {
      found.set(table, [...(found.get(table) ?? []), ...rows.map((row) => [...row])])
    },
  })
  const values = (table: string, column: string): unknown[] =>
    (found.get(table) ?? []).map((row) => row[columns.get(table)?.indexOf(column) ?? -1])
  const builds = values('build', 'id')
  expect(values('account', 'last_build_number')).toEqual([builds.length])
  expect(new Set(values('build_plan', 'build_id'))).toEqual(new Set(builds))
  const positions = values('event', 'build_id').length + values('chunk', 'build_id').length
  expect(values('build', 'feed_position').reduce<number>((sum, position) => sum + Number(position), 0)).toBe(positions)
}

test('a damaged, incomplete or foreign archive is refused with what is wrong', async () => {
  const [database] = databases
  if (database === undefined) throw new Error('no database')
  await using held = await openTestApp(database)
  await fill(held.app)
  const file = newFile()
  await archiveOf(held.app, file)
  const whole = readFileSync(file)
  const refusal = (): Promise<unknown> =>
    readArchive(file).then(
      () => 'read',
      (error: unknown) => error,
    )
  const invalid = { code: 'archive-invalid' }

  const flipped = Buffer.from(whole)
  const at = whole.indexOf('alpine')
  flipped.write('alpinf', at)
  writeFileSync(file, flipped)
  expect(await refusal()).toMatchObject({ ...invalid, message: expect.stringContaining('checksum') })
  for (const bytes of [0, 100, 5000, whole.length >> 1, whole.length - 3000]) {
    writeFileSync(file, whole)
    truncateSync(file, bytes)
    expect(await refusal(), `${bytes} bytes`).toMatchObject(invalid)
  }
  writeFileSync(file, 'not an archive')
  expect(await refusal()).toMatchObject(invalid)
  writeFileSync(file, await promisify(gzip)(whole))
  await readArchive(file)
  writeFileSync(file, (await promisify(gzip)(whole)).subarray(0, 2000))
  expect(await refusal()).toMatchObject(invalid)

  const target = await database.fresh({ isBare: true })
  const load = (): Promise<unknown> => loadArchive(file, target, { withLogs: false })
  await craftArchive(file, { migrations: KNOWN, header: { version: 2 } })
  await expect(load()).rejects.toThrow('newer format')
  await craftArchive(file, { migrations: KNOWN, header: { migrations: [...KNOWN, '999-later'] } })
  await expect(load()).rejects.toThrow('999-later')
  await craftArchive(file, { migrations: KNOWN, header: { tables: [{ name: 'account', columns: ['id'] }] } })
  await expect(load()).rejects.toThrow('other tables or columns')
  await craftArchive(file, { migrations: KNOWN, entries: { 'logs/../../windlass.db': 'x' } })
  await expect(load()).rejects.toThrow('unknown entry')
  await craftArchive(file, { migrations: KNOWN, entries: { 'tables/sqlite_master/000001.ndjson': '[1]\n' } })
  await expect(load()).rejects.toThrow('unknown table')
})

test('needs the master key of the old server, or the passphrase of the archive', async () => {
  const [database] = databases
  if (database === undefined) throw new Error('no database')
  await using held = await openTestApp(database)
  await fill(held.app)
  const [plain, sealed] = [newFile(), newFile()]
  await archiveOf(held.app, plain)
  await archiveOf(held.app, sealed, PASSPHRASE)
  const [line = ''] = readFileSync(join(held.app.dataDir, 'master.key'), 'utf8').split('\n')
  for (const file of [plain, sealed]) expect(readFileSync(file).includes(line)).toBe(false)
  const target = await database.fresh({ isBare: true })
  const load = (file: string, passphrase?: string): Promise<unknown> => loadArchive(file, target, { withLogs: true, passphrase })
  await expect(load(plain)).rejects.toThrow('master key of the old server is missing')
  await expect(load(plain, PASSPHRASE)).rejects.toThrow('has no master keys')
  await expect(load(sealed)).rejects.toMatchObject({ hint: expect.stringContaining('--passphrase-file') })
  await expect(load(sealed, `${PASSPHRASE}!`)).rejects.toMatchObject({ code: 'passphrase-wrong' })
  writeFileSync(join(target.dataDir, 'master.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`)
  await expect(load(sealed, PASSPHRASE)).rejects.toThrow('does not belong to the archive')
  copyKey(held.app, target)
  await load(plain)
})

describe('logs in S3', () => {
  let moto: Moto
  beforeAll(async () => {
    moto = await startMoto()
  })
  afterAll(() => moto?.[Symbol.asyncDispose]())

  test('are restored into a bucket from a folder, and back', async () => {
    const [database] = databases
    if (database === undefined) throw new Error('no database')
    await using held = await openTestApp(database)
    const { over } = await fill(held.app)
    const file = newFile()
    await archiveOf(held.app, file)
    const inBucket = { ...(await database.fresh({ isBare: true })), ...logsIn(await createBucket(moto.url), moto.url) }
    copyKey(held.app, inBucket)
    await loadArchive(file, inBucket, { withLogs: true })
    const opened = await openServer(inBucket)
    expect(await logOf(opened.app, over)).toBe(LOG)
    const back = newFile()
    await archiveOf(opened.app, back)
    await opened.close()
    const target = await database.fresh({ isBare: true })
    copyKey(held.app, target)
    await loadArchive(back, target, { withLogs: true })
    const again = await openServer(target)
    expect(await logOf(again.app, over)).toBe(LOG)
    await again.close()
  })

  test('reports log objects that the storage has lost', async () => {
    const [database] = databases
    if (database === undefined) throw new Error('no database')
    await using held = await openTestApp(database)
    await fill(held.app)
    rmSync(join(held.app.dataDir, 'logs', readdirSync(join(held.app.dataDir, 'logs')).find((name) => /^\d/.test(name)) ?? ''), {
      recursive: true,
    })
    expect((await archiveOf(held.app, newFile())).logs).toEqual({ objects: 0, bytes: 0, missing: 2 })
  })
})
