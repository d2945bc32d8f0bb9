/**
 * The only place that asks which database it is: how to open it, lock rows, wake others and measure health.
 * Everything else is one portable subset of SQL.
 */
import { join } from 'node:path'
import { fault, isFault, type Clock, type Logger } from '@windlass/kit'
import { Kysely, PostgresDialect, SqliteAdapter, SqliteDialect, type SelectQueryBuilder } from 'kysely'
import pg from 'pg'
import { openLocalBus, type Bus } from './bus.ts'
import { openPostgresBus } from './postgres-bus.ts'
import type { Schema } from './schema.ts'
import { openSqlite } from './sqlite.ts'

type Select<DB, TB extends keyof DB, O> = SelectQueryBuilder<DB, TB, O>

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  readonly query: Kysely<Schema>
  readonly bus: Bus
  /** Longest sleep between two looks at the store while waiting for a wake-up. Milliseconds. */
  readonly pollMs: number
  /** True when all transactions go through one connection, so that several may share one commit. */
  readonly isSingleWriter: boolean
  /** Locks the rows until the end of the transaction; nothing on SQLite, which has one writer. */
  forUpdate<DB, TB extends keyof DB, O>(query: Select<DB, TB, O>): Select<DB, TB, O>
  /** The same, leaving out rows that somebody else has locked. */
  skipLocked<DB, TB extends keyof DB, O>(query: Select<DB, TB, O>): Select<DB, TB, O>
  /** True for an error after which the same transaction may succeed (deadlock, serialization, lost connection before commit). */
  isRetryable(error: unknown): boolean
  /** Ends waits, then connections. */
  close(): Promise<void>
}

export interface DialectOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the database the options name. Throws `store-locked` or `config-invalid` as `openSqlite` says, `unavailable` without PostgreSQL. */
export async function openDialect(options: DialectOptions): Promise<Dialect> {
  return options.databaseUrl === undefined ? sqlite(options) : postgres(options, options.databaseUrl)
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class NodeSqliteDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter()
  }
}

function sqlite(options: DialectOptions): Dialect {
  const query = new Kysely<Schema>({
    dialect: new NodeSqliteDialect({ database: openSqlite(join(options.dataDir, 'windlass.db')) }),
  })
  const bus = openLocalBus(options.clock)
  return {
    name: 'sqlite',
    query,
    bus,
    pollMs: 30_000,
    isSingleWriter: true,
    forUpdate: (select) => select,
    skipLocked: (select) => select,
    isRetryable: () => false,
    async close() {
      bus.end()
      await query.destroy()
    },
  }
}

const INT8 = 20
const NUMERIC = 1700

async function postgres(options: DialectOptions, url: string): Promise<Dialect> {
  const types = {
    getTypeParser: (type: number, format?: 'text' | 'binary') =>
      type === INT8 || type === NUMERIC ? Number : pg.types.getTypeParser(type, format),
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    types,
    connectionTimeoutMillis: 10_000,
    application_name: 'windlass',
  })
  pool.on('error', ({ message }) => options.log.warn({ message }, 'idle database connection lost'))
  // Of a connection in use the pool says nothing: its query rejects, and an error without a listener would end the process.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  const bus = await openPostgresBus({ url, clock: options.clock, log: options.log }).catch(async (error: unknown) => {
    await pool.end()
    if (isFault(error)) throw error
    throw fault(
      'unavailable',
      { message: `PostgreSQL cannot be reached: ${error instanceof Error ? error.message : String(error)}.` },
      error,
    )
  })
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  return {
    name: 'postgres',
    query,
    bus,
    pollMs: 2000,
    isSingleWriter: false,
    forUpdate: (select) => select.forUpdate(),
    skipLocked: (select) => select.forUpdate().skipLocked(),
    isRetryable: isTransient,
    async close() {
      await bus.close()
      await query.destroy()
    },
  }
}

/** Serialization failure, deadlock; https://www.postgresql.org/docs/15/errcodes-appendix.html. */
const TRANSIENT = new Set(['40001', '40P01'])

function isTransient(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && TRANSIENT.has(error.code)
}
