/** Builds that belong to a build: by its steps, by repetition, or by branch. */
import type { BuildRow } from '../schema/schema.ts'
import type { Query } from '../store.ts'
import { BUILD_PLACE, withinPlaces, type Places } from '../places.ts'

export interface RelationFilter {
  readonly accountId: string
  /** Only builds of these places. */
  readonly places: Places | undefined
}

function select(query: Query, { accountId, places }: RelationFilter) {
  const all = query.selectFrom('build').where('account_id', '=', accountId)
  return places === undefined ? all : all.where(withinPlaces(places, BUILD_PLACE))
}

/** Finds builds by id. */
export async function findBuilds(query: Query, filter: RelationFilter, ids: readonly string[]): Promise<BuildRow[]> {
  if (ids.length === 0) return []
  return select(query, filter)
    .where('id', 'in', [...ids])
    .selectAll()
    .execute()
}

/** Lists the builds that the steps of a build started, or that repeat it, oldest first. */
export async function listDescendants(
  query: Query,
  { places }: RelationFilter,
  { column, id, limit }: { readonly column: 'parent_id' | 'restart_of'; readonly id: string; readonly limit: number },
): Promise<BuildRow[]> {
  // Without the account, which related builds share: SQLite would read all of its builds in their order.
  const all = query.selectFrom('build').where(column, '=', id)
  const seen = places === undefined ? all : all.where(withinPlaces(places, BUILD_PLACE))
  return seen.selectAll().orderBy('number').limit(limit).execute()
}

/** A build of a branch, as far as its history needs it. */
export type BranchBuild = Pick<BuildRow, 'id' | 'number' | 'status' | 'revision'>

type OnBranch = Pick<BuildRow, 'account_id' | 'pipeline_id' | 'branch' | 'number'>

function selectBranch(query: Query, { account_id, pipeline_id, branch }: OnBranch) {
  const all = query.selectFrom('build').where('account_id', '=', account_id).where('pipeline_id', '=', pipeline_id)
  return branch === null ? all.where('branch', 'is', null) : all.where('branch', '=', branch)
}

/** Lists the builds of the pipeline and branch of a build with smaller numbers, newest first. */
export async function listEarlier(query: Query, build: OnBranch, limit: number): Promise<BranchBuild[]> {
  return selectBranch(query, build)
    .where('number', '<', build.number)
    .select(['id', 'number', 'status', 'revision'])
    .orderBy('number', 'desc')
    .limit(limit)
    .execute()
}

/** Finds the next build of the pipeline and branch of a build. */
export async function findLater(query: Query, build: OnBranch): Promise<Pick<BuildRow, 'id'> | undefined> {
  return selectBranch(query, build).where('number', '>', build.number).select('id').orderBy('number').limit(1).executeTakeFirst()
}
