import type { ApiKeyRow, SessionCodeRow, SessionRow } from '../schema.ts'
import type { Query, Tx } from '../store.ts'

/** A session with what it may do, which is read from its key at each call. */
export interface KeyedSession extends SessionRow {
  readonly name: string
  readonly role: ApiKeyRow['role']
  readonly scopes: string | null
}

export async function insertSession(tx: Tx, session: SessionRow): Promise<void> {
  await tx.query.insertInto('session').values(session).execute()
}

/** Selects sessions whose key exists. */
function selectSessions(query: Query) {
  return query
    .selectFrom('session')
    .innerJoin('api_key', 'api_key.id', 'session.key_id')
    .selectAll('session')
    .select(['api_key.name', 'api_key.role', 'api_key.scopes'])
}

export async function findSession(query: Query, id: string): Promise<KeyedSession | undefined> {
  return selectSessions(query).where('session.id', '=', id).executeTakeFirst()
}

interface Filter {
  readonly accountId: string
  /** Undefined for the sessions of all keys. */
  readonly keyId?: string | undefined
}

/** Lists sessions, the latest sign-in first. */
export async function listSessions(query: Query, { accountId, keyId }: Filter): Promise<KeyedSession[]> {
  let select = selectSessions(query).where('session.account_id', '=', accountId)
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
