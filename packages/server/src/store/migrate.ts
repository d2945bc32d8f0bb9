/**
 * Migrates the schema. Servers of two versions share a database during an upgrade, and the older one may be started again. So migrations only add tables,
 * indexes and columns that can be absent, and a server accepts migrations that it does not know. All missing migrations are one transaction; indexes of large
 * tables are built after it.
 */
import { attempt, fault, hasCode, retry, silentLog, systemClock, ticks, type Logger } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, Migrator, type Migration, type MigratorProps } from 'kysely/migration'
import { buildIndexes, findMissing } from './schema/build-indexes.ts'
import { hasTable } from './database/catalog.ts'
import type { FindLockHolders, LockHolder } from './database/lock-holders.ts'
import { isTransient } from './database/transient.ts'
import { migrations } from './migrations/index.ts'
import { onlineIndexes } from './migrations/indexes.ts'
import type { Schema } from './schema/schema.ts'

/**
 * The first migration of those that are recorded in a table of their own. The servers before it refuse a database with migrations that they do not know,
 * and read only the default table.
 */
const FIRST_SEPARATE = '021'

const SEPARATE = {
  migrationTableName: 'later_migration',
  migrationLockTableName: 'later_migration_lock',
  // Versions can add migrations whose names are not in the order of their releases.
  allowUnorderedMigrations: true,
} as const

const RETRY = { baseMs: 200, maxMs: 5_000, tries: 10 }
/** A backup can take hours. Between two tries, the queries that waited behind the migration continue. */
const LOCK_RETRY = { baseMs: 500, maxMs: 10_000 }
/** Time between two looks at who has the lock. Milliseconds. */
const LOOK_MS = 500

type Migrations = Readonly<Record<string, Migration>>

export interface MigrateOptions {
  /** Migrations to apply. Default: all. */
  readonly names?: readonly string[]
  readonly log?: Logger
  readonly findHolders?: FindLockHolders | undefined
}

/** Applies the migrations that are missing, and builds their indexes. Waits as long as other transactions have locks that it needs. Throws `unavailable`. */
export async function migrate(query: Kysely<Schema>, options: MigrateOptions = {}): Promise<void> {
  const { names = Object.keys(migrations) } = options
  await separate(query, options)
  await apply(
    query,
    pick((name) => name < FIRST_SEPARATE && names.includes(name)),
    options,
  )
  await apply(
    query,
    await withUnknown(
      query,
      pick((name) => name >= FIRST_SEPARATE && names.includes(name)),
    ),
    options,
    SEPARATE,
  )
  await addIndexes(query, names, options)
}

/** Returns true if `migrate` has nothing to do. It only reads, and takes a small part of the time that `migrate` takes to find that out. */
export async function isMigrated(query: Kysely<Schema>): Promise<boolean> {
  const [first, later] = [await namesIn(query, DEFAULT_MIGRATION_TABLE), await namesIn(query, SEPARATE.migrationTableName)]
  const names = Object.keys(migrations)
  const expected = names.filter((name) => name < FIRST_SEPARATE)
  // The separate table may have names that this server does not know. One that is misplaced in the first table has to be moved.
  const isRecorded =
    first.length === expected.length && names.every((name) => (name < FIRST_SEPARATE ? first : later).includes(name))
  return isRecorded && (await findMissing(query, onlineIndexes)).length === 0
}

/** A deadlock, or a connection that is lost, ends the build of an index. Then it is built again. */
async function addIndexes(query: Kysely<Schema>, names: readonly string[], options: MigrateOptions): Promise<void> {
  const indexes = onlineIndexes.filter(({ after }) => names.includes(after))
  try {
    await retry({ ...RETRY, clock: systemClock, retryIf: isTransient }, () => buildIndexes(query, indexes, options))
  } catch (error) {
    throw fault('unavailable', { message: 'Cannot build the indexes of the database.' }, error)
  }
}

/** Returns the names of the migrations that a database has, sorted; none for a database without tables. */
export async function appliedMigrations(query: Kysely<Schema>): Promise<string[]> {
  const recorded = [await namesIn(query, DEFAULT_MIGRATION_TABLE), await namesIn(query, SEPARATE.migrationTableName)]
  return recorded.flat().toSorted(compareNames)
}

/** Tables that only record migrations. */
export const MIGRATION_TABLES: ReadonlySet<string> = new Set([SEPARATE.migrationTableName, SEPARATE.migrationLockTableName])

/** Compares names by their characters, as the migrator does. */
export function compareNames(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function pick(isPart: (name: string) => boolean): Migrations {
  return Object.fromEntries(Object.entries(migrations).filter(([name]) => isPart(name)))
}

/** A server that runs locks the tables in another order, and the database ends one of the two. Then the migrations are applied again. */
async function apply(
  query: Kysely<Schema>,
  part: Migrations,
  options: MigrateOptions,
  tables: Partial<MigratorProps> = {},
): Promise<void> {
  let failed: string | undefined
  try {
    await whileLocked(options, () =>
      retry({ ...RETRY, clock: systemClock, retryIf: (error) => isTransient(error) && !isLockTimeout(error) }, async () => {
        const migrator = new Migrator({ ...tables, db: query, provider: { getMigrations: async () => part } })
        const { error, results } = await migrator.migrateToLatest()
        failed = results?.find(({ status }) => status === 'Error')?.migrationName
        if (error !== undefined) throw error
      }),
    )
  } catch (error) {
    throw fault('unavailable', { message: `Cannot migrate the database${failed === undefined ? '' : ` (${failed})`}.` }, error)
  }
}

/** Repeats `work` until it gets its locks, and logs whose locks it waits for. */
async function whileLocked({ log = silentLog, findHolders }: MigrateOptions, work: () => Promise<void>): Promise<void> {
  let holders: readonly LockHolder[] = []
  const onRetry = (): void => log.warn({ holders }, 'migration waits for transactions that use its tables')
  await retry({ ...LOCK_RETRY, clock: systemClock, retryIf: isLockTimeout, onRetry }, async () => {
    const over = new AbortController()
    const looking = attempt(log, 'lock holders', async () => {
      // Holders are only known while a statement waits.
      for await (const n of ticks(LOOK_MS, { clock: systemClock, signal: over.signal })) {
        const found = n === 0 ? [] : ((await findHolders?.()) ?? [])
        if (found.length > 0) holders = found
      }
    })
    await work().finally(() => over.abort())
    await looking
  })
}

/** lock_not_available; https://www.postgresql.org/docs/15/errcodes-appendix.html. */
function isLockTimeout(error: unknown): boolean {
  return hasCode(error, '55P03')
}

/** Adds the migrations that a newer server has applied. They have no effect, because they are applied. */
async function withUnknown(query: Kysely<Schema>, known: Migrations): Promise<Migrations> {
  const applied = await namesIn(query, SEPARATE.migrationTableName)
  const unknown = applied.filter((name) => !Object.hasOwn(known, name))
  return { ...Object.fromEntries(unknown.map((name) => [name, { up: async () => undefined }])), ...known }
}

/** Moves the records of separate migrations that a development version has written into the default table. */
async function separate(query: Kysely<Schema>, options: MigrateOptions): Promise<void> {
  const misplaced = (await namesIn(query, DEFAULT_MIGRATION_TABLE)).filter((name) => name >= FIRST_SEPARATE)
  if (misplaced.length === 0) return
  // Creates the tables.
  await apply(query, await withUnknown(query, {}), options, SEPARATE)
  await query.transaction().execute(async (tx) => {
    for (const name of misplaced) {
      await sql`insert into ${sql.table(SEPARATE.migrationTableName)} (name, timestamp)
        select name, timestamp from ${sql.table(DEFAULT_MIGRATION_TABLE)} where name = ${name}
        on conflict (name) do nothing`.execute(tx)
      await sql`delete from ${sql.table(DEFAULT_MIGRATION_TABLE)} where name = ${name}`.execute(tx)
    }
  })
}

/** Returns the names in a table of migrations; none if it does not exist. */
async function namesIn(query: Kysely<Schema>, table: string): Promise<string[]> {
  if (!(await hasTable(query, table))) return []
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)}`.execute(query)
  return rows.map(({ name }) => name)
}
