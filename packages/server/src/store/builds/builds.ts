import { BUILD_STATUSES, FINAL_BUILD_STATUSES, type BuildStatus, type Trigger } from '@windlass/plan'
import { sql } from 'kysely'
import { LIVE_ATTEMPT_STATUSES } from './attempts.ts'
import type { BuildPlanRow, BuildRow } from '../schema/schema.ts'
import { preparedOne, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

export const LIVE_BUILD_STATUSES = BUILD_STATUSES.filter(
  (status) => !(FINAL_BUILD_STATUSES as readonly string[]).includes(status),
)

/** Prefix of the topics of builds whose list form may have changed. */
const CHANGED = 'changed:'

/** Returns the topic of a build that is new, or whose list form may have changed. */
export function changedTopic(buildId: string): string {
  return `${CHANGED}${buildId}`
}

/** Returns the id of the build of a `changedTopic`; undefined for other topics. */
export function changedBuild(topic: string): string | undefined {
  return topic.startsWith(CHANGED) ? topic.slice(CHANGED.length) : undefined
}

/** Returns what started a build. */
export function triggerOf({ trigger: kind, trigger_name: name }: Pick<BuildRow, 'trigger' | 'trigger_name'>): Trigger {
  return { kind, ...(name !== null && { name }) }
}

const insertRow = preparedWrite((tx, build: BuildRow) => tx.query.insertInto('build').values(build))
const insertPlan = preparedWrite((tx, plan: BuildPlanRow) => tx.query.insertInto('build_plan').values(plan))

export async function insertBuild(tx: Tx, build: BuildRow, plan: BuildPlanRow): Promise<void> {
  await insertRow(tx, build)
  await insertPlan(tx, plan)
}

const findOfAccount = preparedOne((query: Query, id: string, accountId: string) =>
  query.selectFrom('build').selectAll().where('id', '=', id).where('account_id', '=', accountId),
)

export async function findBuild(query: Query, accountId: string, id: string): Promise<BuildRow | undefined> {
  return findOfAccount(query, id, accountId)
}

/** Returns when a follower last read the build; null if none did or the build does not exist. */
export async function findFollowedAt(query: Query, id: string): Promise<Pick<BuildRow, 'followed_at'>> {
  const row = await query.selectFrom('build').select('followed_at').where('id', '=', id).executeTakeFirst()
  return row ?? { followed_at: null }
}

const lock = preparedOne((tx: Tx, id: string) =>
  tx.query.selectFrom('build').selectAll().where('id', '=', id).$call(tx.forUpdate),
)

/** Finds a build and locks it until the end of the transaction. */
export async function lockBuild(tx: Tx, id: string): Promise<BuildRow | undefined> {
  return lock(tx, id)
}

/** Returns true if an attempt of another build may still use the volume on the daemon of this runtime, or a waiting build keeps it. */
export async function isVolumeInUse(
  query: Query,
  volume: string,
  { build, runtime }: { build: BuildRow; runtime: string },
): Promise<boolean> {
  const user = await query
    .selectFrom('build')
    .innerJoin('attempt', 'attempt.build_id', 'build.id')
    .select('build.id')
    .where('build.volume', '=', volume)
    .where('build.id', '!=', build.id)
    .where('attempt.runtime', '=', runtime)
    .where('attempt.status', 'in', LIVE_ATTEMPT_STATUSES)
    .executeTakeFirst()
  if (user !== undefined) return true
  const keeper = await query
    .selectFrom('build')
    .select('id')
    .where('volume', '=', volume)
    .where('account_id', '=', build.account_id)
    // A volume is shared by the builds of one pipeline.
    .where('pipeline_id', '=', build.pipeline_id)
    .where('id', '!=', build.id)
    .where('runtime', '=', runtime)
    .where('keeps_volume', '=', 1)
    .where('attempt', '>', 0)
    .where('status', 'in', LIVE_BUILD_STATUSES)
    .executeTakeFirst()
  return keeper !== undefined
}

export interface PipelineFilter {
  readonly accountId: string
  readonly pipelineId: string
  /** Only builds with a smaller number. */
  readonly before: number
  /** Only builds of this branch; null for builds without a branch, undefined for all. */
  readonly branch?: string | null
  readonly triggerName?: string | null
}

/** Returns the ids of builds of a pipeline that have not ended. */
export async function listLiveOfPipeline(query: Query, filter: PipelineFilter): Promise<string[]> {
  let select = query
    .selectFrom('build')
    .select('id')
    .where('account_id', '=', filter.accountId)
    .where('pipeline_id', '=', filter.pipelineId)
    .where('number', '<', filter.before)
    .where('status', 'in', LIVE_BUILD_STATUSES)
  for (const [column, value] of [
    ['branch', filter.branch],
    ['trigger_name', filter.triggerName],
  ] as const) {
    if (value === undefined) continue
    select = value === null ? select.where(column, 'is', null) : select.where(column, '=', value)
  }
  return (await select.execute()).map(({ id }) => id)
}

/** Returns the status of the latest earlier build of the same pipeline and branch that succeeded or failed; undefined if there is none. */
export async function findEarlierResult(
  query: Query,
  { account_id, pipeline_id, branch, number }: Pick<BuildRow, 'account_id' | 'pipeline_id' | 'branch' | 'number'>,
): Promise<BuildStatus | undefined> {
  if (pipeline_id === null) return undefined
  const earlier = await query
    .selectFrom('build')
    .select('status')
    .where('account_id', '=', account_id)
    .where('pipeline_id', '=', pipeline_id)
    .where('branch', branch === null ? 'is' : '=', branch)
    .where('number', '<', number)
    .where('status', 'in', ['success', 'error'])
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return earlier?.status
}

export interface UnreportedEnd {
  readonly id: string
  readonly finished_at: number
}

/** Lists builds that ended since then without a report of their end, the oldest first, after the given one. */
export async function listUnreportedEnds(
  query: Query,
  page: {
    readonly accountId: string
    readonly since: number
    readonly after?: UnreportedEnd | undefined
    readonly limit: number
  },
): Promise<UnreportedEnd[]> {
  const { after } = page
  const rows = await query
    .selectFrom('build')
    .select(['id', 'finished_at'])
    .where('account_id', '=', page.accountId)
    .where('end_reported', 'is', null)
    .where('finished_at', '>=', Math.max(page.since, after?.finished_at ?? 0))
    .$if(after !== undefined, (select) =>
      select.where((where) => where.or([where('finished_at', '>', after?.finished_at ?? 0), where('id', '>', after?.id ?? '')])),
    )
    .orderBy('finished_at')
    .orderBy('id')
    .limit(page.limit)
    .execute()
  return rows.map(({ id, finished_at: finishedAt }) => ({ id, finished_at: finishedAt ?? page.since }))
}

/** Returns the ids of builds that this build started and that have not ended. */
export async function listLiveChildren(query: Query, parentId: string): Promise<string[]> {
  const rows = await query
    .selectFrom('build')
    .select('id')
    .where('parent_id', '=', parentId)
    .where('status', 'in', LIVE_BUILD_STATUSES)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

const update = preparedWrite((tx, changes: Partial<BuildRow>, id: string) =>
  tx.query.updateTable('build').set(changes).where('id', '=', id),
)

export async function updateBuild(tx: Tx, id: string, changes: Partial<BuildRow>): Promise<void> {
  await update(tx, changes, id)
}

/** Changes the frozen data of a build. Only allowed while its document is fetched. */
export async function updateBuildPlan(tx: Tx, buildId: string, changes: Partial<BuildPlanRow>): Promise<void> {
  await tx.query.updateTable('build_plan').set(changes).where('build_id', '=', buildId).execute()
}

const findPlan = preparedOne((query: Query, buildId: string) =>
  query.selectFrom('build_plan').selectAll().where('build_id', '=', buildId),
)

export async function findBuildPlan(query: Query, buildId: string): Promise<BuildPlanRow | undefined> {
  return findPlan(query, buildId)
}

/** Characters of a plan that a list reads. */
const SMALL_PLAN = 500_000

/** Returns the plans of builds, without very large ones. */
export async function listSmallPlans(
  query: Query,
  ids: readonly string[],
): Promise<Pick<BuildPlanRow, 'build_id' | 'plan' | 'request'>[]> {
  if (ids.length === 0) return []
  return query
    .selectFrom('build_plan')
    .select(['build_id', 'plan', 'request'])
    .where('build_id', 'in', [...ids])
    .where(sql<number>`length(plan)`, '<=', SMALL_PLAN)
    .execute()
}

const findRequest = preparedOne((query: Query, buildId: string) =>
  query.selectFrom('build_plan').select('request').where('build_id', '=', buildId),
)

/** Returns the BuildInput of a build as JSON; undefined if the build does not exist. */
export async function findBuildRequest(query: Query, buildId: string): Promise<Pick<BuildPlanRow, 'request'> | undefined> {
  return findRequest(query, buildId)
}

const findTarget = preparedOne((query: Query, buildId: string) =>
  query.selectFrom('build_plan').select('commit_target').where('build_id', '=', buildId),
)

/** Returns the commit at which a build is reported, as JSON. */
export async function findCommitTarget(query: Query, buildId: string): Promise<string | undefined> {
  return (await findTarget(query, buildId))?.commit_target ?? undefined
}
