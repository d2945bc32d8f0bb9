import type { InstallationRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertInstallation(tx: Tx, row: InstallationRow): Promise<void> {
  await tx.query.insertInto('installation').values(row).execute()
}

export async function findInstallation(query: Query, accountId: string, id: string): Promise<InstallationRow | undefined> {
  return query.selectFrom('installation').selectAll().where('account_id', '=', accountId).where('id', '=', id).executeTakeFirst()
}

export async function lockInstallation(tx: Tx, accountId: string, id: string): Promise<InstallationRow | undefined> {
  return tx.query
    .selectFrom('installation')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function updateInstallation(tx: Tx, id: string, changes: Partial<InstallationRow>): Promise<void> {
  await tx.query.updateTable('installation').set(changes).where('id', '=', id).execute()
}

/** Lists installations, newest first. */
export async function listInstallations(query: Query, accountId: string, limit: number): Promise<InstallationRow[]> {
  return query
    .selectFrom('installation')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Deletes all but the newest `keep` installations. */
export async function deleteExcessInstallations(tx: Tx, accountId: string, keep: number): Promise<void> {
  const excess = await tx.query
    .selectFrom('installation')
    .select('id')
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(100)
    .offset(keep)
    .execute()
  const ids = excess.map(({ id }) => id)
  if (ids.length > 0) await tx.query.deleteFrom('installation').where('id', 'in', ids).execute()
}
