/**
 * Processing of stored deliveries. Every step can run twice: a build and the mark that its trigger has fired for the event are one transaction, and the
 * delivery is done only afterwards. Servers hold a delivery for a few seconds, without a lease: what counts is the mark.
 */
import { attempt, backoffMs, isFault, parseJson, sha256 } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { GitTrigger, type TriggerVerdict } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { createBuild } from '../builds/create/create.ts'
import { requireSpace } from '../builds/schedule/disk-space.ts'
import { isEvent, isIgnored, type ForgeEvent, type Headers } from '../forges/event.ts'
import { FORGE_READERS, isForge } from '../forges/forge.ts'
import { isTransient } from '../store/database/transient.ts'
import type { DeliveryRow, WebhookRow } from '../store/schema.ts'
import {
  findFiring,
  hasDueDelivery,
  insertDeliveryPipelines,
  insertFiring,
  takeDelivery,
  updateDelivery,
} from '../store/triggers/deliveries.ts'
import { listTriggersOfRepo, type NamedTrigger } from '../store/triggers/triggers.ts'
import { findWebhookById } from '../store/triggers/webhooks.ts'
import { conclude, judge } from './judge.ts'
import { notePullRequests, withPullRequest } from './pull-requests.ts'
import { toBuildInput, toOverrides } from './build-input.ts'
import { DELIVERY_TOPIC } from './receive.ts'
import { noBuild, summarize, writeVerdicts, type DeliveryOutcome } from './verdicts.ts'

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

interface Outcome extends DeliveryOutcome {
  readonly verdicts?: readonly TriggerVerdict[]
  /** Ids of the pipelines whose triggers were judged. */
  readonly pipelineIds?: readonly string[]
}

/** Starts the builds of a delivery. Returns what became of it. Throws if it must be processed again. */
async function carryOut(app: App, delivery: DeliveryRow): Promise<Outcome> {
  const webhook = await findWebhookById(app.store.query, delivery.webhook_id)
  if (webhook === undefined) return noBuild('no-trigger', 'The webhook was deleted.')
  const read = FORGE_READERS[delivery.forge].parse(readHeaders(delivery.headers), parseJson(delivery.body ?? ''))
  const events = read.filter(isEvent)
  const [first] = events
  if (first === undefined) {
    const ignored = read.find(isIgnored)
    return ignored === undefined
      ? noBuild('event-unsupported', 'The event contains no change.')
      : noBuild(ignored.reason, ignored.message)
  }
  const repo = first.repo.toLowerCase()
  if (webhook.repo !== null && webhook.repo !== repo)
    return noBuild('repository-refused', `The webhook accepts only events of ${webhook.repo}.`)
  await notePullRequests(app, delivery, events)
  const triggers = (await listTriggersOfRepo(app.store.query, app.accountId, repo))
    .map((row) => ({ row, spec: GitTrigger.parse(JSON.parse(row.spec)) }))
    .filter(({ spec, row }) => accepts(spec, webhook) && isReplayed(delivery, row))
  if (triggers.length === 0) return noBuild('no-trigger', `No trigger accepts events of ${first.repo} from this webhook.`)
  const from = { accountId: app.accountId, webhookId: webhook.id }
  const known = await Promise.all(events.map((event) => withPullRequest(app.store.query, from, event)))
  const verdicts: TriggerVerdict[] = []
  for (const event of known) for (const trigger of triggers) verdicts.push(await decide(app, { delivery, event, ...trigger }))
  return { ...summarize(verdicts), verdicts, pipelineIds: triggers.map(({ row }) => row.pipeline_id) }
}

function readHeaders(json: string): Headers {
  const parsed = parseJson(json)
  return isRecord(parsed) ? (parsed as Headers) : {}
}

/** A replay counts for the projects in which its caller may start builds. */
function isReplayed({ projects }: DeliveryRow, { project_id: project }: NamedTrigger): boolean {
  return projects === null || (project !== null && ProjectIds.parse(JSON.parse(projects)).includes(project))
}

const ProjectIds = z.array(z.string())

/** A trigger accepts the webhooks of its context, or of its forge if it names no context. */
function accepts({ context, provider }: GitTrigger, webhook: WebhookRow): boolean {
  if (provider !== undefined && !isForge(provider, webhook.forge)) return false
  return context === undefined || context === webhook.context
}

interface Case {
  readonly delivery: DeliveryRow
  readonly event: ForgeEvent
  readonly row: NamedTrigger
  readonly spec: GitTrigger
}

/** Judges a trigger, and starts its build unless it was started already. */
async function decide(app: App, of: Case): Promise<TriggerVerdict> {
  const { event, row, spec } = of
  const rules = judge(spec, event)
  const about = { pipeline: row.pipeline, trigger: spec.name, ...conclude(rules), rules }
  if (about.reason !== undefined) return about
  const key = firingKey(of)
  const earlier = await findFired(app, key, of)
  if (earlier !== undefined) return { ...about, ...earlier }
  try {
    return { ...about, buildId: await fire(app, key, { ...of, needsApproval: about.needsApproval }) }
  } catch (error) {
    if (error instanceof AlreadyFired) return { ...about, ...(await findFired(app, key, of)) }
    if (!isFault(error) || isTransient(error) || error.code === 'internal') throw error
    return { ...about, reason: 'build-refused', message: [error.message, error.hint].join(' ').trim() }
  }
}

/** Identifies what a trigger builds only once. A replay is a new event. */
function firingKey({ delivery, event, row }: Case): string {
  const { repo, branch, revision, names, occurrence } = event
  const replay = delivery.replay_of === null ? '' : delivery.id
  return sha256(JSON.stringify([row.id, repo.toLowerCase(), branch, revision, names[0], occurrence, replay]))
}

async function findFired(app: App, key: string, { delivery }: Case): Promise<Partial<TriggerVerdict> | undefined> {
  const firing = await findFiring(app.store.query, app.accountId, key)
  if (firing === undefined) return undefined
  if (firing.delivery_id === delivery.id) return { buildId: firing.build_id }
  const message = `The delivery ${firing.delivery_id} of the same event started the build ${firing.build_id}.`
  return { reason: 'already-built', message }
}

/** Another server has started the build in the meantime. */
class AlreadyFired extends Error {}

interface Start extends Case {
  readonly needsApproval: true | undefined
}

/** Starts the build of a trigger. Returns its id. */
async function fire(app: App, key: string, { delivery, event, row, spec, needsApproval }: Start): Promise<string> {
  await requireSpace(app)
  const build = await createBuild(app, {
    request: toBuildInput(row.pipeline_id, spec, event),
    initiator: event.sender ?? delivery.forge,
    trigger: { kind: 'webhook', name: spec.name },
    overrides: { ...toOverrides(spec), deliveryId: delivery.id },
    needsApproval,
    within: async (tx, { id, created_at: at }) => {
      const firing = {
        account_id: app.accountId,
        key,
        delivery_id: delivery.id,
        trigger_id: row.id,
        build_id: id,
        created_at: at,
      }
      if (!(await insertFiring(tx, firing))) throw new AlreadyFired('another server has started the build')
    },
  })
  return build.id
}
