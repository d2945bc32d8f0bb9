/**
 * The only place that depends on the database product: how to open it, lock rows, wake other servers and check health.
 * Everything else uses one portable subset of SQL.
 */
import { join } from 'node:path'
import { fault, hasCode, isFault, sentences, type Clock, type Logger } from '@windlass/kit'
import {
  Kysely,
  PostgresDialect,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  sql,
  type DatabaseConnection,
  type Driver,
  type SelectQueryBuilder,
} from 'kysely'
import type { PoolConfig } from 'pg'
import { openLocalBus, type Bus } from './bus.ts'
import { openPostgresBus } from './postgres-bus.ts'
import { findLockHolders, type FindLockHolders } from './lock-holders.ts'
import {
  DATABASE_LIMITS,
  migrationOptions,
  openPool,
  poolOptions,
  unlimitedOptions,
  type DatabaseLimits,
} from './postgres-pool.ts'
import type { Schema } from '../schema/schema.ts'
import { clearCopies, fetchRows, readCopy, readTransaction, streamRows, type Row, type Snapshot } from './snapshot.ts'
import { openSqlite, type OpenSqlite } from './sqlite.ts'

type Select<DB, TB extends keyof DB, O> = SelectQueryBuilder<DB, TB, O>

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  readonly query: Kysely<Schema>
  readonly bus: Bus
  /** Maximum time between two reads of the store while waiting for a wake-up. Milliseconds. */
  readonly pollMs: number
  /** True if all transactions use one connection, so that several of them may share one commit. */
  readonly isSingleWriter: boolean
  /** Locks the rows until the end of the transaction. Does nothing on SQLite, which has a single writer. */
  forUpdate<DB, TB extends keyof DB, O>(query: Select<DB, TB, O>): Select<DB, TB, O>
  /** Locks the rows against changes; other transactions can share the lock. */
  forShare<DB, TB extends keyof DB, O>(query: Select<DB, TB, O>): Select<DB, TB, O>
  /** Like `forUpdate`, but skips rows that another transaction has locked. */
  skipLocked<DB, TB extends keyof DB, O>(query: Select<DB, TB, O>): Select<DB, TB, O>
  /**
   * Runs schema migrations on connections without a statement timeout. On PostgreSQL a statement that waits for a lock fails after two seconds, and
   * `findHolders` tells whose lock it is while the statement waits.
   */
  migrate<T>(work: (query: Kysely<Schema>, findHolders?: FindLockHolders) => Promise<T>): Promise<T>
  /** Runs `work` on connections without timeouts for statements and locks. */
  withoutLimits<T>(work: (query: Kysely<Schema>) => Promise<T>): Promise<T>
  /** Yields all rows of a table in a transaction, in any order and a few at a time. */
  rowsOf(query: Kysely<Schema>, table: string, columns: readonly string[]): AsyncIterable<Row>
  /** Runs `work` on an unchanging state of the database while others use it. */
  readSnapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>
  /** Returns the time of the database in epoch milliseconds. Undefined for SQLite, which uses the clock of this process. */
  readTime?(): Promise<number>
  /** Returns true for an error after which the same transaction may succeed, such as a deadlock or a serialization failure. */
  isRetryable(error: unknown): boolean
  /** Ends waits, then connections. */
  close(): Promise<void>
}

/** Name of the SQLite database in the data folder. */
export const DATABASE_FILE = 'windlass.db'

export interface DialectOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  /** For PostgreSQL; missing fields default to `DATABASE_LIMITS`. */
  readonly databaseLimits?: Partial<DatabaseLimits> | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the database that the options select. Throws the same faults as `openSqlite`, and `unavailable` if PostgreSQL cannot be reached. */
export async function openDialect(options: DialectOptions): Promise<Dialect> {
  return options.databaseUrl === undefined ? sqlite(options) : postgres(options, options.databaseUrl)
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** Skips a rollback that SQLite has already done. It would fail and hide the original error. */
class NodeSqliteDriver extends SqliteDriver {
  readonly #database: OpenSqlite

  constructor(database: OpenSqlite) {
    super({ database })
    this.#database = database
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isInTransaction()) await super.rollbackTransaction(connection)
  }
}

class NodeSqliteDialect extends SqliteDialect {
  readonly #database: OpenSqlite

  constructor(database: OpenSqlite) {
    super({ database })
    this.#database = database
  }

  override createDriver(): Driver {
    return new NodeSqliteDriver(this.#database)
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter()
  }
}

/** Opens a database file for queries. Throws the same faults as `openSqlite`. */
export function openSqliteFile(file: string): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: new NodeSqliteDialect(openSqlite(file)) })
}

function sqlite(options: DialectOptions): Dialect {
  const database = openSqlite(join(options.dataDir, DATABASE_FILE))
  clearCopies(options.dataDir)
  const query = new Kysely<Schema>({ dialect: new NodeSqliteDialect(database) })
  const bus = openLocalBus(options.clock)
  return {
    name: 'sqlite',
    query,
    bus,
    pollMs: 30_000,
    isSingleWriter: true,
    forUpdate: (select) => select,
    forShare: (select) => select,
    skipLocked: (select) => select,
    migrate: (work) => work(query),
    withoutLimits: (work) => work(query),
    rowsOf: streamRows,
    readSnapshot: (work) => readCopy({ folder: options.dataDir, copyTo: database.copyTo, open: openSqliteFile }, work),
    isRetryable: () => false,
    async close() {
      bus.end()
      await query.destroy()
    },
  }
}

async function postgres(options: DialectOptions, url: string): Promise<Dialect> {
  const limits = { ...DATABASE_LIMITS, ...options.databaseLimits }
  const pool = openPool(poolOptions(url, limits), options.log)
  const bus = await openPostgresBus({ url, limits, clock: options.clock, log: options.log }).catch(async (error: unknown) => {
    await pool.end()
    if (isFault(error)) throw error
    throw fault(
      'unavailable',
      { message: sentences(`Cannot connect to PostgreSQL: ${error instanceof Error ? error.message : String(error)}`) },
      error,
    )
  })
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  const using = async <T>(connections: PoolConfig, work: (query: Kysely<Schema>) => Promise<T>): Promise<T> => {
    const own = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(connections, options.log) }) })
    return work(own).finally(() => own.destroy())
  }
  return {
    name: 'postgres',
    query,
    bus,
    pollMs: 2000,
    isSingleWriter: false,
    forUpdate: (select) => select.forUpdate(),
    forShare: (select) => select.forShare(),
    skipLocked: (select) => select.forUpdate().skipLocked(),
    migrate: (work) => using(migrationOptions(url, limits), (migrating) => work(migrating, () => findLockHolders(query))),
    withoutLimits: (work) => using(unlimitedOptions(url, limits), work),
    rowsOf: fetchRows,
    async readSnapshot(work) {
      // A slow reader of the snapshot leaves its transaction idle for longer than the transactions of the server may be.
      const unlimited = {
        ...unlimitedOptions(url, limits),
        idle_in_transaction_session_timeout: 0,
        application_name: 'windlass-snapshot',
      }
      return using(unlimited, (reading) => readTransaction(reading, work))
    },
    isRetryable: isConflict,
    async readTime() {
      const { rows } = await sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(
        query,
      )
      const [row] = rows
      if (row === undefined) throw new Error('the database did not return its time')
      return row.now
    },
    async close() {
      await bus.close()
      await query.destroy()
    },
  }
}

/** Serialization failure and deadlock; https://www.postgresql.org/docs/15/errcodes-appendix.html. */
const CONFLICTS = ['40001', '40P01']

function isConflict(error: unknown): boolean {
  return hasCode(error, ...CONFLICTS)
}
