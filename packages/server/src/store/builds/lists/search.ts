/** Search of builds by several criteria, a numbered page at a time. Our own lists use a cursor, see `listBuilds`. */
import type { BuildStatus } from '@windlass/plan'
import { BUILD_PLACE, withinPlaces, type Places } from '../../places.ts'
import type { BuildRow } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'

export interface BuildSearch {
  readonly accountId: string
  readonly status?: readonly BuildStatus[]
  /** Only builds of these places. */
  readonly places?: Places | undefined
  /** Ids or names. */
  readonly pipelines?: readonly string[]
  readonly branches?: readonly string[]
  readonly revisions?: readonly string[]
  readonly triggerNames?: readonly string[]
  /** Only builds that were created at this time or later, and before the other one. Epoch milliseconds. */
  readonly from?: number
  readonly before?: number
}

/** Further builds are not counted: that would read every build of the account. */
const MAX_COUNTED = 10_000

/** Returns a page of the builds that match all criteria, newest first, and the number of all that match, at most 10,000. */
export async function searchBuilds(
  query: Query,
  search: BuildSearch,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ rows: BuildRow[]; count: number }> {
  const found = matching(query, search)
  const rows = await found.selectAll().orderBy('number', 'desc').limit(page.limit).offset(page.offset).execute()
  const { count } = await query
    .selectFrom(found.select('id').limit(MAX_COUNTED).as('found'))
    .select((of) => of.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { rows, count: Number(count) }
}

function matching(query: Query, { accountId, places, ...search }: BuildSearch) {
  const { status, pipelines, branches, revisions, triggerNames, from, before } = search
  let select = query.selectFrom('build').where('account_id', '=', accountId)
  if (places !== undefined) select = select.where(withinPlaces(places, BUILD_PLACE))
  if (status !== undefined) select = select.where('status', 'in', status)
  if (pipelines !== undefined)
    select = select.where((where) => where.or([where('pipeline_id', 'in', pipelines), where('pipeline', 'in', pipelines)]))
  if (branches !== undefined) select = select.where('branch', 'in', branches)
  if (revisions !== undefined) select = select.where('revision', 'in', revisions)
  if (triggerNames !== undefined) select = select.where('trigger_name', 'in', triggerNames)
  if (from !== undefined) select = select.where('created_at', '>=', from)
  if (before !== undefined) select = select.where('created_at', '<', before)
  return select
}
