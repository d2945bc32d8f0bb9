/** The plan and the snapshot of a build. The snapshot is folded from the events each time, so that the events stay the only source of truth. */
import { emptySnapshot, foldAll, isStepFact, resume, type Plan, type Snapshot, type StepFact } from '@windlass/plan'
import { EngineEvent } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { BuildPlanRow, BuildRow } from '../../store/schema/schema.ts'
import { listStepEvents, type StepEventRow } from '../../store/builds/events.ts'
import type { Query } from '../../store/store.ts'
import { openValues } from './build-secrets.ts'

/** Returns the frozen plan, or undefined if the document has errors. Only this server writes plans, so only the version is checked. */
export function readPlan(row: Pick<BuildPlanRow, 'plan'>): Plan | undefined {
  if (row.plan === null) return undefined
  const plan: unknown = JSON.parse(row.plan)
  return isPlan(plan) ? plan : undefined
}

function isPlan(value: unknown): value is Plan {
  return typeof value === 'object' && value !== null && 'planVersion' in value && value.planVersion === 1
}

/**
 * Folds the engine's events in the order of the feed. Each further attempt continues from the state that `resume` returns, as its engine does.
 * Exported secrets are opened if `open` is set, and are left as stored otherwise.
 */
export async function readSnapshot(
  app: Pick<App, 'vault'>,
  query: Query,
  of: { build: BuildRow; plan: Plan; open: boolean },
): Promise<Snapshot> {
  const { build, plan } = of
  const openRow = (data: string): string =>
    of.open ? JSON.stringify(openValues(app.vault, build, asRecord(JSON.parse(data)))) : data
  const rows = await listStepEvents(query, build.id)
  return foldEvents(
    plan,
    rows.map((row) => ({ ...row, data: openRow(row.data) })),
  )
}

/** Folds stored events, whose secrets may be sealed. Events that cannot be read are ignored. */
export function foldEvents(plan: Plan, rows: readonly StepEventRow[]): Snapshot {
  let snapshot = emptySnapshot(plan)
  let facts: StepFact[] = []
  for (const row of rows) {
    const event = EngineEvent.safeParse({ ...asRecord(JSON.parse(row.data)), type: row.type, at: row.at, seq: 1 })
    if (!event.success) continue
    if (event.data.type === 'attempt.started') {
      if (row.cause === null) continue
      const { volumeKept, resume: { cause, from } = { cause: row.cause } } = event.data
      snapshot = resume(plan, foldAll(snapshot, facts), { cause, volumeKept, from })
      facts = []
    } else if (isStepFact(event.data)) facts.push(event.data)
  }
  return foldAll(snapshot, facts)
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
