import type { ReplyRow } from '../schema/schema.ts'
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

/** Stores the response of a call. Returns false if there already is one for the key. */
export async function storeReply(
  tx: Tx,
  reply: ReplyKey & { readonly requestHash: string; readonly status: number; readonly body: string; readonly now: number },
): Promise<boolean> {
  const answer = { request_hash: reply.requestHash, status: reply.status, body: reply.body, created_at: reply.now }
  const { numInsertedOrUpdatedRows = 0n } = await tx.query
    .insertInto('reply')
    .values({ account_id: reply.accountId, actor_id: reply.actorId, key: reply.key, ...answer })
    // Servers of an earlier version insert a row without a response when a call starts.
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'actor_id', 'key']).doUpdateSet(answer).where('reply.status', '=', 0),
    )
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows > 0n
}
