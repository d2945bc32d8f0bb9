/**
 * Processing of stored deliveries. Every step can run twice: a build and the mark that its trigger has fired for the event are one transaction, and the
 * delivery is done only afterwards. Servers hold a delivery for a few seconds, without a lease: what counts is the mark.
 */
import { attempt, backoffMs, isFault, parseJson, sha256 } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { GitTrigger, type NoBuildReason, type TriggerVerdict } from '@windlass/protocol'
import type { App } from '../app.ts'
import { createBuild } from '../builds/create/create.ts'
import { requireSpace } from '../builds/schedule/disk-space.ts'
import { isEvent, isIgnored, type ForgeEvent, type Headers, type ReadEvent } from '../forges/event.ts'
import { FORGE_READERS } from '../forges/forge.ts'
import { parseGithub } from '../forges/github.ts'
import { isTransient } from '../store/database/transient.ts'
import type { DeliveryRow, WebhookRow } from '../store/schema.ts'
import { findFiring, hasDueDelivery, insertFiring, takeDelivery, updateDelivery } from '../store/triggers/deliveries.ts'
import { listTriggersOfRepo, type NamedTrigger } from '../store/triggers/triggers.ts'
import { findWebhookById } from '../store/triggers/webhooks.ts'
import { accepts } from './accepts.ts'
import { toBuildInput, toOverrides } from './build-input.ts'
import { findFiles, judgeEvent, type AskedFiles } from './changed-files.ts'
import { identityOf } from './poll/late-heads.ts'
import { DELIVERY_TOPIC } from './receive.ts'

/** How long no other server takes a delivery that one is processing. Milliseconds. */
const HOLD_MS = 5_000
/** The same while the server calls the forge, which takes up to 35 seconds. */
const FORGE_HOLD_MS = 45_000
/** Deliveries that one server processes at once, so that a slow forge does not delay the events of others. */
const AT_ONCE = 8
const RETRY = { baseMs: 1_000, maxMs: 60_000 }
/** Number of failures for which the database is not the cause, after which a delivery is given up. */
const MAX_FAILURES = 10
/** Maximum number of triggers whose rules are stored. */
const MAX_EXPLAINED = 200

/** Processes deliveries as they arrive, and interrupted ones when they are due again, until the server closes. */
export async function deliverLoop(app: App): Promise<void> {
  using watch = app.store.watch(DELIVERY_TOPIC)
  const open = new Set<Promise<void>>()
  while (!app.closing.aborted) {
    await attempt(app.log, 'deliveries', async () => {
      for (let taken = await takeNext(app); taken !== undefined; taken = await takeNext(app)) {
        const done = processOne(app, taken).finally(() => open.delete(done))
        open.add(done)
        if (open.size >= AT_ONCE) await Promise.race(open)
      }
    })
    await watch.next(app.timings.sweepMs, app.closing)
  }
  await Promise.all(open)
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
    const outcome = await carryOut(app, delivery)
    const done = { reason: null, message: null, ...outcome, status: 'processed', next_at: null } as const
    await store.write(async (tx) => {
      await updateDelivery(tx, delivery.id, { ...done, processed_at: clock.now() })
      // Later deliveries of the repository wait for this one.
      tx.wake(DELIVERY_TOPIC)
    })
  } catch (error) {
    await postpone(app, delivery, error)
  }
}

/** The forge did not answer a question about an event. */
class ForgeAway extends Error {}

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

type Outcome = Partial<Pick<DeliveryRow, 'reason' | 'message' | 'verdicts'>>

/** Starts the builds of a delivery. Returns what became of it. Throws if it must be processed again. */
async function carryOut(app: App, delivery: DeliveryRow): Promise<Outcome> {
  const webhook = await findWebhookById(app.store.query, delivery.webhook_id)
  if (webhook === undefined) return none('no-trigger', 'The webhook was deleted.')
  const read = readEvents(delivery)
  const events = read.filter(isEvent)
  const [first] = events
  if (first === undefined) {
    const ignored = read.find(isIgnored)
    return ignored === undefined
      ? none('event-unsupported', 'The event contains no change.')
      : none(ignored.reason, ignored.message)
  }
  const repo = first.repo.toLowerCase()
  if (webhook.repo !== null && webhook.repo !== repo)
    return none('repository-refused', `The webhook accepts only events of ${webhook.repo}.`)
  const triggers = (await listTriggersOfRepo(app.store.query, app.accountId, repo))
    .map((row) => ({ row, spec: GitTrigger.parse(JSON.parse(row.spec)) }))
    .filter(({ spec }) => accepts(spec, webhook))
  if (triggers.length === 0) return none('no-trigger', `No trigger accepts events of ${first.repo} from this webhook.`)
  const verdicts: TriggerVerdict[] = []
  for (const event of events) {
    const askFiles = openFiles(app, { delivery, webhook, event })
    for (const trigger of triggers) verdicts.push(await decide(app, { delivery, webhook, event, askFiles, ...trigger }))
  }
  // The triggers that need no answer of the forge have started their builds, and will not do so again.
  const away = verdicts.find(({ reason }) => reason === 'forge-unreachable')
  if (away !== undefined && delivery.tries < MAX_FAILURES) throw new ForgeAway(away.message)
  return { ...summarize(verdicts), verdicts: JSON.stringify(shorten(verdicts)) }
}

/** The server writes the events that it finds by polling in the form of GitHub. */
function readEvents({ forge, polled, headers, body }: DeliveryRow): readonly ReadEvent[] {
  const json = parseJson(body ?? '')
  return polled === 1 ? [parseGithub('push', json)] : FORGE_READERS[forge].parse(readHeaders(headers), json)
}

/** Returns a function that asks the forge once for the changed files of an event. Undefined if the webhook has no context. */
function openFiles(
  app: App,
  { delivery, webhook: { forge, context }, event }: Pick<Case, 'delivery' | 'webhook' | 'event'>,
): (() => Promise<AskedFiles>) | undefined {
  if (context === null) return undefined
  let asked: Promise<AskedFiles> | undefined
  const ask = async (): Promise<AskedFiles> => {
    const held = { next_at: app.clock.now() + FORGE_HOLD_MS }
    await app.store.write((tx) => updateDelivery(tx, delivery.id, held))
    return findFiles(app, { forge, context }, event)
  }
  return () => (asked ??= ask())
}

function none(reason: NoBuildReason, message: string): Outcome {
  return { reason, message }
}

function readHeaders(json: string): Headers {
  const parsed = parseJson(json)
  return isRecord(parsed) ? (parsed as Headers) : {}
}

/** The reason of a delivery that built nothing is that of its triggers, if it is the same for all of them. */
function summarize(verdicts: readonly TriggerVerdict[]): Outcome {
  if (verdicts.some(({ reason }) => reason === undefined)) return {}
  const reasons = new Set(verdicts.map(({ reason }) => reason))
  const [first] = verdicts
  return reasons.size === 1 && first?.reason !== undefined
    ? none(first.reason, first.message ?? '')
    : none('no-trigger', `None of ${verdicts.length} triggers builds for this event.`)
}

function shorten(verdicts: readonly TriggerVerdict[]): TriggerVerdict[] {
  return verdicts.map((verdict, index) => (index < MAX_EXPLAINED ? verdict : { ...verdict, rules: [] }))
}

interface Case {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
  readonly event: ForgeEvent
  readonly askFiles: (() => Promise<AskedFiles>) | undefined
  readonly row: NamedTrigger
  readonly spec: GitTrigger
}

/** Judges a trigger, and starts its build unless it was started already. */
async function decide(app: App, of: Case): Promise<TriggerVerdict> {
  const { event, row, spec } = of
  const { rules, away } = await judgeEvent(spec, event, of.askFiles)
  const about = { pipeline: row.pipeline, trigger: spec.name, rules }
  const failed = rules.find(({ holds }) => !holds)
  if (failed !== undefined && away === undefined) return { ...about, reason: failed.rule, message: failed.text }
  const key = firingKey(of)
  const earlier = await findFired(app, key, of)
  if (earlier !== undefined) return { ...about, ...earlier }
  if (away !== undefined) return { ...about, reason: 'forge-unreachable', message: away }
  try {
    return { ...about, buildId: await fire(app, key, of) }
  } catch (error) {
    if (error instanceof AlreadyFired) return { ...about, ...(await findFired(app, key, of)) }
    if (!isFault(error) || isTransient(error) || error.code === 'internal') throw error
    return { ...about, reason: 'build-refused', message: [error.message, error.hint].join(' ').trim() }
  }
}

/** Identifies what a trigger builds only once. A replay is a new event. */
function firingKey({ delivery, event, row }: Case): string {
  const { repo, branch, revision } = event
  const { name, occurrence } = identityOf(event, delivery.late_heads)
  const replay = delivery.replay_of === null ? '' : delivery.id
  return sha256(JSON.stringify([row.id, repo.toLowerCase(), branch, revision, name, occurrence, replay]))
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

/** Starts the build of a trigger. Returns its id. */
async function fire(app: App, key: string, { delivery, webhook, event, row, spec }: Case): Promise<string> {
  await requireSpace(app)
  const build = await createBuild(app, {
    request: toBuildInput(row.pipeline_id, spec, event),
    initiator: event.sender ?? delivery.forge,
    trigger: { kind: 'webhook', name: spec.name },
    overrides: {
      ...toOverrides(spec),
      deliveryId: delivery.id,
      reporting: { trigger: spec, webhook, repo: event.repo },
    },
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
