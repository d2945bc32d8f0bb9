/**
 * Calls of webhooks. A call is verified and stored, and answered before it is processed: forges and registries give up after a few seconds, and what is stored is
 * processed also after a crash.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { fault, newId, parseJson, sha256 } from '@windlass/kit'
import type { NoBuildReason } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { Headers } from '../../forges/event.ts'
import { webhookPlace } from '../../secrets/places.ts'
import type { DeliveryRow, WebhookRow } from '../../store/schema/schema.ts'
import { insertDelivery } from '../../store/triggers/deliveries.ts'
import { findWebhookById } from '../../store/triggers/webhooks.ts'
import { DELIVERY_TOPIC, newDelivery } from './new-delivery.ts'
import { noteHeads } from '../poll/late-heads.ts'
import { senderReader } from './sender.ts'

/** Maximum body of a call. The limit holds before the body is read. */
export const MAX_DELIVERY_BYTES = 1_048_576

export interface WebhookCall {
  /** Id in the address. */
  readonly webhook: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The parameter `token` of the address, for registries that cannot send headers. */
  readonly token?: string | undefined
}

/**
 * Stores a call. A call that a forge repeats is stored once. Throws `not-found` for an unknown webhook, `signature-wrong`, and `request-invalid` for a body
 * that is not JSON.
 */
export async function receiveDelivery(app: App, call: WebhookCall): Promise<{ id: string; isRepeat: boolean }> {
  const webhook = await findWebhookById(app.store.query, call.webhook)
  if (webhook === undefined)
    throw fault('not-found', { message: 'The webhook does not exist.', hint: 'Remove it at the forge, or create a new one.' })
  const reader = senderReader(webhook.forge)
  const headers = toHeaders(call.headers)
  const secret = app.vault.open(webhookPlace(webhook), webhook.secret)
  if (!reader.verify({ headers, body: call.body, token: call.token }, secret)) {
    await noteRefused(app, webhook, 'signature-wrong')
    throw fault('signature-wrong')
  }
  const text = toText(call)
  const body = parseJson(text)
  if (body === undefined || text.includes('\0')) {
    await noteRefused(app, webhook, 'payload-invalid')
    throw fault('request-invalid', {
      message: 'The body of the webhook call is not JSON.',
      hint: 'Choose application/json as the content type of the webhook.',
    })
  }
  const kept = Object.fromEntries(reader.headers.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))
  return app.store.write(async (tx) => {
    const now = app.clock.now()
    const row: DeliveryRow = {
      ...newDelivery(webhook, { id: newId(now), now }),
      ...reader.about(kept, body),
      late_heads: await noteHeads(tx, webhook.account_id, reader.events(kept, body)),
      // A body without an id is the same delivery if it is sent again.
      key: `id:${reader.deliveryId(headers, body)?.slice(0, 200) ?? sha256(call.body)}`,
      event: reader.eventName(headers, body)?.slice(0, 200) ?? null,
      status: 'received',
      headers: JSON.stringify(kept),
      body: text,
      next_at: now,
    }
    const stored = await insertDelivery(tx, row)
    // Pages that follow the account show also that a call was repeated.
    tx.wake(DELIVERY_TOPIC)
    return stored
  })
}

/** Stores why a call was refused, once for each webhook and reason, so that strangers cannot fill the database. */
async function noteRefused(
  app: App,
  webhook: WebhookRow,
  reason: Extract<NoBuildReason, 'signature-wrong' | 'payload-invalid'>,
): Promise<void> {
  await app.store.write(async (tx) => {
    const now = app.clock.now()
    const row = newDelivery(webhook, { id: newId(now), now })
    await insertDelivery(tx, { ...row, key: `refused:${reason}`, status: 'refused', reason, processed_at: now })
    tx.wake(DELIVERY_TOPIC)
  })
}

function toHeaders(headers: IncomingHttpHeaders): Headers {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

/** Returns the JSON of a call. GitHub can send it as a field of a form. */
function toText({ headers, body }: WebhookCall): string {
  const text = body.toString('utf8')
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
  return isForm ? (new URLSearchParams(text).get('payload') ?? '') : text
}
