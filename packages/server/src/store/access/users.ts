import type { InstallationRole } from '@windlass/protocol'
import { preparedOne } from '../database/prepared.ts'
import { deleteIdentities } from './identities.ts'
import { deleteRolesOf } from './roles.ts'
import type { ApiKeyRow, InvitationRow, UserRow } from '../schema/user-schema.ts'
import { deleteNotificationsOf } from '../notifications.ts'
import type { Query, Tx } from '../store.ts'

const findByName = preparedOne((query: Query, accountId: string, name: string) =>
  query
    .selectFrom('user_account')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)])),
)

/** Finds a user or service account by id or name. */
export async function findUser(query: Query, accountId: string, name: string): Promise<UserRow | undefined> {
  return findByName(query, accountId, name)
}

export interface UserFilter {
  readonly accountId: string
  readonly kind?: UserRow['kind'] | undefined
  readonly after?: string | undefined
  readonly limit: number
}

/** Lists users and service accounts by name. */
export async function listUsers(query: Query, { accountId, kind, after, limit }: UserFilter): Promise<UserRow[]> {
  let select = query.selectFrom('user_account').selectAll().where('account_id', '=', accountId)
  if (kind !== undefined) select = select.where('kind', '=', kind)
  if (after !== undefined) select = select.where('name', '>', after)
  return select.orderBy('name').limit(limit).execute()
}

export async function insertUser(tx: Tx, user: UserRow): Promise<void> {
  await tx.query.insertInto('user_account').values(user).execute()
}

export async function updateUser(tx: Tx, id: string, changes: Partial<UserRow>): Promise<void> {
  await tx.query.updateTable('user_account').set(changes).where('id', '=', id).execute()
}

/** Ends all sessions of a user: those of the password and those of the keys. Returns their number. */
export async function endSessionsOf(tx: Tx, userId: string, except?: string): Promise<number> {
  let ended = tx.query
    .deleteFrom('session')
    .where((where) =>
      where.or([
        where('user_id', '=', userId),
        where('key_id', 'in', where.selectFrom('api_key').select('api_key.id').where('api_key.user_id', '=', userId)),
      ]),
    )
  if (except !== undefined) ended = ended.where('id', '<>', except)
  const { numDeletedRows } = await ended.executeTakeFirstOrThrow()
  await tx.query
    .deleteFrom('session_code')
    .where('key_id', 'in', (of) => of.selectFrom('api_key').select('api_key.id').where('api_key.user_id', '=', userId))
    .execute()
  return Number(numDeletedRows)
}

/** Deletes a user with keys, sessions, invitations and roles. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await endSessionsOf(tx, id)
  for (const table of ['api_key', 'invitation'] as const) await tx.query.deleteFrom(table).where('user_id', '=', id).execute()
  await deleteRolesOf(tx, id)
  await deleteNotificationsOf(tx, id)
  await tx.query.deleteFrom('team_member').where('user_id', '=', id).execute()
  await deleteIdentities(tx, id)
  await tx.query.deleteFrom('user_account').where('id', '=', id).execute()
}

/** Returns the ids of the keys of a user. */
export async function listKeyIds(query: Query, userId: string): Promise<string[]> {
  return (await query.selectFrom('api_key').select('id').where('user_id', '=', userId).execute()).map(({ id }) => id)
}

export interface TeamOfUser {
  readonly user_id: string
  readonly name: string
  readonly role: InstallationRole
}

/** Lists the teams of users by name. */
export async function listTeamsOfUsers(query: Query, userIds: readonly string[]): Promise<TeamOfUser[]> {
  if (userIds.length === 0) return []
  return query
    .selectFrom('team_member')
    .innerJoin('team', 'team.id', 'team_member.team_id')
    .select(['team_member.user_id', 'team.name', 'team.role'])
    .where('team_member.user_id', 'in', userIds)
    .orderBy('team.name')
    .execute()
}

/** Replaces the invitation of a user. */
export async function saveInvitation(tx: Tx, invitation: InvitationRow): Promise<void> {
  await tx.query.deleteFrom('invitation').where('user_id', '=', invitation.user_id).execute()
  await tx.query.insertInto('invitation').values(invitation).execute()
}

/** Deletes an invitation and returns it. Of several callers only one gets it. */
export async function takeInvitation(
  tx: Tx,
  { id, hash }: Pick<InvitationRow, 'id' | 'hash'>,
): Promise<InvitationRow | undefined> {
  return tx.query.deleteFrom('invitation').where('id', '=', id).where('hash', '=', hash).returningAll().executeTakeFirst()
}

/** Finds an invitation without using it. */
export async function findInvitation(query: Query, id: string): Promise<InvitationRow | undefined> {
  return query.selectFrom('invitation').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function deleteOldInvitations(tx: Tx, now: number): Promise<void> {
  await tx.query.deleteFrom('invitation').where('expires_at', '<=', now).execute()
}

/** Returns true if an active admin can still sign in: a user with a password, or a key without limits whose owner is an active admin or that has no owner. */
export async function hasAdmin(query: Query, accountId: string): Promise<boolean> {
  const user = await query
    .selectFrom('user_account')
    .select('id')
    .where('account_id', '=', accountId)
    .where('kind', '=', 'user')
    .where('role', '=', 'admin')
    .where('disabled_at', 'is', null)
    .where('password', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  if (user !== undefined) return true
  const key: Pick<ApiKeyRow, 'id'> | undefined = await query
    .selectFrom('api_key')
    .leftJoin('user_account', 'user_account.id', 'api_key.user_id')
    .select('api_key.id')
    .where('api_key.account_id', '=', accountId)
    .where('api_key.role', '=', 'admin')
    .where('api_key.scopes', 'is', null)
    .where('api_key.expires_at', 'is', null)
    .where((where) =>
      where.or([
        where('api_key.user_id', 'is', null),
        where.and([where('user_account.role', '=', 'admin'), where('user_account.disabled_at', 'is', null)]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return key !== undefined
}
