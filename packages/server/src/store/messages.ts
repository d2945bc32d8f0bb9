import { newId } from '@windlass/kit'
import { sql } from 'kysely'
import type { MessageRow } from './schema/schema.ts'
import type { Query, Tx } from './store.ts'

/** Topic that is woken when a message is to be sent. */
export const MESSAGE_TOPIC = 'messages'

/** A message to send. `body` is JSON for the sender of its kind; it contains no secrets, because it is stored and may be shown. */
export interface NewMessage {
  readonly accountId: string
  /** What the message is about, unique in the account. */
  readonly key: string
  readonly kind: MessageRow['kind']
  readonly buildId?: string
  readonly subject: string
  readonly body: object
  readonly now: number
}

/**
 * Stores a message in the transaction of its cause. A message with the key of an earlier one replaces it, and is sent unless it is equal to it: a receiver
 * that was away gets only the last one. A server that is sending the earlier one sends this one afterwards. `mayReplace` decides whether it replaces the
 * earlier one, whose row is locked by then: other transactions with this key have committed or wait. Default: always.
 */
export async function putMessage(
  tx: Tx,
  { accountId, key, kind, buildId, subject, body: content, now }: NewMessage,
  mayReplace: (earlier: MessageRow) => Promise<boolean> = async () => true,
): Promise<void> {
  const id = newId(now)
  const body = JSON.stringify(content)
  const stored = await tx.query
    .insertInto('message')
    .values({
      id,
      account_id: accountId,
      key,
      kind,
      build_id: buildId ?? null,
      subject,
      body,
      version: 1,
      state: 'waiting',
      problem: null,
      tries: 0,
      next_at: now,
      sent_at: null,
      created_at: now,
      updated_at: now,
    })
    // Changes nothing, and locks the row.
    .onConflict((conflict) => conflict.columns(['account_id', 'key']).doUpdateSet({ key }))
    .returningAll()
    .executeTakeFirstOrThrow()
  if (stored.id !== id) {
    if (stored.body === body || !(await mayReplace(stored))) return
    await tx.query
      .updateTable('message')
      .set(({ fn, val, eb }) => ({
        build_id: buildId ?? null,
        subject,
        body,
        version: eb('version', '+', 1),
        state: 'waiting',
        tries: 0,
        updated_at: now,
        next_at: fn.coalesce('next_at', val(now)),
      }))
      .where('id', '=', stored.id)
      .execute()
  }
  tx.wake(MESSAGE_TOPIC)
}

export async function findMessage(query: Query, accountId: string, id: string): Promise<MessageRow | undefined> {
  return query.selectFrom('message').selectAll().where('account_id', '=', accountId).where('id', '=', id).executeTakeFirst()
}

export async function findMessageByKey(query: Query, accountId: string, key: string): Promise<MessageRow | undefined> {
  return query.selectFrom('message').selectAll().where('account_id', '=', accountId).where('key', '=', key).executeTakeFirst()
}

export interface MessageFilter {
  readonly accountId: string
  readonly state: MessageRow['state'] | undefined
  readonly kind: MessageRow['kind'] | undefined
  readonly buildId: string | undefined
  /** Only messages before this one. */
  readonly before: string | undefined
  readonly limit: number
}

/** Lists messages, newest first. */
export async function listMessages(query: Query, filter: MessageFilter): Promise<MessageRow[]> {
  let select = query.selectFrom('message').selectAll().where('account_id', '=', filter.accountId)
  // A literal, so that both databases use the index of failed messages.
  if (filter.state !== undefined) select = select.where('state', '=', sql.lit(filter.state))
  if (filter.kind !== undefined) select = select.where('kind', '=', filter.kind)
  if (filter.buildId !== undefined) select = select.where('build_id', '=', filter.buildId)
  if (filter.before !== undefined) select = select.where('id', '<', filter.before)
  return select.orderBy('id', 'desc').limit(filter.limit).execute()
}

export interface Due {
  readonly kinds: readonly MessageRow['kind'][]
  readonly now: number
}

export async function hasDueMessage(query: Query, { kinds, now }: Due): Promise<boolean> {
  if (kinds.length === 0) return false
  const due = await query
    .selectFrom('message')
    .select('id')
    .where('next_at', '<=', now)
    .where('kind', 'in', kinds)
    .limit(1)
    .executeTakeFirst()
  return due !== undefined
}

/** Takes the message of these kinds with the fewest tries for `holdMs`. No other server sends it in that time. */
export async function takeMessage(
  tx: Tx,
  { kinds, now, holdMs }: Due & { readonly holdMs: number },
): Promise<MessageRow | undefined> {
  const due = await tx.query
    .selectFrom('message')
    .selectAll()
    .where('next_at', '<=', now)
    .where('kind', 'in', kinds)
    // New messages do not wait for those whose receiver is away.
    .orderBy('tries')
    .orderBy('next_at')
    .limit(1)
    .$call(tx.skipLocked)
    .executeTakeFirst()
  if (due === undefined) return undefined
  const taken = { next_at: now + holdMs, tries: due.tries + 1 }
  await tx.query.updateTable('message').set(taken).where('id', '=', due.id).execute()
  return { ...due, ...taken }
}

export interface SendResult {
  readonly now: number
  /** Why it was not sent; null if it was. */
  readonly problem: string | null
  /** When to try again; null to give up. */
  readonly retryAt: number | null
}

/** Stores the result of sending `taken`. If it was replaced in the meantime, the new one is sent at once. */
export async function finishMessage(tx: Tx, taken: MessageRow, { now, problem, retryAt }: SendResult): Promise<void> {
  const row = await tx.query
    .selectFrom('message')
    .select('version')
    .where('id', '=', taken.id)
    .$call(tx.forUpdate)
    .executeTakeFirst()
  if (row === undefined) return
  const sent = problem === null ? { sent_at: now } : {}
  const state: MessageRow['state'] = problem === null ? 'sent' : retryAt === null ? 'failed' : 'waiting'
  const next = row.version === taken.version ? { state, next_at: retryAt } : { next_at: now, tries: 0 }
  await tx.query
    .updateTable('message')
    .set({ problem, updated_at: now, ...sent, ...next })
    .where('id', '=', taken.id)
    .execute()
}

/** Sends a message again as if it were new. Returns false if it does not exist. */
export async function repeatMessage(
  tx: Tx,
  { accountId, id, now }: { accountId: string; id: string; now: number },
): Promise<boolean> {
  const { numUpdatedRows: count } = await tx.query
    .updateTable('message')
    .set(({ eb }) => ({ state: 'waiting', version: eb('version', '+', 1), tries: 0, next_at: now, updated_at: now }))
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  tx.wake(MESSAGE_TOPIC)
  return count > 0n
}

/** Deletes a message that the server has replaced by others. */
export async function deleteMessage(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('message').where('id', '=', id).execute()
}

/** Deletes messages that are sent or given up. Returns their number. */
export async function deleteOldMessages(tx: Tx, { before, limit }: { before: number; limit: number }): Promise<number> {
  const old = await tx.query
    .selectFrom('message')
    .select('id')
    .where('updated_at', '<', before)
    .where('next_at', 'is', null)
    .limit(limit)
    .execute()
  const ids = old.map(({ id }) => id)
  // What an app-proxy was asked for and never did.
  if (ids.length > 0) await tx.query.deleteFrom('gitops_errand').where('release_id', 'in', ids).execute()
  // A message that was replaced in the meantime waits to be sent.
  if (ids.length > 0) await tx.query.deleteFrom('message').where('id', 'in', ids).where('next_at', 'is', null).execute()
  return ids.length
}

/** Counts the messages that wait to be sent, and those that are given up. Without the account, so that both counts use a partial index. */
export async function countMessages(query: Query): Promise<Readonly<Record<'waiting' | 'failed', number>>> {
  const base = query.selectFrom('message').select((of) => of.fn.countAll<number>().as('count'))
  const waiting = await base.where('next_at', 'is not', null).executeTakeFirstOrThrow()
  // A literal: SQLite uses a partial index only for its condition without parameters.
  const failed = await base.where('state', '=', sql.lit('failed' as const)).executeTakeFirstOrThrow()
  return { waiting: waiting.count, failed: failed.count }
}
