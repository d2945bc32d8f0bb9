/** Reads of one moment of the database, while it is used. For backups. */
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql, type Kysely } from 'kysely'
import type { Schema } from '../schema/schema.ts'

export type Row = Readonly<Record<string, unknown>>

export interface Snapshot {
  readonly query: Kysely<Schema>
  /** Yields all rows of a table, in any order. At most a few of them are in memory. One table can be read at a time. */
  rows(table: string, columns: readonly string[]): AsyncIterable<Row>
}

interface Source {
  /** Where the copy is written. */
  readonly folder: string
  copyTo(file: string): Promise<void>
  open(file: string): Kysely<Schema>
}

const COPY_PREFIX = 'snapshot-'

/** Copies an SQLite database, reads the copy and deletes it. */
export async function readCopy<T>({ folder, copyTo, open }: Source, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const name = `${COPY_PREFIX}${randomBytes(6).toString('hex')}.db`
  try {
    await copyTo(join(folder, name))
    const query = open(join(folder, name))
    return await work({ query, rows: (table, columns) => streamRows(query, table, columns) }).finally(() => query.destroy())
  } finally {
    removeCopies(folder, name)
  }
}

/** Deletes copies of a process that was killed. No other process may use the database. */
export function clearCopies(folder: string): void {
  removeCopies(folder, COPY_PREFIX)
}

/** Deletes the files whose names have the prefix: databases and their journals. */
function removeCopies(folder: string, prefix: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith(prefix)) rmSync(join(folder, name), { force: true })
}

/** Tables and columns by any name. */
type AnySchema = Record<string, Record<string, unknown>>

/** Rows after which other work of the process gets its turn. */
const TURN_ROWS = 200

/** Yields the rows of a table of SQLite. */
export async function* streamRows(query: Kysely<Schema>, table: string, columns: readonly string[]): AsyncGenerator<Row> {
  let count = 0
  const any = query as unknown as Kysely<AnySchema>
  for await (const row of any
    .selectFrom(table)
    .select([...columns])
    .stream()) {
    yield row
    count += 1
    // SQLite answers without waiting.
    if (count % TURN_ROWS === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Reads PostgreSQL in one transaction that sees a single state. */
export async function readTransaction<T>(query: Kysely<Schema>, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return query
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((transaction) => work({ query: transaction, rows: (table, columns) => fetchRows(transaction, table, columns) }))
}

/** Maximum characters of the rows that one fetch should return; more if single rows are larger. */
const FETCH_CHARACTERS = 4_194_304
const FIRST_FETCH = 8
const MAX_FETCH = 1000

/** Yields the rows of a table of PostgreSQL. Must be in a transaction. */
export async function* fetchRows(query: Kysely<Schema>, table: string, columns: readonly string[]): AsyncGenerator<Row> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  await sql`declare snapshot_rows no scroll cursor for select ${names} from ${sql.table(table)}`.execute(query)
  let count = FIRST_FETCH
  for (;;) {
    const { rows } = await sql<Row>`fetch forward ${sql.lit(count)} from snapshot_rows`.execute(query)
    yield* rows
    if (rows.length < count) break
    const size = rows.reduce((sum, row) => sum + sizeOf(row), 0) / rows.length
    count = Math.min(MAX_FETCH, Math.max(FIRST_FETCH, Math.floor(FETCH_CHARACTERS / size)))
  }
  await sql`close snapshot_rows`.execute(query)
}

function sizeOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 1)
}
