/** Samples of the load of runtimes and of the disk. Each has one row for a time, whichever server writes it first. */
import { sql } from 'kysely'
import type { DiskSampleRow, RuntimeSampleRow } from './schema/schema.ts'
import type { Query, Store, Tx } from './store.ts'

/** Stores samples that no other server has stored. */
export async function insertSamples(
  tx: Tx,
  { runtimes, disk }: { readonly runtimes: readonly RuntimeSampleRow[]; readonly disk: DiskSampleRow | undefined },
): Promise<void> {
  if (runtimes.length > 0)
    await tx.query
      .insertInto('runtime_sample')
      .values([...runtimes])
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  if (disk !== undefined)
    await tx.query
      .insertInto('disk_sample')
      .values(disk)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/** Deletes the samples of an account that are older than these times. */
export async function deleteOldSamples(tx: Tx, accountId: string, before: { runtimes: number; disk: number }): Promise<void> {
  await tx.query.deleteFrom('runtime_sample').where('account_id', '=', accountId).where('at', '<', before.runtimes).execute()
  await tx.query.deleteFrom('disk_sample').where('account_id', '=', accountId).where('at', '<', before.disk).execute()
}

/** Lists the samples of a runtime, oldest first. */
export async function listRuntimeSamples(query: Query, accountId: string, runtime: string): Promise<RuntimeSampleRow[]> {
  return query
    .selectFrom('runtime_sample')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('runtime', '=', runtime)
    .orderBy('at')
    .execute()
}

/** Lists the samples of the disk, oldest first. */
export async function listDiskSamples(query: Query, accountId: string): Promise<DiskSampleRow[]> {
  return query.selectFrom('disk_sample').selectAll().where('account_id', '=', accountId).orderBy('at').execute()
}

/** Returns the version of the database and its size in bytes. */
export async function readDatabase({ name, query }: Store): Promise<{ readonly version: string; readonly bytes: number }> {
  const { rows } = await (
    name === 'postgres'
      ? sql<{
          version: string
          bytes: number
        }>`select current_setting('server_version') as version, pg_database_size(current_database()) as bytes`
      : sql<{
          version: string
          bytes: number
        }>`select sqlite_version() as version, page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
  ).execute(query)
  const [row] = rows
  if (row === undefined) throw new Error('the database did not return its version')
  return { version: row.version, bytes: Number(row.bytes) }
}
