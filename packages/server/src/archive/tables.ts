/** The tables that an archive of this program has, from its migrations. */
import { fault } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { openSqliteFile } from '../store/database/dialect.ts'
import { IN_MEMORY } from '../store/database/sqlite.ts'
import { migrations } from '../store/migrations/index.ts'
import type { Schema } from '../store/schema.ts'
import { invalidArchive, type ArchiveTable } from './format.ts'

/** Rows about running servers, which the servers of the new database write themselves. */
const EXCLUDED: ReadonlySet<string> = new Set(['replica'])

const KNOWN = Object.keys(migrations).toSorted()

/** Applies the first migrations to a database without tables. Throws `unavailable` if one of them fails. */
export async function migrateTo(query: Kysely<Schema>, names: readonly string[]): Promise<void> {
  const wanted = Object.fromEntries(Object.entries(migrations).filter(([name]) => names.includes(name)))
  const migrator = new Migrator({ db: query, provider: { getMigrations: async () => wanted } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw fault('unavailable', { message: 'Cannot create the tables of the archive.' }, error)
}

/** Throws `archive-invalid` if this program does not have these migrations, or others before the last of them. */
export function requireKnownMigrations(names: readonly string[]): void {
  const unknown = names.find((name) => !KNOWN.includes(name))
  if (unknown !== undefined)
    throw invalidArchive(
      `The archive is from a newer server: this version does not have the change ${unknown} of the database.`,
      'Use the version of Windlass that wrote the archive, or a later one.',
    )
  if (KNOWN.slice(0, names.length).some((name, index) => name !== names[index]))
    throw invalidArchive('The archive has other changes of the database than this version.', 'Use the version that wrote it.')
}

/** Returns the names of the migrations that a database has, sorted; none for a database without tables. */
export async function appliedMigrations(query: Kysely<Schema>): Promise<string[]> {
  const found = await query.introspection.getTables({ withInternalKyselyTables: true })
  if (!found.some(({ name }) => name === 'kysely_migration')) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(query)
  return rows.map(({ name }) => name).toSorted()
}

/** Throws `config-invalid` unless a database has all migrations of this program and no others. */
export function requireCurrent(applied: readonly string[]): void {
  if (applied.length === KNOWN.length && applied.every((name, index) => name === KNOWN[index])) return
  throw fault('config-invalid', {
    message: 'The tables of the database are those of another version of Windlass.',
    hint: 'Use the version of the server, or start a server of this version once.',
  })
}

/** Returns the tables and columns of a database with these migrations, sorted by name. */
export async function tablesAt(names: readonly string[]): Promise<ArchiveTable[]> {
  const query = openSqliteFile(IN_MEMORY)
  try {
    await migrateTo(query, names)
    const found = await query.introspection.getTables()
    return found
      .filter(({ name, isView }) => !isView && !EXCLUDED.has(name))
      .map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name).toSorted() }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  } finally {
    await query.destroy()
  }
}
