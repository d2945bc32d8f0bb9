/** Timeouts on a real PostgreSQL, so that nothing waits forever for a client that is gone. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLog, silentLog, systemClock } from '@windlass/kit'
import { PipelineInput } from '@windlass/protocol'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { toFault } from '../../../src/http/problem.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { openDialect } from '../../../src/store/database/dialect.ts'
import { appliedMigrations, migrate } from '../../../src/store/migrate.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { Query } from '../../../src/store/store.ts'
import { HELLO, openScene, show, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const rejection = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined, toFault)

describe('limits of PostgreSQL', () => {
  let database: Database
  beforeAll(async () => {
    database = await DATABASES[1].open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('limits how long an election waits for the locks of a dead server', async () => {
    const place = await database.fresh()
    await using held = await openTestApp({ ...database, fresh: async () => place }, { databaseLimits: { lockMs: 300 } })
    const scene = await openScene(held.app)
    const build = await submit(scene)
    // It took the locks of an election and then hangs.
    const gone = new pg.Client({ connectionString: place.databaseUrl })
    await gone.connect()
    await gone.query('begin')
    await gone.query('select * from runtime for update')
    expect(await rejection(elect(held.app))).toMatchObject({ code: 'unavailable', retryable: true })
    await gone.end()
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected' })
  })

  test('cancels a statement that takes too long and reuses its connection', async () => {
    // Long enough for the statements of the start.
    await using held = await openTestApp(database, { databaseLimits: { statementMs: 10_000, connections: 1 } })
    const { query } = held.app.store
    expect(await rejection(sql`select pg_sleep(30)`.execute(query))).toMatchObject({ code: 'unavailable' })
    expect((await sql<{ one: number }>`select 1 as one`.execute(query)).rows).toEqual([{ one: 1 }])
  })

  test('rolls back a transaction of a server that hangs, and releases its locks', async () => {
    // Long enough for the transactions of the start.
    await using held = await openTestApp(database, { databaseLimits: { idleMs: 10_000 } })
    const { store } = held.app
    const stalled = store.write(async (tx) => {
      await tx.query.updateTable('account').set({ name: 'half' }).execute()
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.query)
      await untilGone(store.query, rows[0]?.pid ?? 0)
      await tx.query.updateTable('account').set({ name: 'whole' }).execute()
    })
    expect(await rejection(stalled)).toMatchObject({ code: 'unavailable' })
    expect(await store.query.selectFrom('account').select('name').execute()).toEqual([{ name: 'default' }])
  })

  test('a migration that waits for a backup lets queries pass, names the backup, and is applied after it', async () => {
    const place = await database.fresh({ isBare: true })
    const file = join(place.dataDir, 'server.log')
    const fd = openSync(file, 'w')
    const log = openLog({ level: 'warn', name: 'server', fd })
    const dialect = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const names = Object.keys(migrations)
    const isLast = (name: string): boolean => name === '059-reported-ends'
    await dialect.migrate((query) => migrate(query, { names: names.filter((name) => !isLast(name)) }))
    const client = async (name: string): Promise<pg.Client> => {
      const opened = new pg.Client({ connectionString: place.databaseUrl, application_name: name, statement_timeout: 8_000 })
      await opened.connect()
      return opened
    }
    const backup = await client('pg_dump')
    await backup.query('begin')
    await backup.query('select count(*) from build')
    const migrating = dialect.migrate((query, findHolders) => migrate(query, { log, findHolders }))
    const reader = await client('reader')
    while ((await reader.query("select 1 from pg_locks where mode = 'AccessExclusiveLock' and not granted")).rowCount === 0)
      await systemClock.sleep(20)
    expect((await reader.query('select count(*) from build')).rows).toEqual([{ count: '0' }])
    while (readFileSync(file, 'utf8') === '') await systemClock.sleep(20)
    expect(readFileSync(file, 'utf8')).toContain('"holders":[{"application":"pg_dump","pid":')
    expect((await appliedMigrations(dialect.query)).some(isLast)).toBe(false)
    await backup.query('commit')
    await migrating
    expect((await appliedMigrations(dialect.query)).some(isLast)).toBe(true)
    for (const each of [backup, reader]) await each.end()
    await dialect.close()
    closeSync(fd)
  })

  test('reports a conflict when several clients create the same pipeline at the same time', async () => {
    await using held = await openTestApp(database)
    const input = PipelineInput.parse({ name: 'p/one', document: HELLO })
    const ends = await Promise.all(Array.from({ length: 8 }, () => rejection(putPipeline(held.app, { input, precondition: {} }))))
    const codes = new Set(ends.map((end) => (end === undefined ? 'made' : toFault(end).code)))
    expect([...codes].filter((code) => code !== 'made' && code !== 'conflict')).toEqual([])
    expect(codes.has('made')).toBe(true)
    expect(await held.app.store.query.selectFrom('pipeline').select('name').execute()).toHaveLength(1)
  })
})

/** Resolves when PostgreSQL has ended the process of a connection. */
async function untilGone(query: Query, pid: number): Promise<void> {
  for (;;) {
    const { rows } = await sql`select pid from pg_stat_activity where pid = ${pid}`.execute(query)
    if (rows.length === 0) return
    await systemClock.sleep(20)
  }
}
