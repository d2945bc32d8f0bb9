/** The progress of builds, for lists. It only changes with the feed of its build, so that it is computed once for each position. */
import { progressOf, type Progress } from '@windlass/plan'
import type { App } from '../../app.ts'
import { listSmallPlans } from '../../store/builds/builds.ts'
import { stepEventsOf, type StepEventRow } from '../../store/builds/events.ts'
import type { BuildRow } from '../../store/schema.ts'
import { foldEvents, readPlan } from '../create/snapshot.ts'

interface Known {
  readonly position: number
  readonly progress: Progress
}

/** Number of builds whose progress is kept. */
const MAX_KNOWN = 5000
const caches = new WeakMap<App['store'], Map<string, Known>>()

/** Returns the progress of builds by id. Builds without a plan, or with a very large one, are missing. */
export async function readProgress(app: App, rows: readonly BuildRow[]): Promise<Map<string, Progress>> {
  const known = caches.get(app.store) ?? new Map<string, Known>()
  caches.set(app.store, known)
  const isKnown = (row: BuildRow): boolean => known.get(row.id)?.position === row.feed_position
  const found = new Map(
    rows.filter(isKnown).flatMap(({ id }) => {
      const progress = known.get(id)?.progress
      return progress === undefined ? [] : [[id, progress] as const]
    }),
  )
  const others = rows.filter((row) => !isKnown(row))
  for (const [id, progress] of await computeProgress(app, others)) found.set(id, progress)
  for (const { id, feed_position: position } of others) {
    const progress = found.get(id)
    if (progress !== undefined) known.set(id, { position, progress })
  }
  // The oldest entries come first.
  for (const id of known.keys()) if (known.size > MAX_KNOWN) known.delete(id)
  return found
}

async function computeProgress({ store: { query } }: App, rows: readonly BuildRow[]): Promise<Map<string, Progress>> {
  const events = new Map<string, StepEventRow[]>()
  for await (const row of stepEventsOf(
    query,
    rows.map(({ id }) => id),
  )) {
    const own = events.get(row.build_id) ?? []
    own.push(row)
    events.set(row.build_id, own)
  }
  const found = new Map<string, Progress>()
  for (const row of await listSmallPlans(
    query,
    rows.map(({ id }) => id),
  )) {
    const plan = readPlan(row)
    if (plan === undefined || plan.steps.length === 0) continue
    found.set(row.build_id, progressOf(plan, foldEvents(plan, events.get(row.build_id) ?? [])))
  }
  return found
}
