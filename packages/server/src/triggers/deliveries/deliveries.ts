/** Deliveries as a resource: what became of each call, and doing it again. */
import { fault, newId } from '@windlass/kit'
import type { Delivery, DeliveryQuery, TriggerVerdict } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { present } from '../../builds/lifecycle/view.ts'
import { requireFound } from '../../builds/lifecycle/require-found.ts'
import { hidden } from '../../identity/actor.ts'
import { foreignCursor } from '../../store/cursor.ts'
import type { Places } from '../../store/places.ts'
import type { DeliveryRow } from '../../store/schema/schema.ts'
import type { Within } from '../../store/store.ts'
import {
  findDelivery,
  insertDelivery,
  insertDeliveryPipelines,
  listDeliveries,
  listPipelinesOfDeliveries,
  type DeliveryHead,
} from '../../store/triggers/deliveries.ts'
import { findWebhook, findWebhookById, listWebhooks } from '../../store/triggers/webhooks.ts'
import { DELIVERY_TOPIC, newDelivery } from './new-delivery.ts'
import { showSender } from './sender.ts'
import { findListedPipeline } from '../of-pipeline.ts'
import { showBody } from './shown-body.ts'
import { readVerdicts, summarize } from '../rules/verdicts.ts'

const MAX_WEBHOOKS = 10_000

/**
 * Lists deliveries, newest first, with the cursor of the next page. A delivery belongs to no project. A caller with roles only in some places sees those that
 * a trigger of the places was judged for, without the other triggers. Throws `not-found` for an unknown webhook.
 */
export async function listDeliveryPage(
  app: App,
  query: z.output<typeof DeliveryQuery>,
  places?: Places,
): Promise<{ readonly items: Delivery[]; readonly next?: string }> {
  const webhook =
    query.webhook === undefined
      ? undefined
      : requireFound(await findWebhook(app.store.query, app.accountId, query.webhook), `webhook "${query.webhook}"`)
  const rows = await listDeliveries(app.store.query, {
    accountId: app.accountId,
    webhookId: webhook?.id,
    repo: query.repo?.toLowerCase(),
    branch: query.branch,
    status: query.status,
    // What became of a delivery as a whole tells about the triggers of other places: a caller with roles only in some gets what is seen from there.
    ...(places === undefined && { reason: query.reason, built: query.built }),
    pipelineId: await findListedPipeline(app, { pipeline: query.pipeline, places }),
    places,
    before: query.cursor === undefined ? undefined : readCursor(query.cursor),
    limit: query.limit,
  })
  const webhooks = await listWebhooks(app.store.query, { accountId: app.accountId, after: undefined, limit: MAX_WEBHOOKS })
  const names = new Map(webhooks.map(({ id, name }) => [id, name]))
  const last = rows.length === query.limit ? rows.at(-1) : undefined
  const seen = await seenPipelines(app, rows, places)
  const items = rows.map((row) => toDelivery(row, { webhook: names.get(row.webhook_id), seen }))
  return {
    items: places === undefined ? items : items.filter((item) => isWanted(item, query)),
    ...(last !== undefined && { next: `${last.received_at}-${last.id}` }),
  }
}

/** Pages of such a filter can be short although there are more. */
function isWanted({ reason, builds }: Delivery, query: Pick<z.output<typeof DeliveryQuery>, 'reason' | 'built'>): boolean {
  const isBuilt = query.built === undefined || builds.length > 0 === query.built
  return isBuilt && (query.reason === undefined || reason === query.reason)
}

function readCursor(text: string): { receivedAt: number; id: string } {
  const [, receivedAt, id] = /^(\d{1,15})-([0-9a-f]{24})$/.exec(text) ?? []
  if (receivedAt === undefined || id === undefined) throw foreignCursor()
  return { receivedAt: Number(receivedAt), id }
}

/** Only headers that say what the event is are stored. */
const Headers = z.record(z.string(), z.string())

/** Ids and names of the pipelines whose verdicts the caller may see; undefined for all. */
type Seen = ReadonlySet<string> | undefined

async function seenPipelines(app: App, rows: readonly Pick<DeliveryRow, 'id'>[], places: Places | undefined): Promise<Seen> {
  if (places === undefined) return undefined
  const deliveryIds = rows.map(({ id }) => id)
  const pipelines = await listPipelinesOfDeliveries(app.store.query, { deliveryIds, places })
  return new Set(pipelines.flatMap(({ id, name }) => [id, name]))
}

/** Returns a delivery with the verdicts of its triggers and its body. Throws `not-found`, also for one that no trigger of the places was judged for. */
export async function showDelivery(app: App, id: string, places?: Places): Promise<Delivery> {
  const found = await findDelivery(app.store.query, app.accountId, id)
  const seen = await seenPipelines(app, [{ id }], places)
  if (seen?.size === 0) throw hidden()
  const row = requireFound(found, `delivery ${id}`)
  const webhook = await findWebhookById(app.store.query, row.webhook_id)
  const shown = toDelivery(row, { webhook: webhook?.name, seen })
  return {
    ...shown,
    triggers: seenVerdicts(row, seen),
    headers: Headers.parse(JSON.parse(row.headers)),
    ...present({ body: row.body === null ? null : showBody(row.body) }),
  }
}

interface Replay {
  readonly id: string
  /** Where the caller may start builds; undefined for all. */
  readonly places?: Places | undefined
}

/**
 * Processes the event of a delivery again, against the triggers as they are now, or only against those of the places. `within` runs in the same
 * transaction. Throws `not-found`, and `conflict` for a delivery that was refused.
 */
export async function replayDelivery(app: App, { id, places }: Replay, within?: Within<Delivery>): Promise<Delivery> {
  return app.store.write(async (tx) => {
    const pipelines = places === undefined ? [] : await listPipelinesOfDeliveries(tx.query, { deliveryIds: [id], places })
    if (places !== undefined && pipelines.length === 0) throw hidden()
    const before = requireFound(await findDelivery(tx.query, app.accountId, id), `delivery ${id}`)
    const webhook = await findWebhookById(tx.query, before.webhook_id)
    if (before.body === null || (webhook === undefined && before.forge !== 'windlass'))
      throw fault('conflict', {
        message:
          before.body === null
            ? 'The delivery was refused, so its body is not stored.'
            : 'The webhook of the delivery was deleted.',
        hint: 'Repeat the delivery at the forge or registry.',
      })
    const now = app.clock.now()
    const row: DeliveryRow = {
      ...newDelivery({ id: before.webhook_id, account_id: app.accountId, forge: before.forge }, { id: newId(now), now }),
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
      projects: places === undefined ? null : JSON.stringify([...places.projects, ...places.pipelines]),
      next_at: now,
    }
    await insertDelivery(tx, row)
    await insertDeliveryPipelines(
      tx,
      row.id,
      pipelines.map((pipeline) => pipeline.id),
    )
    tx.wake(DELIVERY_TOPIC)
    const shown = toDelivery(row, { webhook: webhook?.name, seen: undefined })
    await within?.(tx, shown)
    return shown
  })
}

function toDelivery(row: DeliveryHead, { webhook, seen }: { webhook: string | undefined; seen: Seen }): Delivery {
  const verdicts = seenVerdicts(row, seen)
  const { reason, message } = seen === undefined || row.verdicts === null ? row : summarize(verdicts)
  return {
    id: row.id,
    ...showSender(row.forge),
    status: row.status,
    builds: verdicts.flatMap(({ buildId }) => buildId ?? []),
    repeats: row.repeats,
    receivedAt: row.received_at,
    ...present({
      webhook,
      event: row.event,
      repo: row.repo,
      branch: row.branch,
      revision: row.revision,
      reason,
      message,
      replayOf: row.replay_of,
      isPolled: row.polled === 1 ? true : undefined,
      processedAt: row.processed_at,
    }),
  }
}

function seenVerdicts(row: Pick<DeliveryRow, 'verdicts'>, seen: Seen): TriggerVerdict[] {
  const verdicts = readVerdicts(row)
  return seen === undefined ? verdicts : verdicts.filter(({ pipeline, pipelineId }) => seen.has(pipelineId ?? pipeline))
}
