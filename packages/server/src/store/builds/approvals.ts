import { sql } from 'kysely'
import { LIVE_BUILD_STATUSES } from './builds.ts'
import type { ApprovalRow, BuildPlanRow, BuildRow } from '../schema/schema.ts'
import { prepared } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'
import { BUILD_PLACE, withinPlaces, type Places } from '../places.ts'

/** Lists the approvals of a build, oldest first. The build row must be locked to change one. */
export async function listApprovals(query: Query, buildId: string): Promise<ApprovalRow[]> {
  return query
    .selectFrom('approval')
    .selectAll()
    .where('build_id', '=', buildId)
    .orderBy('waiting_since')
    .orderBy('step')
    .execute()
}

/** In place of a step: the approval of a whole build before its start. */
export const START = ''

/** A build that waits for approval before its start, with its request. */
export type HeldStart = Pick<BuildRow, 'trigger_name'> & Pick<BuildPlanRow, 'build_id' | 'request'>

/** Lists the builds of a pipeline that wait for approval before their start. */
export async function listHeldStarts(tx: Tx, pipelineId: string): Promise<HeldStart[]> {
  return (
    tx.query
      .selectFrom('approval')
      .innerJoin('build', 'build.id', 'approval.build_id')
      .innerJoin('build_plan', 'build_plan.build_id', 'build.id')
      .select(['approval.build_id', 'build.trigger_name', 'build_plan.request'])
      // Literals, so that the databases use the index `approval_start`.
      .where('approval.step', '=', sql.lit(START))
      .where('approval.decision', 'is', null)
      .where('build.pipeline_id', '=', pipelineId)
      .where('build.status', '=', 'pending-approval')
      .orderBy('approval.build_id')
      .execute()
  )
}

export async function insertApproval(tx: Tx, approval: ApprovalRow): Promise<void> {
  await tx.query.insertInto('approval').values(approval).execute()
}

export async function updateApproval(
  tx: Tx,
  key: Pick<ApprovalRow, 'build_id' | 'step'>,
  changes: Partial<ApprovalRow>,
): Promise<void> {
  await tx.query.updateTable('approval').set(changes).where('build_id', '=', key.build_id).where('step', '=', key.step).execute()
}

const markSeen = prepared((tx: Tx, buildId: string) =>
  tx.query.updateTable('approval').set({ seen: 1 }).where('build_id', '=', buildId).where('decision', 'is not', null),
)

/** Marks every decision made so far as known to an engine. */
export async function markApprovalsSeen(tx: Tx, buildId: string): Promise<void> {
  await markSeen(tx, buildId)
}

/** Deletes approvals of steps that run again. */
export async function deleteApprovals(tx: Tx, buildId: string, steps: readonly string[]): Promise<void> {
  if (steps.length === 0) return
  await tx.query
    .deleteFrom('approval')
    .where('build_id', '=', buildId)
    .where('step', 'in', [...steps])
    .execute()
}

/** Returns builds that have not ended and have an undecided approval whose time is over. */
export async function listOverdueApprovals(query: Query, filter: { accountId: string; now: number }): Promise<string[]> {
  const rows = await query
    .selectFrom('approval')
    .innerJoin('build', 'build.id', 'approval.build_id')
    .select('approval.build_id')
    .distinct()
    .where('approval.account_id', '=', filter.accountId)
    .where('approval.expires_at', '<=', filter.now)
    .where('approval.decision', 'is', null)
    .where('build.status', 'in', LIVE_BUILD_STATUSES)
    .limit(100)
    .execute()
  return rows.map(({ build_id: id }) => id)
}

/** An approval with the build that asked for it. */
export type ApprovalOfBuild = ApprovalRow &
  Pick<BuildRow, 'number' | 'pipeline' | 'branch' | 'status' | 'started_at' | 'project_id' | 'pipeline_id'>

/** Position in a list of approvals: the time that the list is sorted by, and the key of the approval. */
export interface ApprovalPlace {
  readonly at: number
  readonly buildId: string
  readonly step: string
}

export interface ApprovalFilter {
  readonly accountId: string
  /** Only approvals of builds of these places. */
  readonly places: Places | undefined
  /** Only approvals of builds of this pipeline. */
  readonly pipeline?: string | undefined
  readonly after: ApprovalPlace | undefined
  readonly limit: number
}

const OF_BUILD = [
  'build.number',
  'build.pipeline',
  'build.branch',
  'build.status',
  'build.started_at',
  'build.project_id',
  'build.pipeline_id',
] as const

function selectOfBuilds(query: Query, { accountId, places, pipeline, limit }: ApprovalFilter) {
  let all = query
    .selectFrom('approval')
    .innerJoin('build', 'build.id', 'approval.build_id')
    .selectAll('approval')
    .select(OF_BUILD)
    .where('approval.account_id', '=', accountId)
    .limit(limit)
  if (pipeline !== undefined) all = all.where('build.pipeline', '=', pipeline)
  return places === undefined ? all : all.where(withinPlaces(places, BUILD_PLACE))
}

/** Lists the undecided approvals of builds that have not ended, the one that expires first at the beginning. */
export async function listOpenApprovals(query: Query, filter: ApprovalFilter): Promise<ApprovalOfBuild[]> {
  let select = selectOfBuilds(query, filter)
    .where('approval.decision', 'is', null)
    .where('build.status', 'in', LIVE_BUILD_STATUSES)
  const { after } = filter
  if (after !== undefined)
    select = select
      .where('approval.expires_at', '>=', after.at)
      .where((where) =>
        where(
          where.refTuple('approval.expires_at', 'approval.build_id', 'approval.step'),
          '>',
          where.tuple(after.at, after.buildId, after.step),
        ),
      )
  return select.orderBy('approval.expires_at').orderBy('approval.build_id').orderBy('approval.step').execute()
}

/** Lists the decided approvals, the latest decision first. */
export async function listDecidedApprovals(query: Query, filter: ApprovalFilter): Promise<ApprovalOfBuild[]> {
  let select = selectOfBuilds(query, filter).where('approval.decision', 'is not', null)
  const { after } = filter
  if (after !== undefined)
    select = select
      .where('approval.decided_at', '<=', after.at)
      .where((where) =>
        where(
          where.refTuple('approval.decided_at', 'approval.build_id', 'approval.step'),
          '<',
          where.tuple(after.at, after.buildId, after.step),
        ),
      )
  return select
    .orderBy('approval.decided_at', 'desc')
    .orderBy('approval.build_id', 'desc')
    .orderBy('approval.step', 'desc')
    .execute()
}
