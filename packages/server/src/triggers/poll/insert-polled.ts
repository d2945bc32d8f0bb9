/** Deliveries of what polling found. */
import { newId } from '@windlass/kit'
import type { App } from '../../app.ts'
import type { PolledRepoRow, WebhookRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { insertDelivery } from '../../store/triggers/deliveries.ts'
import { DELIVERY_TOPIC, newDelivery } from '../deliveries/new-delivery.ts'

interface Found {
  readonly webhook: WebhookRow
  readonly row: PolledRepoRow
  readonly branch: string
  /** Null for the end of the branch. */
  readonly revision: string | null
  /** A push in the form of GitHub. */
  readonly body: string
}

/** Stores a push, or the end of a branch, as a delivery. */
export async function insertPolled(tx: Tx, app: App, { webhook, row, branch, revision, body }: Found): Promise<void> {
  const now = app.clock.now()
  const id = newId(now)
  await insertDelivery(tx, {
    ...newDelivery(webhook, { id, now }),
    key: `poll:${id}`,
    event: 'push',
    repo: row.repo,
    branch,
    revision,
    status: 'received',
    body,
    polled: 1,
    next_at: now,
  })
  tx.wake(DELIVERY_TOPIC)
}
