import type { PreferenceRow, SharedViewRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

export async function findPreference(query: Query, ownerId: string): Promise<PreferenceRow | undefined> {
  return query.selectFrom('preference').selectAll().where('owner_id', '=', ownerId).executeTakeFirst()
}

/** Inserts or replaces the preferences of a user. */
export async function savePreference(tx: Tx, row: PreferenceRow): Promise<void> {
  await tx.query
    .insertInto('preference')
    .values(row)
    .onConflict((conflict) => conflict.column('owner_id').doUpdateSet(row))
    .execute()
}

/** Deletes the preferences of users and keys that no longer exist. */
export async function deleteLeftPreferences(tx: Tx): Promise<void> {
  await tx.query
    .deleteFrom('preference')
    .where('owner_id', 'not in', (of) => of.selectFrom('user_account').select('id'))
    .where('owner_id', 'not in', (of) => of.selectFrom('api_key').select('id'))
    .execute()
}

/** Lists shared views by name. */
export async function listSharedViews(query: Query, accountId: string): Promise<SharedViewRow[]> {
  return query.selectFrom('shared_view').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

export async function saveSharedView(tx: Tx, row: SharedViewRow): Promise<void> {
  await tx.query
    .insertInto('shared_view')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function deleteSharedView(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('shared_view').where('id', '=', id).execute()
}
