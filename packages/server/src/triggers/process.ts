/**
 * Processing of stored deliveries. Every step can run twice: a build and the mark that its trigger has fired for the event are one transaction (`start.ts`), and
 * the delivery is done only afterwards. Servers hold a delivery for a few seconds, without a lease: what counts is the mark.
 */
import { attempt, backoffMs } from '@windlass/kit'
import type { App } from '../app.ts'
import { isRegistry } from '../registries/registries.ts'
import { isTransient } from '../store/database/transient.ts'
import type { DeliveryRow } from '../store/schema.ts'
import { hasDueDelivery, insertDeliveryPipelines, takeDelivery, updateDelivery } from '../store/triggers/deliveries.ts'
import { findWebhookById } from '../store/triggers/webhooks.ts'
import { buildArtifacts } from './events/artifact-delivery.ts'
import { buildAfterBuild } from './events/build-delivery.ts'
import { buildGitEvents } from './git-delivery.ts'
import { DELIVERY_TOPIC } from './new-delivery.ts'
import { noBuild, writeVerdicts, type Outcome } from './verdicts.ts'

/** How long no other server takes a delivery that one is processing. Milliseconds. */
const HOLD_MS = 5_000
const RETRY = { baseMs: 1_000, maxMs: 60_000 }
/** Number of failures for which the database is not the cause, after which a delivery is given up. */
const MAX_FAILURES = 10

/** Processes deliveries as they arrive, and interrupted ones when they are due again, until the server closes. */
export async function deliverLoop(app: App): Promise<void> {
  using watch = app.store.watch(DELIVERY_TOPIC)
  while (!app.closing.aborted) {
    await attempt(app.log, 'deliveries', () => processDeliveries(app))
    await watch.next(app.timings.sweepMs, app.closing)
  }
}

/** Processes every delivery that is due. */
export async function processDeliveries(app: App): Promise<void> {
  while (!app.closing.aborted && (await processNext(app)));
}

async function processNext(app: App): Promise<boolean> {
  const { store, clock } = app
  if (!(await hasDueDelivery(store.query, clock.now()))) return false
  const delivery = await store.write((tx) => takeDelivery(tx, { now: clock.now(), holdMs: HOLD_MS }))
  if (delivery === undefined) return false
  try {
    const { verdicts, pipelineIds = [], ...outcome } = await carryOut(app, delivery)
    const stored = { ...outcome, ...(verdicts !== undefined && { verdicts: writeVerdicts(verdicts) }) }
    await store.write(async (tx) => {
      await insertDeliveryPipelines(tx, delivery.id, pipelineIds)
      await updateDelivery(tx, delivery.id, { ...stored, status: 'processed', next_at: null, processed_at: clock.now() })
    })
  } catch (error) {
    await postpone(app, delivery, error)
  }
  return true
}

/** Lets a delivery be processed again later, or gives it up after a bug. */
async function postpone({ store, clock, log }: App, delivery: DeliveryRow, error: unknown): Promise<void> {
  const now = clock.now()
  const isGivenUp = !isTransient(error) && delivery.tries >= MAX_FAILURES
  log[isTransient(error) ? 'warn' : 'error']({ err: error, deliveryId: delivery.id, tries: delivery.tries }, 'delivery failed')
  await store.write((tx) =>
    updateDelivery(
      tx,
      delivery.id,
      isGivenUp
        ? { status: 'failed', reason: 'processing-failed', next_at: null, processed_at: now }
        : { next_at: now + backoffMs(RETRY, delivery.tries) },
    ),
  )
}

/** Starts the builds of a delivery. Returns what became of it. Throws if it must be processed again. */
async function carryOut(app: App, delivery: DeliveryRow): Promise<Outcome> {
  const { forge: sender } = delivery
  if (sender === 'windlass') return buildAfterBuild(app, delivery)
  const webhook = await findWebhookById(app.store.query, delivery.webhook_id)
  if (webhook === undefined) return noBuild('no-trigger', 'The webhook was deleted.')
  return isRegistry(sender)
    ? buildArtifacts(app, { delivery, webhook, registry: sender })
    : buildGitEvents(app, { delivery, webhook, forge: sender })
}
