/** Builds indexes of large tables while servers read and write them. On PostgreSQL, an index that is built in a transaction would block them until its end. */
import { attempt, silentLog, systemClock, ticks, type Logger } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import type { FindLockHolders } from '../database/lock-holders.ts'
import type { OnlineIndex } from '../migrations/indexes.ts'
import { findIndexes, isPostgres } from '../database/catalog.ts'
import type { Schema } from './schema.ts'

/** Key of the advisory lock of the server that builds. A second build of the same table would deadlock with the first one. */
const LOCK_KEY = 7_305_114_206
/** Time between two tries to get the lock. Milliseconds. */
const LOCK_RETRY_MS = 500
/** Time between two looks at whose transactions the build waits for. Milliseconds. */
const LOOK_MS = 10_000

export interface BuildIndexesOptions {
  readonly log?: Logger | undefined
  readonly findHolders?: FindLockHolders | undefined
}

/**
 * Builds the indexes that are missing, and those whose build was interrupted. On PostgreSQL it waits for all transactions that started before it; nothing
 * waits for it. `query` must not be a transaction.
 */
export async function buildIndexes(
  query: Kysely<Schema>,
  indexes: readonly OnlineIndex[],
  options: BuildIndexesOptions = {},
): Promise<void> {
  if (!isPostgres(query)) {
    for (const { name, on } of indexes) await sql`create index if not exists ${sql.id(name)} on ${sql.raw(on)}`.execute(query)
    return
  }
  if ((await findMissing(query, indexes)).length === 0) return
  const over = new AbortController()
  const looking = logHolders(options, over.signal)
  await query
    .connection()
    .execute((own) => buildConcurrently(own, indexes))
    .finally(() => over.abort())
  await looking
}

/** Uses one connection, which holds the lock. */
async function buildConcurrently(own: Kysely<Schema>, indexes: readonly OnlineIndex[]): Promise<void> {
  // A build that waits blocks nobody, and would start anew after a timeout.
  await sql`set lock_timeout = 0`.execute(own)
  // A statement that waits for the lock would be a transaction that the build of the other server waits for.
  while (!(await tryLock(own))) await systemClock.sleep(LOCK_RETRY_MS)
  try {
    for (const { name, on } of await findMissing(own, indexes)) {
      // An interrupted build leaves an invalid index.
      await sql`drop index concurrently if exists ${sql.id(name)}`.execute(own)
      await sql`create index concurrently ${sql.id(name)} on ${sql.raw(on)}`.execute(own)
    }
  } finally {
    await sql`select pg_advisory_unlock(${sql.lit(LOCK_KEY)})`.execute(own)
    await sql`reset lock_timeout`.execute(own)
  }
}

async function tryLock(own: Kysely<Schema>): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${sql.lit(LOCK_KEY)}) as locked`.execute(own)
  return rows[0]?.locked === true
}

/** Returns the indexes that are not there or not valid. */
export async function findMissing(query: Kysely<Schema>, indexes: readonly OnlineIndex[]): Promise<OnlineIndex[]> {
  const found = await findIndexes(
    query,
    indexes.map(({ name }) => name),
  )
  return indexes.filter(({ name }) => !found.has(name))
}

/** Logs whose transactions the build waits for, until the signal. */
async function logHolders({ log = silentLog, findHolders }: BuildIndexesOptions, signal: AbortSignal): Promise<void> {
  await attempt(log, 'lock holders', async () => {
    for await (const n of ticks(LOOK_MS, { clock: systemClock, signal })) {
      const holders = n === 0 ? [] : ((await findHolders?.()) ?? [])
      if (holders.length > 0) log.warn({ holders }, 'the build of an index waits for transactions that started before it')
    }
  })
}
