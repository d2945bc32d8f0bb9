/** Deliveries as a resource: what became of each call, and doing it again. */
import { fault, newId } from '@windlass/kit'
import { TriggerVerdict, type Delivery, type DeliveryQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/view.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import type { DeliveryRow } from '../store/schema.ts'
import type { Within } from '../store/store.ts'
import { findDelivery, insertDelivery, listDeliveries, type DeliveryHead } from '../store/triggers/deliveries.ts'
import { findWebhook, findWebhookById, listWebhooks } from '../store/triggers/webhooks.ts'
import { DELIVERY_TOPIC, newDelivery } from './receive.ts'

const Verdicts = z.array(TriggerVerdict)
const MAX_WEBHOOKS = 10_000

/** Lists deliveries, newest first, with the cursor of the next page. Throws `not-found` for an unknown webhook. */
export async function listDeliveryPage(
  app: App,
  query: z.output<typeof DeliveryQuery>,
): Promise<{ readonly items: Delivery[]; readonly next?: string }> {
  const webhook =
    query.webhook === undefined
      ? undefined
      : requireFound(await findWebhook(app.store.query, app.accountId, query.webhook), `webhook "${query.webhook}"`)
  const rows = await listDeliveries(app.store.query, {
    accountId: app.accountId,
    webhookId: webhook?.id,
    repo: query.repo?.toLowerCase(),
    status: query.status,
    before: query.cursor === undefined ? undefined : readCursor(query.cursor),
    limit: query.limit,
  })
  const webhooks = await listWebhooks(app.store.query, { accountId: app.accountId, after: undefined, limit: MAX_WEBHOOKS })
  const names = new Map(webhooks.map(({ id, name }) => [id, name]))
  const last = rows.length === query.limit ? rows.at(-1) : undefined
  return {
    items: rows.map((row) => toDelivery(row, names.get(row.webhook_id))),
    ...(last !== undefined && { next: `${last.received_at}-${last.id}` }),
  }
}

function readCursor(text: string): { receivedAt: number; id: string } {
  const [, receivedAt, id] = /^(\d{1,15})-([0-9a-f]{24})$/.exec(text) ?? []
  if (receivedAt === undefined || id === undefined)
    throw fault('request-invalid', {
      message: 'The cursor does not belong to this list.',
      hint: 'Use `next` of the previous page, or omit the cursor.',
    })
  return { receivedAt: Number(receivedAt), id }
}

/** Returns a delivery with the verdicts of its triggers and its body. Throws `not-found`. */
export async function showDelivery(app: App, id: string): Promise<Delivery> {
  const row = requireFound(await findDelivery(app.store.query, app.accountId, id), `delivery ${id}`)
  const webhook = await findWebhookById(app.store.query, row.webhook_id)
  return { ...toDelivery(row, webhook?.name), triggers: readVerdicts(row), ...present({ body: row.body }) }
}

/**
 * Processes the event of a delivery again, against the triggers as they are now. `within` runs in the same transaction. Throws `not-found`, and `conflict`
 * for a delivery that was refused.
 */
export async function replayDelivery(app: App, id: string, within?: Within<Delivery>): Promise<Delivery> {
  return app.store.write(async (tx) => {
    const before = requireFound(await findDelivery(tx.query, app.accountId, id), `delivery ${id}`)
    const webhook = await findWebhookById(tx.query, before.webhook_id)
    if (before.body === null || webhook === undefined)
      throw fault('conflict', {
        message:
          before.body === null
            ? 'The delivery was refused, so its body is not stored.'
            : 'The webhook of the delivery was deleted.',
        hint: 'Repeat the delivery at the forge.',
      })
    const now = app.clock.now()
    const row: DeliveryRow = {
      ...newDelivery(webhook, { id: newId(now), now }),
      key: `replay:${newId(now)}`,
      event: before.event,
      repo: before.repo,
      branch: before.branch,
      revision: before.revision,
      status: 'received',
      headers: before.headers,
      body: before.body,
      polled: before.polled,
      replay_of: before.id,
      next_at: now,
    }
    await insertDelivery(tx, row)
    tx.wake(DELIVERY_TOPIC)
    const shown = toDelivery(row, webhook.name)
    await within?.(tx, shown)
    return shown
  })
}

function toDelivery(row: DeliveryHead, webhook: string | undefined): Delivery {
  return {
    id: row.id,
    forge: row.forge,
    status: row.status,
    builds: readVerdicts(row).flatMap(({ buildId }) => buildId ?? []),
    repeats: row.repeats,
    receivedAt: row.received_at,
    ...present({
      webhook,
      event: row.event,
      repo: row.repo,
      branch: row.branch,
      revision: row.revision,
      reason: row.reason,
      message: row.message,
      replayOf: row.replay_of,
      isPolled: row.polled === 1 ? true : undefined,
      processedAt: row.processed_at,
    }),
  }
}

function readVerdicts({ verdicts }: Pick<DeliveryRow, 'verdicts'>): TriggerVerdict[] {
  return verdicts === null ? [] : Verdicts.parse(JSON.parse(verdicts))
}
