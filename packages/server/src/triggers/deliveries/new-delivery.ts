import type { DeliveryRow, WebhookRow } from '../../store/schema/schema.ts'

/** Topic that is woken when deliveries are to be processed. */
export const DELIVERY_TOPIC = 'deliveries'

/** Returns a delivery without its content. */
export function newDelivery(
  webhook: Pick<WebhookRow, 'id' | 'account_id'> & Pick<DeliveryRow, 'forge'>,
  { id, now }: { readonly id: string; readonly now: number },
): Omit<DeliveryRow, 'status' | 'key'> {
  return {
    id,
    account_id: webhook.account_id,
    webhook_id: webhook.id,
    forge: webhook.forge,
    event: null,
    repo: null,
    branch: null,
    revision: null,
    reason: null,
    message: null,
    verdicts: null,
    headers: '{}',
    body: null,
    replay_of: null,
    projects: null,
    polled: 0,
    late_heads: null,
    repeats: 0,
    tries: 0,
    next_at: null,
    received_at: now,
    processed_at: null,
  }
}
