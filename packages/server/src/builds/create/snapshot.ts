/** The plan and the snapshot of a build. The snapshot is folded from the events each time, so that the events stay the only source of truth. */
import { emptySnapshot, fold, isStepFact, resume, type Plan, type Snapshot } from '@windlass/plan'
import { EngineEvent } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { BuildPlanRow, BuildRow } from '../../store/schema.ts'
import { listStepEvents } from '../../store/builds/events.ts'
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
  let snapshot = emptySnapshot(plan)
  for (const row of await listStepEvents(query, build.id)) {
    const stored = asRecord(JSON.parse(row.data))
    const data = of.open ? openValues(app.vault, build, stored) : stored
    const event = EngineEvent.safeParse({ ...data, type: row.type, at: row.at, seq: 1 })
    if (!event.success) continue
    if (event.data.type === 'attempt.started') {
      const { volumeKept, resume: { cause, from } = { cause: row.cause ?? 'infra' } } = event.data
      if (row.cause !== null) snapshot = resume(plan, snapshot, { cause, volumeKept, from })
    } else if (isStepFact(event.data)) snapshot = fold(snapshot, event.data)
  }
  return snapshot
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
