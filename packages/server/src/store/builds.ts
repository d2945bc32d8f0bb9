import { BUILD_STATUSES, FINAL_BUILD_STATUSES, type BuildStatus } from '@windlass/plan'
import { LIVE_ATTEMPT_STATUSES } from './attempts.ts'
import type { BuildPlanRow, BuildRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

export const LIVE_BUILD_STATUSES = BUILD_STATUSES.filter(
  (status) => !(FINAL_BUILD_STATUSES as readonly string[]).includes(status),
)

export async function insertBuild(tx: Tx, build: BuildRow, plan: BuildPlanRow): Promise<void> {
  await tx.query.insertInto('build').values(build).execute()
  await tx.query.insertInto('build_plan').values(plan).execute()
}

export async function findBuild(query: Query, accountId: string, id: string): Promise<BuildRow | undefined> {
  return query.selectFrom('build').selectAll().where('id', '=', id).where('account_id', '=', accountId).executeTakeFirst()
}

/** The build, locked until the end of the transaction. */
export async function lockBuild(tx: Tx, id: string): Promise<BuildRow | undefined> {
  return tx.query.selectFrom('build').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

/** True while an attempt of another build may still use the volume on the daemon of this runtime, or one that waits keeps it. */
export async function isVolumeInUse(query: Query, volume: string, of: { buildId: string; runtime: string }): Promise<boolean> {
  const user = await query
    .selectFrom('build')
    .innerJoin('attempt', 'attempt.build_id', 'build.id')
    .select('build.id')
    .where('build.volume', '=', volume)
    .where('build.id', '!=', of.buildId)
    .where('attempt.runtime', '=', of.runtime)
    .where('attempt.status', 'in', LIVE_ATTEMPT_STATUSES)
    .executeTakeFirst()
  if (user !== undefined) return true
  const keeper = await query
    .selectFrom('build')
    .select('id')
    .where('volume', '=', volume)
    .where('id', '!=', of.buildId)
    .where('runtime', '=', of.runtime)
    .where('keeps_volume', '=', 1)
    .where('attempt', '>', 0)
    .where('status', 'in', LIVE_BUILD_STATUSES)
    .executeTakeFirst()
  return keeper !== undefined
}

export interface PipelineFilter {
  readonly pipelineId: string
  /** Only builds with a smaller number. */
  readonly before: number
  /** Only those of this branch, or without one; of any when left out. */
  readonly branch?: string | null
  readonly triggerName?: string | null
}

/** Ids of the builds of a pipeline that have not ended. */
export async function listLiveOfPipeline(query: Query, filter: PipelineFilter): Promise<string[]> {
  let select = query
    .selectFrom('build')
    .select('id')
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

export async function updateBuild(tx: Tx, id: string, changes: Partial<BuildRow>): Promise<void> {
  await tx.query.updateTable('build').set(changes).where('id', '=', id).execute()
}

/** Changes what is frozen with a build; only while its document is fetched. */
export async function updateBuildPlan(tx: Tx, buildId: string, changes: Partial<BuildPlanRow>): Promise<void> {
  await tx.query.updateTable('build_plan').set(changes).where('build_id', '=', buildId).execute()
}

export async function findBuildPlan(query: Query, buildId: string): Promise<BuildPlanRow | undefined> {
  return query.selectFrom('build_plan').selectAll().where('build_id', '=', buildId).executeTakeFirst()
}

/** What was asked for, as JSON; undefined when there is no such build. */
export async function findBuildRequest(query: Query, buildId: string): Promise<Pick<BuildPlanRow, 'request'> | undefined> {
  return query.selectFrom('build_plan').select('request').where('build_id', '=', buildId).executeTakeFirst()
}

export interface BuildFilter {
  readonly accountId: string
  readonly status?: readonly BuildStatus[] | undefined
  readonly pipelineId?: string | undefined
  readonly pipeline?: string | undefined
  readonly branch?: string | undefined
  /** Only builds that carry every one of these annotations, with one of the values when there are any (as stored). */
  readonly annotations?: readonly { readonly name: string; readonly values: readonly string[] }[] | undefined
  /** Only builds with a smaller number. */
  readonly before?: number | undefined
  readonly limit: number
}

/** Newest first. */
export async function listBuilds(query: Query, filter: BuildFilter): Promise<BuildRow[]> {
  let select = query.selectFrom('build').selectAll().where('account_id', '=', filter.accountId)
  if (filter.status !== undefined) select = select.where('status', 'in', filter.status)
  if (filter.pipelineId !== undefined) select = select.where('pipeline_id', '=', filter.pipelineId)
  if (filter.pipeline !== undefined) select = select.where('pipeline', '=', filter.pipeline)
  if (filter.branch !== undefined) select = select.where('branch', '=', filter.branch)
  for (const { name, values } of filter.annotations ?? []) {
    select = select.where((where) => {
      let found = where
        .selectFrom('annotation')
        .select('annotation.name')
        .whereRef('annotation.entity_id', '=', 'build.id')
        .where('annotation.entity', '=', 'build')
        .where('annotation.kind', '=', 'annotation')
        .where('annotation.name', '=', name)
      if (values.length > 0) found = found.where('annotation.value', 'in', [...values])
      return where.exists(found)
    })
  }
  if (filter.before !== undefined) select = select.where('number', '<', filter.before)
  return select.orderBy('number', 'desc').limit(filter.limit).execute()
}

/** How many builds there are in each state that is not final, and in each final one. */
export async function countBuilds(query: Query, accountId: string): Promise<{ status: BuildStatus; count: number }[]> {
  return query
    .selectFrom('build')
    .select((expression) => ['status', expression.fn.countAll<number>().as('count')])
    .where('account_id', '=', accountId)
    .where('status', 'in', LIVE_BUILD_STATUSES)
    .groupBy('status')
    .execute()
}
