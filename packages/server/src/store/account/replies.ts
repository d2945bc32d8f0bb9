import type { ReplyRow } from '../schema.ts'
import type { Query, Tx } from '../store.ts'

export interface ReplyKey {
  readonly accountId: string
  readonly actorId: string
  readonly key: string
}

export async function findReply(query: Query, { accountId, actorId, key }: ReplyKey): Promise<ReplyRow | undefined> {
  return query
    .selectFrom('reply')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('actor_id', '=', actorId)
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Records that a call with the key has started; does nothing if it is already recorded. */
export async function insertReply(tx: Tx, reply: ReplyKey & { requestHash: string; now: number }): Promise<void> {
  await tx.query
    .insertInto('reply')
    .values({
      account_id: reply.accountId,
      actor_id: reply.actorId,
      key: reply.key,
      request_hash: reply.requestHash,
      status: 0,
      body: null,
      created_at: reply.now,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'actor_id', 'key']).doNothing())
    .execute()
}

/** Stores the response of the call; returns false if there already is one, or the key belongs to another request. */
export async function finishReply(
  tx: Tx,
  { accountId, actorId, key, requestHash }: ReplyKey & { readonly requestHash: string },
  answer: { status: number; body: string },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.query
    .updateTable('reply')
    .set(answer)
    .where('account_id', '=', accountId)
    .where('actor_id', '=', actorId)
    .where('key', '=', key)
    .where('request_hash', '=', requestHash)
    .where('status', '=', 0)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
