import type { ApiKeyRow, SessionCodeRow, SessionRow, UserRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

/** A session with the key or user that it acts for, which is read at each call. */
export interface OwnedSession extends SessionRow {
  /** Null if the session acts for a user, or if the key was deleted. */
  readonly key_name: string | null
  readonly key_role: ApiKeyRow['role'] | null
  readonly key_expires_at: number | null
  readonly scopes: string | null
  /** The user, or the owner of the key. */
  readonly owner_id: string | null
  readonly owner_name: string | null
  readonly owner_kind: UserRow['kind'] | null
  readonly owner_role: UserRow['role'] | null
  readonly disabled_at: number | null
}

export async function insertSession(tx: Tx, session: SessionRow): Promise<void> {
  await tx.query.insertInto('session').values(session).execute()
}

function selectSessions(query: Query) {
  return query
    .selectFrom('session')
    .leftJoin('api_key', 'api_key.id', 'session.key_id')
    .leftJoin('user_account', (join) =>
      join.on((on) => on('user_account.id', '=', on.fn.coalesce('session.user_id', 'api_key.user_id'))),
    )
    .selectAll('session')
    .select(['api_key.name as key_name', 'api_key.role as key_role', 'api_key.expires_at as key_expires_at', 'api_key.scopes'])
    .select(['user_account.id as owner_id', 'user_account.name as owner_name', 'user_account.kind as owner_kind'])
    .select(['user_account.role as owner_role', 'user_account.disabled_at'])
}

export async function findSession(query: Query, id: string): Promise<OwnedSession | undefined> {
  return selectSessions(query).where('session.id', '=', id).executeTakeFirst()
}

interface Filter {
  readonly accountId: string
  /** Only sessions of this user and of the user's keys. */
  readonly ownerId?: string | undefined
  /** Only sessions of this key. */
  readonly keyId?: string | undefined
}

/** Lists sessions, the latest sign-in first. */
export async function listSessions(query: Query, { accountId, ownerId, keyId }: Filter): Promise<OwnedSession[]> {
  let select = selectSessions(query).where('session.account_id', '=', accountId)
  if (ownerId !== undefined) select = select.where('user_account.id', '=', ownerId)
  if (keyId !== undefined) select = select.where('session.key_id', '=', keyId)
  return select.orderBy('session.created_at', 'desc').orderBy('session.id').execute()
}

export async function updateSession(tx: Tx, id: string, changes: Partial<SessionRow>): Promise<void> {
  await tx.query.updateTable('session').set(changes).where('id', '=', id).execute()
}

type Secrets = Partial<Pick<SessionRow, 'hash' | 'previous_hash' | 'used_hash' | 'rotated_at'>>

/** Changes the secrets of a session. Returns false if another call has replaced them meanwhile. */
export async function replaceSecret(tx: Tx, of: Pick<SessionRow, 'id' | 'hash'>, next: Secrets): Promise<boolean> {
  const { numUpdatedRows } = await updateSecrets(tx, of, next).executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Changes the secrets of a session whose current secret was not used. Returns false if another call has used or replaced it meanwhile. */
export async function replaceUnusedSecret(tx: Tx, of: Pick<SessionRow, 'id' | 'hash'>, next: Secrets): Promise<boolean> {
  const { numUpdatedRows } = await updateSecrets(tx, of, next)
    .where(({ eb, or }) => or([eb('used_hash', 'is', null), eb('used_hash', '<>', of.hash)]))
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

function updateSecrets(tx: Tx, of: Pick<SessionRow, 'id' | 'hash'>, next: Secrets) {
  return tx.query.updateTable('session').set(next).where('id', '=', of.id).where('hash', '=', of.hash)
}

/** Returns false if the session does not exist. */
export async function deleteSession(tx: Tx, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.query.deleteFrom('session').where('id', '=', id).executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Ends all sessions of a key. Returns their number. */
export async function endSessionsOfKey(tx: Tx, keyId: string): Promise<number> {
  const { numDeletedRows } = await tx.query.deleteFrom('session').where('key_id', '=', keyId).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** Returns the number of unused codes of a key that have not expired. */
export async function countSessionCodes(query: Query, keyId: string, now: number): Promise<number> {
  const { count } = await query
    .selectFrom('session_code')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('key_id', '=', keyId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertSessionCode(tx: Tx, code: SessionCodeRow): Promise<void> {
  await tx.query.insertInto('session_code').values(code).execute()
}

/** Deletes a code and returns it. Of several callers only one gets it. */
export async function takeSessionCode(
  tx: Tx,
  { id, hash }: Pick<SessionCodeRow, 'id' | 'hash'>,
): Promise<SessionCodeRow | undefined> {
  return tx.query.deleteFrom('session_code').where('id', '=', id).where('hash', '=', hash).returningAll().executeTakeFirst()
}

/** Deletes what has expired, or was not used since `idleSince`. */
export async function deleteOldSessions(tx: Tx, { now, idleSince }: { now: number; idleSince: number }): Promise<void> {
  await tx.query
    .deleteFrom('session')
    .where((of) => of.or([of('expires_at', '<=', now), of('seen_at', '<=', idleSince)]))
    .execute()
  await tx.query.deleteFrom('session_code').where('expires_at', '<=', now).execute()
}
