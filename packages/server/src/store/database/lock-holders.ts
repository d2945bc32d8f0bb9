/** Whose locks a migration waits for, on PostgreSQL. */
import { sql, type Kysely } from 'kysely'
import type { Schema } from '../schema/schema.ts'
import { MIGRATION_NAME } from './postgres-pool.ts'

/** A transaction with a lock that a migration waits for. */
export interface LockHolder {
  /** Name of the program, such as `windlass-snapshot` for a backup, or `pg_dump`. */
  readonly application: string
  /** Process of PostgreSQL. */
  readonly pid: number
  /** Age of the transaction. Seconds. */
  readonly seconds: number
}

export type FindLockHolders = () => Promise<LockHolder[]>

/** Returns the transactions that migrations wait for now, the oldest first; none if no migration waits. See `pg_blocking_pids`. */
export async function findLockHolders(query: Kysely<Schema>): Promise<LockHolder[]> {
  const { rows } = await sql<LockHolder>`
    select distinct holder.application_name as application, holder.pid,
      coalesce(extract(epoch from clock_timestamp() - holder.xact_start), 0)::integer as seconds
    from pg_stat_activity waiting
    cross join lateral unnest(pg_blocking_pids(waiting.pid)) as blocking(pid)
    join pg_stat_activity holder on holder.pid = blocking.pid
    where waiting.application_name = ${MIGRATION_NAME} and waiting.datname = current_database()
    order by seconds desc
    limit 10`.execute(query)
  return rows
}
