/** The tables that an archive of this program has, from its migrations. */
import { fault } from '@windlass/kit'
import { openSqliteFile } from '../store/database/dialect.ts'
import { IN_MEMORY } from '../store/database/sqlite.ts'
import { compareNames, MIGRATION_TABLES, migrate } from '../store/migrate.ts'
import { migrations } from '../store/migrations/index.ts'
import { invalidArchive, type ArchiveTable } from './format.ts'

/** Rows about running servers, which the servers of the new database write themselves. */
const EXCLUDED: ReadonlySet<string> = new Set(['replica'])

const KNOWN = Object.keys(migrations).toSorted(compareNames)

/** Throws `archive-invalid` if this program does not have these migrations. */
export function requireKnownMigrations(names: readonly string[]): void {
  const unknown = names.find((name) => !Object.hasOwn(migrations, name))
  if (unknown === undefined) return
  throw invalidArchive(
    `The archive is from a newer server: this version does not have the change ${unknown} of the database.`,
    'Use the version of Windlass that wrote the archive, or a later one.',
  )
}

/** Throws `config-invalid` unless a database has all migrations of this program and no others. */
export function requireCurrent(applied: readonly string[]): void {
  if (applied.length === KNOWN.length && applied.every((name, index) => name === KNOWN[index])) return
  throw fault('config-invalid', {
    message: 'The tables of the database are those of another version of Windlass.',
    hint: 'Use the version of the server, or start a server of this version once.',
  })
}

/** The last result of `tablesAt`: applying all migrations takes longer than writing a small archive. */
let last: { readonly names: string; readonly tables: ArchiveTable[] } | undefined

/** Returns the tables and columns of a database with these migrations, sorted by name. */
export async function tablesAt(names: readonly string[]): Promise<ArchiveTable[]> {
  const key = names.join()
  if (last?.names !== key) last = { names: key, tables: await readTables(names) }
  return [...last.tables]
}

async function readTables(names: readonly string[]): Promise<ArchiveTable[]> {
  const query = openSqliteFile(IN_MEMORY)
  try {
    await migrate(query, { names })
    const found = await query.introspection.getTables()
    return found
      .filter(({ name, isView }) => !isView && !EXCLUDED.has(name) && !MIGRATION_TABLES.has(name))
      .map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name).toSorted(compareNames) }))
      .toSorted((one, other) => compareNames(one.name, other.name))
  } finally {
    await query.destroy()
  }
}
