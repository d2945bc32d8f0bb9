/** Steps and waits of ended builds, for statistics. */
import type { BuildRow, BuildWaitRow, EndedStepRow } from '../../schema/schema.ts'
import type { Query, Tx } from '../../store.ts'

/** Reason of the row of a build some of whose steps are left out. It is not a wait. */
export const LEFT_OUT = 'left-out'

/** Rows per statement. */
const AT_ONCE = 500

/** Stores the steps and waits of a build. A repetition changes nothing. */
export async function insertEndedSteps(
  tx: Tx,
  { steps, waits }: { readonly steps: readonly EndedStepRow[]; readonly waits: readonly BuildWaitRow[] },
): Promise<void> {
  for (let from = 0; from < steps.length; from += AT_ONCE)
    await tx.query
      .insertInto('ended_step')
      .values(steps.slice(from, from + AT_ONCE))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  if (waits.length > 0)
    await tx.query
      .insertInto('build_wait')
      .values([...waits])
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

const ENDED = ['id', 'number', 'status', 'revision', 'created_at', 'started_at', 'finished_at', 'paused_ms'] as const
export type EndedBuild = Pick<BuildRow, (typeof ENDED)[number]>

export interface EndedFilter {
  readonly accountId: string
  readonly pipelineId: string
  readonly branch?: string | undefined
  /** Created at this time or later, and before the other one. */
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** Lists the newest builds of a pipeline that have ended, newest first. */
export async function listEndedBuilds(query: Query, filter: EndedFilter): Promise<EndedBuild[]> {
  let select = query
    .selectFrom('build')
    .select(ENDED)
    .where('account_id', '=', filter.accountId)
    .where('pipeline_id', '=', filter.pipelineId)
    .where('created_at', '>=', filter.from)
    .where('created_at', '<', filter.to)
    .where('status', 'in', ['success', 'error', 'terminated'])
  if (filter.branch !== undefined) select = select.where('branch', '=', filter.branch)
  return select.orderBy('number', 'desc').limit(filter.limit).execute()
}

/** Builds whose rows are read in one statement. */
const BUILDS_AT_ONCE = 100

/** Reads the steps of builds in their order until more than `limit` are read. `isComplete` is false if builds are left out. */
export async function listEndedSteps(
  query: Query,
  buildIds: readonly string[],
  limit: number,
): Promise<{ readonly steps: EndedStepRow[]; readonly isComplete: boolean }> {
  const steps: EndedStepRow[] = []
  for (let from = 0; from < buildIds.length; from += BUILDS_AT_ONCE) {
    if (steps.length > limit) return { steps, isComplete: false }
    const ids = buildIds.slice(from, from + BUILDS_AT_ONCE)
    const rows = await query.selectFrom('ended_step').selectAll().where('build_id', 'in', ids).execute()
    for (const row of rows) steps.push(row)
  }
  return { steps, isComplete: true }
}

/** Reads what builds waited for. */
export async function listBuildWaits(query: Query, buildIds: readonly string[]): Promise<BuildWaitRow[]> {
  const waits: BuildWaitRow[] = []
  for (let from = 0; from < buildIds.length; from += AT_ONCE) {
    const ids = buildIds.slice(from, from + AT_ONCE)
    const rows = await query.selectFrom('build_wait').selectAll().where('build_id', 'in', ids).execute()
    for (const row of rows) waits.push(row)
  }
  return waits
}
