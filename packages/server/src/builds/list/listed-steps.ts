/**
 * What lists say about the steps of builds: their progress, and the step to blame for a failure. It only changes with the feed and the end of its build,
 * so that it is computed once for each position.
 */
import { progressOf, type Progress } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listSmallPlans } from '../../store/builds/builds.ts'
import { stepEventsOf, type StepEventRow } from '../../store/builds/events.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { foldEvents, readPlan } from '../create/snapshot.ts'
import { blameIn } from '../lifecycle/describe-steps.ts'

export interface ListedSteps extends Pick<Build, 'blame' | 'why'> {
  readonly progress: Progress
}

interface Known {
  readonly position: number
  readonly status: BuildRow['status']
  readonly steps: ListedSteps
}

/** Number of builds whose steps are kept. */
const MAX_KNOWN = 5000
const caches = new WeakMap<App['store'], Map<string, Known>>()

/** Returns what lists say about the steps of builds, by id. Builds without a plan, or with a very large one, are missing. */
export async function readListedSteps(app: App, rows: readonly BuildRow[]): Promise<Map<string, ListedSteps>> {
  const known = caches.get(app.store) ?? new Map<string, Known>()
  caches.set(app.store, known)
  const found = new Map<string, ListedSteps>()
  const others: BuildRow[] = []
  for (const row of rows) {
    const one = known.get(row.id)
    if (one?.position === row.feed_position && one.status === row.status) found.set(row.id, one.steps)
    else others.push(row)
  }
  for (const [id, steps] of await computeSteps(app, others)) found.set(id, steps)
  for (const { id, feed_position: position, status } of others) {
    const steps = found.get(id)
    if (steps !== undefined) known.set(id, { position, status, steps })
  }
  // The oldest entries come first.
  for (const id of known.keys()) if (known.size > MAX_KNOWN) known.delete(id)
  return found
}

async function computeSteps({ store: { query } }: App, rows: readonly BuildRow[]): Promise<Map<string, ListedSteps>> {
  const builds = new Map(rows.map((row) => [row.id, row]))
  const events = new Map<string, StepEventRow[]>()
  for await (const row of stepEventsOf(query, [...builds.keys()])) {
    const own = events.get(row.build_id) ?? []
    own.push(row)
    events.set(row.build_id, own)
  }
  const found = new Map<string, ListedSteps>()
  for (const stored of await listSmallPlans(query, [...builds.keys()])) {
    const plan = readPlan(stored)
    const build = builds.get(stored.build_id)
    if (plan === undefined || plan.steps.length === 0 || build === undefined) continue
    const snapshot = foldEvents(plan, events.get(build.id) ?? [])
    const blame = build.status === 'error' ? blameIn(build, stored, { plan, snapshot }) : {}
    found.set(build.id, { progress: progressOf(plan, snapshot), ...blame })
  }
  return found
}
