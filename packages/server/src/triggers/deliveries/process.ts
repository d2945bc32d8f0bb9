/**
 * Processing of stored deliveries. Every step can run twice: a build and the mark that its trigger has fired for the event are one transaction (`start.ts`), and
 * the delivery is done only afterwards. Servers hold a delivery for a few seconds, without a lease: what counts is the mark.
 */
import { attempt, backoffMs, ticks } from '@windlass/kit'
import type { App } from '../../app.ts'
import { isRegistry } from '../../registries/registries.ts'
import { isTransient } from '../../store/database/transient.ts'
import type { DeliveryRow } from '../../store/schema/schema.ts'
import { takeLoop } from '../../take-loop.ts'
import {
  hasDueDelivery,
  holdDelivery,
  insertDeliveryPipelines,
  takeDelivery,
  updateDelivery,
} from '../../store/triggers/deliveries.ts'
import { findWebhookById } from '../../store/triggers/webhooks.ts'
import { buildArtifacts } from '../events/artifact-delivery.ts'
import { buildAfterBuild } from '../events/build-delivery.ts'
import { ForgeAway, MAX_FAILURES } from './forge-away.ts'
import { buildGitEvents } from './git-delivery.ts'
import { DELIVERY_TOPIC } from './new-delivery.ts'
import { noBuild, writeVerdicts, type Outcome } from '../rules/verdicts.ts'

/** How long no other server takes a delivery that one is processing. Milliseconds. */
const HOLD_MS = 5_000
/** Deliveries that one server processes at once, so that a slow forge does not delay the events of others. */
const AT_ONCE = 8
const RETRY = { baseMs: 1_000, maxMs: 60_000 }

/** Processes deliveries as they arrive, and interrupted ones when they are due again, until the server closes. */
export async function deliverLoop(app: App): Promise<void> {
  await takeLoop(app, {
    what: 'deliveries',
    topic: DELIVERY_TOPIC,
    atOnce: AT_ONCE,
    take: () => takeNext(app),
    carryOut: (taken) => processOne(app, taken),
  })
}

/** Never throws: a delivery whose result cannot be stored is due again when its hold ends. */
async function processOne(app: App, delivery: DeliveryRow): Promise<void> {
  await attempt(app.log, 'delivery', () => carryThrough(app, delivery))
}

/** Processes every delivery that is due, one after the other. */
export async function processDeliveries(app: App): Promise<void> {
  for (let taken = await takeNext(app); taken !== undefined; taken = await takeNext(app)) await carryThrough(app, taken)
}

async function takeNext({ store, clock, closing }: App): Promise<DeliveryRow | undefined> {
  if (closing.aborted || !(await hasDueDelivery(store.query, clock.now()))) return undefined
  return store.write((tx) => takeDelivery(tx, { now: clock.now(), holdMs: HOLD_MS }))
}

async function carryThrough(app: App, delivery: DeliveryRow): Promise<void> {
  const { store, clock } = app
  try {
    const { verdicts, pipelineIds = [], ...outcome } = await whileHeld(app, delivery.id, () => carryOut(app, delivery))
    const stored = {
      reason: null,
      message: null,
      ...outcome,
      ...(verdicts !== undefined && { verdicts: writeVerdicts(verdicts) }),
    }
    await store.write(async (tx) => {
      await insertDeliveryPipelines(tx, delivery.id, pipelineIds)
      await updateDelivery(tx, delivery.id, { ...stored, status: 'processed', next_at: null, processed_at: clock.now() })
      // Later deliveries of the repository wait for this one.
      tx.wake(DELIVERY_TOPIC)
    })
  } catch (error) {
    await postpone(app, delivery, error)
  }
}

/** Keeps other servers, and other slots of this one, from taking a delivery while `work` takes longer than the hold: a call of the forge may take 35 s. */
async function whileHeld<T>({ store, clock, log }: App, id: string, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const renew = async (): Promise<void> => {
    for await (const n of ticks(HOLD_MS / 2, { clock, signal: over.signal }))
      if (n > 0) await attempt(log, 'delivery', () => store.write((tx) => holdDelivery(tx, id, clock.now() + HOLD_MS)))
  }
  const renewing = renew()
  try {
    return await work()
  } finally {
    over.abort()
    await renewing
  }
}

/** Lets a delivery be processed again later, or gives it up after a bug. */
async function postpone({ store, clock, log }: App, delivery: DeliveryRow, error: unknown): Promise<void> {
  const now = clock.now()
  const isAway = error instanceof ForgeAway
  const isGivenUp = !isTransient(error) && delivery.tries >= MAX_FAILURES
  const level = isAway || isTransient(error) ? 'warn' : 'error'
  log[level]({ err: error, deliveryId: delivery.id, tries: delivery.tries }, 'delivery failed')
  await store.write((tx) =>
    updateDelivery(
      tx,
      delivery.id,
      isGivenUp
        ? { status: 'failed', reason: 'processing-failed', next_at: null, processed_at: now }
        : { next_at: now + backoffMs(RETRY, delivery.tries), ...(isAway && { message: error.message }) },
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
