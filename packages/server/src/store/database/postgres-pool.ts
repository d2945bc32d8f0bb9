/**
 * Connections to PostgreSQL with timeouts, for an unreachable host as well as for a lock whose holder is gone. PostgreSQL also releases the locks of
 * this process if it dies. Without timeouts, an election would hang until the kernel gives up a dead connection, which takes hours.
 */
import type { Logger } from '@windlass/kit'
import pg from 'pg'

/** Limits of PostgreSQL connections. Times are in milliseconds. */
export interface DatabaseLimits {
  /** Maximum connections of this server, in addition to one for wake-ups. */
  readonly connections: number
  /** Maximum wait for a connection, either a new one or a free one of the pool. */
  readonly connectMs: number
  /** Maximum duration of one statement. */
  readonly statementMs: number
  /** Maximum wait for a lock, for example while another server elects. */
  readonly lockMs: number
  /** Time after which the database rolls back an idle transaction. */
  readonly idleMs: number
  /** Idle time of a connection before the kernel sends TCP keepalive probes. */
  readonly keepAliveMs: number
}

export const DATABASE_LIMITS: DatabaseLimits = {
  connections: 10,
  connectMs: 10_000,
  statementMs: 30_000,
  lockMs: 10_000,
  idleMs: 30_000,
  keepAliveMs: 10_000,
}

/** Query timeout on the client, relative to the statement timeout. It is longer, because usually the database ends the statement itself. */
const CLIENT_TIMEOUT_FACTOR = 1.2
const INT8 = 20
/** Name of the connections that migrate. */
export const MIGRATION_NAME = 'windlass-migrate'
const NUMERIC = 1700

const types = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    type === INT8 || type === NUMERIC ? Number : pg.types.getTypeParser(type, format),
}

/** Returns the options that all connections share. */
export function connectionOptions(url: string, { connectMs, statementMs, keepAliveMs }: DatabaseLimits): pg.ClientConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    query_timeout: Math.round(statementMs * CLIENT_TIMEOUT_FACTOR),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
  }
}

/** Returns the options of the pool for regular work. */
export function poolOptions(url: string, limits: DatabaseLimits): pg.PoolConfig {
  return {
    ...connectionOptions(url, limits),
    max: limits.connections,
    types,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleMs,
    application_name: 'windlass',
  }
}

/** Returns the options for work without a statement timeout. */
export function unlimitedOptions(url: string, limits: DatabaseLimits): pg.PoolConfig {
  return {
    ...connectionOptions(url, limits),
    query_timeout: 0,
    max: 2,
    types,
    idle_in_transaction_session_timeout: limits.idleMs,
    application_name: 'windlass-import',
  }
}

/**
 * How long a migration waits for a lock, for example that of a running backup. Queries of servers that need the table wait behind it. It is shorter than
 * `lockMs`, so they succeed afterwards. Milliseconds.
 */
const MIGRATION_LOCK_MS = 2_000

/** Returns the options for migrations. */
export function migrationOptions(url: string, limits: DatabaseLimits): pg.PoolConfig {
  return {
    ...unlimitedOptions(url, limits),
    lock_timeout: Math.min(MIGRATION_LOCK_MS, limits.lockMs),
    application_name: MIGRATION_NAME,
  }
}

/** Opens a pool that logs lost connections, and closes connections that do not answer instead of reusing them. */
export function openPool(options: pg.PoolConfig, log: Logger): pg.Pool {
  const pool = new pg.Pool(options)
  pool.on('error', ({ message }) => log.warn({ message }, 'idle database connection lost'))
  pool.on('connect', (client) => {
    // The pool does not report errors of a connection in use. Its query rejects, but an error event without a listener would end the process.
    client.on('error', () => undefined)
    closeWhenStalled(client)
  })
  return pool
}

/** Closes a connection after a query timeout, because the query still occupies it and would block all later ones. */
export function closeWhenStalled(client: pg.ClientBase): void {
  const ending = client as unknown as pg.Client
  Object.defineProperty(client, 'query', {
    value(...args: unknown[]): unknown {
      // Looked up on each call, so that tests can make statements fail.
      const result: unknown = Reflect.apply(pg.Client.prototype.query as (...args: unknown[]) => unknown, client, args)
      if (result instanceof Promise)
        result.catch((error: unknown) => {
          if (error instanceof Error && error.message === 'Query read timeout') ending.end().catch(() => undefined)
        })
      return result
    },
  })
}
