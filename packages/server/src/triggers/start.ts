/**
 * Builds of triggers. A build and the mark that its trigger has fired for the event are one transaction, so an event is built once, also if several webhooks
 * report it, a delivery is processed twice, or several servers process it.
 */
import { isFault, sha256 } from '@windlass/kit'
import type { RuleResult, TriggerVerdict } from '@windlass/protocol'
import type { App } from '../app.ts'
import { createBuild, type Creation } from '../builds/create/create.ts'
import { requireSpace } from '../builds/schedule/disk-space.ts'
import { isTransient } from '../store/database/transient.ts'
import type { DeliveryRow } from '../store/schema/schema.ts'
import { findFiring, insertFiring } from '../store/triggers/deliveries.ts'
import { conclude } from './rules/judge.ts'

/** A trigger and an event that was judged for it. */
export interface Judged {
  readonly delivery: DeliveryRow
  /** The stored trigger, with the name of its pipeline. */
  readonly trigger: { readonly id: string; readonly pipeline: string; readonly pipeline_id: string; readonly name: string }
  readonly rules: readonly RuleResult[]
  /** Set if the changed files matter and the forge, which knows them, is away. */
  readonly away?: string
  /** What tells the event from others. The trigger builds each event once. */
  readonly identity: readonly unknown[]
  /** Returns the build to create. Throws a fault if the event does not fit into one. */
  readonly creation: () => Omit<Creation, 'needsApproval' | 'within'>
}

/** Starts the build of a trigger unless a rule does not hold or the event was built already. Returns what became of it. */
export async function startJudged(app: App, of: Judged): Promise<TriggerVerdict> {
  const { trigger, rules, away } = of
  const judged = { pipeline: trigger.pipeline, pipelineId: trigger.pipeline_id, trigger: trigger.name, rules: [...rules] }
  const about = { ...judged, ...conclude(rules) }
  if (about.reason !== undefined && away === undefined) return about
  const key = firingKey(of)
  const earlier = await findFired(app, key, of)
  if (earlier !== undefined) return { ...(away === undefined ? about : judged), ...earlier }
  if (away !== undefined) return { ...judged, reason: 'forge-unreachable', message: away }
  try {
    return { ...about, buildId: await fire(app, key, { ...of, needsApproval: about.needsApproval }) }
  } catch (error) {
    if (error instanceof AlreadyFired) return { ...about, ...(await findFired(app, key, of)) }
    if (!isFault(error) || isTransient(error) || error.code === 'internal') throw error
    return { ...about, reason: 'build-refused', message: [error.message, error.hint].join(' ').trim() }
  }
}

/** A replay is a new event. */
function firingKey({ delivery, trigger, identity }: Judged): string {
  return sha256(JSON.stringify([trigger.id, ...identity, delivery.replay_of === null ? '' : delivery.id]))
}

async function findFired(app: App, key: string, { delivery }: Judged): Promise<Partial<TriggerVerdict> | undefined> {
  const firing = await findFiring(app.store.query, app.accountId, key)
  if (firing === undefined) return undefined
  if (firing.delivery_id === delivery.id) return { buildId: firing.build_id }
  const message = `The delivery ${firing.delivery_id} of the same event started the build ${firing.build_id}.`
  return { reason: 'already-built', message }
}

/** Another server has started the build in the meantime. */
class AlreadyFired extends Error {}

interface Start extends Judged {
  readonly needsApproval: true | undefined
}

/** Starts the build of a trigger. Returns its id. */
async function fire(app: App, key: string, { delivery, trigger, creation, needsApproval }: Start): Promise<string> {
  await requireSpace(app)
  const build = await createBuild(app, {
    ...creation(),
    needsApproval,
    within: async (tx, { id, created_at: at }) => {
      const firing = {
        account_id: app.accountId,
        key,
        delivery_id: delivery.id,
        trigger_id: trigger.id,
        build_id: id,
        created_at: at,
      }
      if (!(await insertFiring(tx, firing))) throw new AlreadyFired('another server has started the build')
    },
  })
  return build.id
}
