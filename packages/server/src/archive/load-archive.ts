/** Loads an archive into an empty database, and into a log storage. Everything of the database is one transaction. */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fault, hasCode, silentLog, systemClock, writePrivateFile } from '@windlass/kit'
import { sql, type Kysely, type Transaction } from 'kysely'
import { openLogStorage, type LogStorage } from '../logs/objects/storage.ts'
import { readRing } from '../secrets/master-key.ts'
import { MASTER_KEY_FILE, openRing } from '../secrets/ring.ts'
import type { ServerOptions } from '../settings.ts'
import { DATABASE_FILE, openDialect, type Dialect } from '../store/database/dialect.ts'
import type { Row } from '../store/database/snapshot.ts'
import { appliedMigrations, migrate } from '../store/migrate.ts'
import type { Schema } from '../store/schema/schema.ts'
import { RowDigest, toLine, type ArchiveHeader, type ArchiveTrailer, type Value } from './format.ts'
import { readArchive, type ReadArchive } from './read-archive.ts'
import { openKeys } from './sealed-keys.ts'
import { requireKnownMigrations, tablesAt } from './tables.ts'

/** The settings of the server that will use the data. */
export type Target = Pick<
  ServerOptions,
  'dataDir' | 'databaseUrl' | 'databaseLimits' | 'logsUrl' | 'environment' | 's3Limits' | 'masterKey' | 'masterKeyFile'
>

export interface LoadOptions {
  /** Copies the logs of the archive into the log storage. Otherwise the storage must be the one that the database has used. */
  readonly withLogs: boolean
  /** Decrypts the master keys of the archive, which are then written to the data folder. */
  readonly passphrase?: string | undefined
  /** Checks everything and writes nothing. */
  readonly isDry?: boolean
}

export interface LoadedArchive {
  readonly header: ArchiveHeader
  readonly trailer: ArchiveTrailer
  /** True if the master keys of the archive were written, or would be. */
  readonly writesKeys: boolean
}

/**
 * Loads an archive for a server with these settings. No server may use the database. After an error the database is as empty as before, and the call can
 * be repeated. Throws `archive-invalid`, `passphrase-wrong`, `store-not-empty`, `store-locked`, and `config-invalid` if the master key or the log storage
 * does not belong to the archive.
 */
export async function loadArchive(file: string, target: Target, options: LoadOptions): Promise<LoadedArchive> {
  const archive = await readArchive(file)
  const { header, trailer } = archive
  requireKnownMigrations(header.migrations)
  await requireTables(header)
  if (options.withLogs && !header.hasLogs)
    throw fault('archive-invalid', {
      message: 'The archive has no logs.',
      hint: 'Use `windlass server import`, with the log storage that the old server has used.',
    })
  if (options.isDry !== true) mkdirSync(target.dataDir, { recursive: true, mode: 0o700 })
  const newKeys = await findKeys(archive, target, options.passphrase)
  const result = { header, trailer, writesKeys: newKeys !== undefined }
  if (options.isDry === true) {
    await requireEmptyTarget(target)
    return result
  }
  const storage = await openTargetLogs(target, header, options)
  const dialect = await openDialect({ ...target, clock: systemClock, log: silentLog })
  try {
    await requireEmpty(dialect.query)
    if (newKeys !== undefined) writePrivateFile(join(target.dataDir, MASTER_KEY_FILE), newKeys)
    await dialect.migrate((query, findHolders) => migrate(query, { names: header.migrations, findHolders }))
    await dialect.withoutLimits((query) =>
      load(query, { file, archive, dialect, storage: options.withLogs ? storage : undefined }),
    )
  } finally {
    await dialect.close()
  }
  if (options.withLogs && header.logStorage !== null) await storage.writeMark(header.logStorage)
  return result
}

/** Rejects an archive whose tables are not those of its migrations. Their names become part of statements. */
async function requireTables({ migrations, tables }: ArchiveHeader): Promise<void> {
  const expected = JSON.stringify(await tablesAt(migrations))
  if (JSON.stringify(tables) !== expected)
    throw fault('archive-invalid', { message: 'The archive has other tables or columns than its version of the database.' })
}

/**
 * Returns the text of the master keys that are to be written; undefined if the settings have the current key already. Throws `config-invalid` if neither the
 * settings nor the archive have it.
 */
async function findKeys(
  { header, keys }: ReadArchive,
  target: Target,
  passphrase: string | undefined,
): Promise<string | undefined> {
  const current = header.masterKey
  if (passphrase !== undefined && keys === undefined)
    throw fault('archive-invalid', {
      message: 'The archive has no master keys.',
      hint: 'Omit the passphrase, and provide the master key of the old server.',
    })
  const opened = keys === undefined || passphrase === undefined ? undefined : await openKeys(keys, passphrase)
  const own = readOwnKeys(target)
  if (current === null || own?.some(({ id, first }) => id === current || first.id === current) === true) return undefined
  if (own !== undefined)
    throw fault('config-invalid', {
      message: `The master key of ${target.masterKey === undefined ? target.dataDir : 'the settings'} does not belong to the archive.`,
      hint: `Provide the key ${current} of the old server: its master.key, or WINDLASS_SERVER_MASTER_KEY.`,
    })
  if (opened === undefined)
    throw fault('config-invalid', {
      message: 'The master key of the old server is missing, so no secret of the archive can be read.',
      hint:
        keys === undefined
          ? `Copy its master.key to ${target.dataDir}, or set WINDLASS_SERVER_MASTER_KEY.`
          : `Use --passphrase-file, copy its master.key to ${target.dataDir}, or set WINDLASS_SERVER_MASTER_KEY.`,
    })
  const lines = readRing(opened)
  return lines.map(({ text }) => `${text}\n`).join('')
}

function readOwnKeys(target: Target): ReturnType<typeof readRing> | undefined {
  const isMissing = target.masterKey === undefined && !exists(join(target.dataDir, MASTER_KEY_FILE))
  return isMissing ? undefined : [...openRing(target, false).keys()]
}

function exists(file: string): boolean {
  try {
    return statSync(file).isFile()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/** Opens the log storage. Throws `config-invalid` if it belongs to another database. */
async function openTargetLogs(target: Target, header: ArchiveHeader, { withLogs }: LoadOptions): Promise<LogStorage> {
  const { dataDir, logsUrl, environment, s3Limits } = target
  const storage = await openLogStorage({ dataDir, logsUrl, environment, s3Limits, clock: systemClock })
  const mark = await storage.readMark()
  if (mark === (header.logStorage ?? undefined) || (withLogs && mark === undefined)) return storage
  throw fault('config-invalid', {
    message: `The log ${storage.name} does not belong to the archive.`,
    hint: withLogs
      ? 'Use an empty folder, or a prefix of a bucket without logs.'
      : 'Set WINDLASS_SERVER_LOGS_URL to the log storage of the old server. To copy the logs, write the archive with `windlass server backup` and use `windlass server restore`.',
  })
}

/** Writes the log objects of the archive. Objects that an interrupted call has written are kept. */
async function copyLogs(file: string, { objects, folder }: LogStorage): Promise<void> {
  await readArchive(file, {
    async object(key, bytes, content) {
      if ((await objects.head(key))?.bytes === bytes) {
        for await (const piece of content) void piece
        return
      }
      if (folder !== undefined) await objects.delete(`${key}.draft`)
      await objects.put(key, inParts(content))
    },
  })
}

async function* inParts(content: AsyncIterable<Buffer>): AsyncGenerator<readonly Buffer[]> {
  for await (const piece of content) yield [piece]
}

/** Like `requireEmpty`, for a database that must not be created. */
async function requireEmptyTarget(target: Target): Promise<void> {
  if (target.databaseUrl === undefined && !exists(join(target.dataDir, DATABASE_FILE))) return
  const dialect: Dialect = await openDialect({ ...target, clock: systemClock, log: silentLog })
  try {
    await requireEmpty(dialect.query)
  } finally {
    await dialect.close()
  }
}

/** Tables and columns by any name. */
type AnySchema = Record<string, Record<string, unknown>>

/** Throws `store-not-empty` if a table has rows, or has changes that a later version made. */
async function requireEmpty(query: Kysely<Schema>): Promise<void> {
  const applied = await appliedMigrations(query)
  if (applied.length === 0) return
  requireKnownMigrations(applied)
  for (const { name } of await tablesAt(applied)) {
    const any = query as unknown as Kysely<AnySchema>
    if (
      (await any
        .selectFrom(name)
        .select(sql<number>`1`.as('one'))
        .limit(1)
        .executeTakeFirst()) !== undefined
    )
      throw fault('store-not-empty')
  }
}

interface Load {
  readonly file: string
  readonly archive: ReadArchive
  readonly dialect: Dialect
  /** Where the logs are copied to; undefined to leave them where they are. */
  readonly storage: LogStorage | undefined
}

/** Bound values per statement, below the limits of both databases. */
const MAX_VALUES = 16_000

/** Copies the logs, inserts all rows, reads them again and compares them with the archive, in one transaction. */
async function load(query: Kysely<Schema>, { file, archive, dialect, storage }: Load): Promise<void> {
  const { tables, migrations } = archive.header
  const columnsOf = new Map(tables.map(({ name, columns }) => [name, columns]))
  await query.transaction().execute(async (transaction) => {
    if (!dialect.isSingleWriter) {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction)
      // Another import, or a server that starts now, waits and then finds the rows.
      await sql`lock table account, meta in access exclusive mode`.execute(transaction)
    }
    if (JSON.stringify(await appliedMigrations(transaction)) !== JSON.stringify(migrations)) throw fault('store-not-empty')
    await requireEmpty(transaction)
    if (storage !== undefined) await copyLogs(file, storage)
    await readArchive(file, {
      async rows(table, rows) {
        const columns = columnsOf.get(table) ?? []
        const count = Math.max(1, Math.floor(MAX_VALUES / columns.length))
        for (let at = 0; at < rows.length; at += count)
          await insert(transaction, table, { columns, rows: rows.slice(at, at + count) })
      },
    })
    for (const { name, columns } of tables)
      await requireRows(dialect.rowsOf(transaction, name, columns), { name, columns }, archive.trailer)
  })
}

interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

async function insert(transaction: Transaction<Schema>, table: string, { columns, rows }: Rows): Promise<void> {
  const any = transaction as unknown as Transaction<AnySchema>
  const values = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
  try {
    await any.insertInto(table).values(values).execute()
  } catch (error) {
    if (!hasCode(error, '22021')) throw error
    // PostgreSQL stores no NUL in texts (https://www.postgresql.org/docs/15/errcodes-appendix.html); SQLite does.
    throw fault(
      'archive-invalid',
      {
        message: `A row of the table ${table} has a text that PostgreSQL cannot store.`,
        hint: 'Import the archive into SQLite.',
      },
      error,
    )
  }
}

interface Table {
  readonly name: string
  readonly columns: readonly string[]
}

/** Throws `archive-invalid` if the database does not contain exactly the rows of the archive. */
async function requireRows(found: AsyncIterable<Row>, { name, columns }: Table, { tables }: ArchiveTrailer): Promise<void> {
  const digest = new RowDigest()
  for await (const row of found) digest.add(toLine(row, columns))
  const { rows, digest: sum } = digest.result
  if (rows !== tables[name]?.rows || sum !== tables[name].digest)
    throw fault('archive-invalid', {
      message: `The rows of the table ${name} differ from those of the archive after they were stored.`,
    })
}
