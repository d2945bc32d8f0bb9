import type { WebhookRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertWebhook(tx: Tx, webhook: WebhookRow): Promise<void> {
  await tx.query.insertInto('webhook').values(webhook).execute()
}

/** Finds a webhook by id or name. */
export async function findWebhook(query: Query, accountId: string, name: string): Promise<WebhookRow | undefined> {
  return query
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .executeTakeFirst()
}

/** Finds a webhook by the id in its address. */
export async function findWebhookById(query: Query, id: string): Promise<WebhookRow | undefined> {
  return query.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst()
}

export interface NamePage {
  readonly accountId: string
  readonly after: string | undefined
  readonly limit: number
}

/** Lists webhooks by name. */
export async function listWebhooks(query: Query, { accountId, after, limit }: NamePage): Promise<WebhookRow[]> {
  let select = query.selectFrom('webhook').selectAll().where('account_id', '=', accountId)
  if (after !== undefined) select = select.where('name', '>', after)
  return select.orderBy('name').limit(limit).execute()
}

/** Lists the webhooks whose repositories are polled. */
export async function listPollingWebhooks(query: Query, accountId: string): Promise<WebhookRow[]> {
  return query
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('polls', '=', 1)
    .where('context', 'is not', null)
    .orderBy('name')
    .execute()
}

/** Deletes a webhook. Its deliveries stay until their retention ends. */
export async function deleteWebhook(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('webhook').where('id', '=', id).execute()
}
