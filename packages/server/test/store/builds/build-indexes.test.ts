/** Indexes of large tables, which are built while servers use the tables. */
import { silentLog, systemClock } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildIndexes } from '../../../src/store/schema/build-indexes.ts'
import { openDialect, type Dialect } from '../../../src/store/database/dialect.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { onlineIndexes } from '../../../src/store/migrations/indexes.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { Schema } from '../../../src/store/schema/schema.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const ACCOUNT = 'a'.repeat(24)
const BUILDS = 50_000
const NAMES = onlineIndexes.map(({ name }) => name).toSorted()

/** Opens a database with the tables of the version before triggers. */
async function openOlder(place: Awaited<ReturnType<Database['fresh']>>): Promise<Dialect> {
  const dialect = await openDialect({ ...place, clock: systemClock, log: silentLog })
  await dialect.migrate((query) => migrate(query, { names: Object.keys(migrations).filter((name) => name < '021') }))
  return dialect
}

/** Adds ended builds. */
async function addBuilds(query: Kysely<Schema>, count: number): Promise<void> {
  await sql`insert into build
    (id, account_id, status, initiator, trigger, priority, attempt, retries, losses, held, number, feed_position, created_at, finished_at)
    with recursive series(n) as (select 1 union all select n + 1 from series where n < ${sql.lit(count)})
    select 'b' || n, ${sql.lit(ACCOUNT)}, 'success', 'me', 'manual', 0, 1, 0, 0, 0, n, 1, 1700, 1800 from series`.execute(query)
}

/** Returns which of the indexes are there. */
async function indexesOf({ name, query }: Pick<Dialect, 'name' | 'query'>): Promise<string[]> {
  const { rows } = await (
    name === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_schema where type = 'index'`
      : sql<{ name: string }>`select relname as name from pg_class join pg_index on indexrelid = pg_class.oid where indisvalid`
  ).execute(query)
  return rows
    .map((row) => row.name)
    .filter((found) => NAMES.includes(found))
    .toSorted()
}

describe.each(DATABASES)('indexes of large tables on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('are built after the migrations that add their columns', async () => {
    const dialect = await openOlder(await database.fresh({ isBare: true }))
    await addBuilds(dialect.query, 10)
    expect(await indexesOf(dialect)).toEqual([])
    const some = Object.keys(migrations).filter((migration) => migration < '032')
    await dialect.migrate((query) => migrate(query, { names: some }))
    expect(await indexesOf(dialect)).toEqual(['build_project_id_number'])
    for (let start = 1; start <= 2; start += 1) {
      await dialect.migrate((query) => migrate(query))
      expect(await indexesOf(dialect)).toEqual(NAMES)
    }
    const row = await dialect.query.selectFrom('build').select(['id', 'end_reported']).where('number', '=', 10).executeTakeFirst()
    expect(row).toEqual({ id: 'b10', end_reported: null })
    await dialect.close()
  })

  test('are built by the next server that starts, if one is missing or not valid', async () => {
    const place = await database.fresh()
    for (const gone of NAMES.slice(0, 2)) {
      const dialect = await openDialect({ ...place, clock: systemClock, log: silentLog })
      const isInvalid = dialect.name === 'postgres' && gone === NAMES[0]
      await (
        isInvalid
          ? sql`update pg_index set indisvalid = false where indexrelid = ${sql.lit(gone)}::regclass`
          : sql`drop index ${sql.id(gone)}`
      ).execute(dialect.query)
      expect(await indexesOf(dialect)).toEqual(NAMES.filter((name) => name !== gone))
      await dialect.close()
      await using held = await openTestApp({ ...database, fresh: async () => place })
      expect(await indexesOf(held.app.store)).toEqual(NAMES)
    }
  })

  const sharedTest = name === 'SQLite' ? undefined : test
  sharedTest?.('are built while older servers read and write the table', async () => {
    const place = await database.fresh({ isBare: true })
    const dialect = await openOlder(place)
    await dialect.withoutLimits((query) => addBuilds(query, BUILDS))
    const client = async (): Promise<pg.Client> => {
      const opened = new pg.Client({ connectionString: place.databaseUrl, options: '-c lock_timeout=5s' })
      await opened.connect()
      return opened
    }
    const [watcher, older, backup] = [await client(), await client(), await client()]
    // Without a lock on any table, only a build beside transactions waits for it.
    await backup.query('begin isolation level repeatable read')
    await backup.query('select 1')
    const state = { isOver: false }
    const migrating = dialect.migrate((query) => migrate(query)).finally(() => (state.isOver = true))
    const seen: { waits: boolean; blocks: boolean }[] = []
    while (!state.isOver) {
      // Locks that queries or changes of the table wait for.
      const { rows } = await watcher.query<{ waits: boolean; blocks: boolean }>(`
        select phase = 'waiting for old snapshots' as waits, exists (select from pg_locks where relation = relid and granted
          and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) as blocks
        from pg_stat_progress_create_index where datname = current_database() and relid = 'build'::regclass`)
      seen.push(...rows)
      if (rows[0]?.waits === true && seen.filter(({ waits }) => waits).length === 1) {
        expect((await older.query("select number from build where id = 'b7'")).rowCount).toBe(1)
        expect((await older.query("update build set priority = 1 where id = 'b7'")).rowCount).toBe(1)
        await backup.query('commit')
      }
    }
    await migrating
    expect(seen.some(({ waits }) => waits)).toBe(true)
    expect(seen.filter(({ blocks }) => blocks)).toEqual([])
    expect(await indexesOf(dialect)).toEqual(NAMES)
    for (const each of [watcher, older, backup]) await each.end()
    await dialect.close()
  })

  sharedTest?.('are built again after an interrupted build, and once by two servers', async () => {
    const dialect = await openDialect({ ...(await database.fresh()), clock: systemClock, log: silentLog })
    const { query } = dialect
    const [first, second] = onlineIndexes
    await sql`update pg_index set indisvalid = false where indexrelid = ${sql.lit(first?.name)}::regclass`.execute(query)
    await sql`drop index ${sql.id(second?.name ?? '')}`.execute(query)
    expect(await indexesOf(dialect)).toHaveLength(NAMES.length - 2)
    await Promise.all([buildIndexes(query, onlineIndexes), buildIndexes(query, onlineIndexes)])
    expect(await indexesOf(dialect)).toEqual(NAMES)
    await dialect.close()
  })
})
