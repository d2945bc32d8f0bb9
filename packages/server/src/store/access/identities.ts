import type { IdentityRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

type Key = Pick<IdentityRow, 'account_id' | 'issuer' | 'subject'>

/** Finds the user of a subject of a provider. */
export async function findIdentity(
  query: Query,
  { account_id: account, issuer, subject }: Key,
): Promise<IdentityRow | undefined> {
  return query
    .selectFrom('user_identity')
    .selectAll()
    .where('account_id', '=', account)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

/** Links a user to a subject. The user keeps no other subject of the same provider. */
export async function replaceIdentity(tx: Tx, identity: IdentityRow): Promise<void> {
  await deleteIdentities(tx, identity.user_id, identity.issuer)
  await tx.query.insertInto('user_identity').values(identity).execute()
}

/** Unlinks a user from one provider, or from all. */
export async function deleteIdentities(tx: Tx, userId: string, issuer?: string): Promise<void> {
  let identities = tx.query.deleteFrom('user_identity').where('user_id', '=', userId)
  if (issuer !== undefined) identities = identities.where('issuer', '=', issuer)
  await identities.execute()
}

/** Lists what users are linked to. */
export async function listIdentities(query: Query, userIds: readonly string[]): Promise<IdentityRow[]> {
  if (userIds.length === 0) return []
  return query.selectFrom('user_identity').selectAll().where('user_id', 'in', userIds).execute()
}
