/** node:sqlite with the interface that Kysely's SQLite dialect expects, opened durably and exclusively. */
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { fault } from '@windlass/kit'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

/** statfs types of NFS and SMB (linux/magic.h); their locks do not exclude a second writer. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
])
/** File name of a database that only exists in memory. */
export const IN_MEMORY = ':memory:'
const MAX_STATEMENTS = 1000
/** After such a statement, the cached ones may return other columns. */
const CHANGES_SCHEMA = /^\s*(?:alter|create|drop)\b/i

export interface OpenSqlite extends SqliteDatabase {
  /** Returns true if a transaction is open. After some errors, such as a full disk, SQLite rolls back by itself. */
  isInTransaction(): boolean
  /**
   * Copies the database into a new file while it is used. The file has the state after one of the transactions that commit in the meantime. Throws
   * `storage-full` if the disk of the file does not have enough space.
   */
  copyTo(file: string): Promise<void>
}

/** Opens or creates the database file. Throws `store-locked` if another process has it open, `config-invalid` on a network file system. */
export function openSqlite(file: string): OpenSqlite {
  const network = file === IN_MEMORY ? undefined : NETWORK_FILE_SYSTEMS.get(statfsSync(dirname(file)).type >>> 0)
  if (network !== undefined) {
    throw fault('config-invalid', {
      message: `The data folder ${dirname(file)} is on ${network}, where SQLite files can be corrupted.`,
      hint: 'Set WINDLASS_SERVER_DATA_DIR to a local disk, or WINDLASS_SERVER_DATABASE_URL to a PostgreSQL database.',
    })
  }
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma locking_mode = exclusive')
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = full')
    database.exec('pragma temp_store = memory')
    database.exec('pragma cache_size = -16384')
    database.exec('begin exclusive; commit')
  } catch (error) {
    database.close()
    if (error instanceof Error && /locked|busy/i.test(error.message)) {
      throw fault('store-locked', { message: `Another server has ${file} open.` }, error)
    }
    throw error
  }
  const prepare = statementCache(database)
  return {
    prepare,
    close: () => database.close(),
    isInTransaction: () => database.isTransaction,
    copyTo: (copy) => copyDatabase(database, { from: file, to: copy }),
  }
}

/** Pages per step of a copy. Statements of the server wait for a step. */
const COPY_PAGES = 256
/** The first step of a copy fails while a transaction is open. */
const COPY_TRIES = 500
const COPY_PAUSE_MS = 5

/** Space that must stay free beside a copy, for what the server writes meanwhile: a share of the copy, and at least so many bytes. */
const MARGIN = { share: 0.1, bytes: 67_108_864 }

interface Copy {
  readonly from: string
  readonly to: string
}

async function copyDatabase(database: DatabaseSync, { from, to }: Copy): Promise<void> {
  requireSpace({ from, to })
  for (let attempt = 1; ; attempt += 1) {
    try {
      await backup(database, to, { rate: COPY_PAGES })
      return
    } catch (error) {
      if (attempt >= COPY_TRIES || !isBusy(error)) throw error
      await sleep(COPY_PAUSE_MS)
    }
  }
}

/** Throws `storage-full` if the disk has less space than a copy and its margin need. */
function requireSpace({ from, to }: Copy): void {
  // The copy contains the pages of the write-ahead log, too.
  const bytes = statSync(from).size + (statSync(`${from}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  const needed = Math.ceil(bytes + Math.max(MARGIN.bytes, bytes * MARGIN.share))
  const { bavail, bsize } = statfsSync(dirname(to))
  const free = bavail * bsize
  if (needed <= free) return
  throw fault('storage-full', {
    message: `A copy of the database needs ${needed} bytes in ${dirname(to)}, and ${free} bytes are free.`,
    hint: 'Free disk space in the data folder of the server, or move it to a larger disk.',
  })
}

/** Results of SQLite for a step that has to be repeated (SQLITE_BUSY, SQLITE_LOCKED). node:sqlite reports 0 if the first step gets one of them. */
const BUSY: ReadonlySet<unknown> = new Set([0, 5, 6])

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && BUSY.has(error.errcode)
}

/** Caches prepared statements by their text, because preparing one costs more than running it. A change of the schema empties the cache. */
function statementCache(database: DatabaseSync): (sql: string) => SqliteStatement {
  const cache = new Map<string, SqliteStatement>()
  return (sql) => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const changesSchema = CHANGES_SCHEMA.test(sql)
    if (cache.size >= MAX_STATEMENTS || changesSchema) cache.clear()
    const statement = toStatement(database.prepare(sql))
    if (!changesSchema) cache.set(sql, statement)
    return statement
  }
}

/** Rows are read as arrays and converted here, because the objects of node:sqlite take twice as long to create and 80 times as long to copy. */
function toStatement(statement: StatementSync): SqliteStatement {
  const names = statement.columns().map(({ name }) => name)
  statement.setReturnArrays(true)
  return {
    reader: names.length > 0,
    all: (parameters) => statement.all(...parameters.map(toInput)).map((row) => toRow(names, row)),
    run: (parameters) => statement.run(...parameters.map(toInput)),
    *iterate(parameters) {
      for (const row of statement.iterate(...parameters.map(toInput))) yield toRow(names, row)
    },
  }
}

/** With `setReturnArrays`, rows are arrays, which the types do not say. */
function toRow(names: readonly string[], row: unknown): Record<string, unknown> {
  const values = row as readonly unknown[]
  const named: Record<string, unknown> = {}
  for (const [index, name] of names.entries()) named[name] = values[index]
  return named
}

function toInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value
  throw new TypeError(`A value of type ${typeof value} cannot be a query parameter.`)
}
