/** Reads waiting builds and the builds that hold their limits, for views. The election has its own statements in `waiting.ts`. */
import { sql } from 'kysely'
import type { BuildRow } from '../schema/schema.ts'
import type { Query } from '../store.ts'
import { LIVE_ATTEMPT_STATUSES } from './attempts.ts'
import { selectQueued, selectWaiting } from './waiting.ts'
import { BUILD_PLACE, withinPlaces, type Places } from '../places.ts'

const TURN = ['number', 'priority', 'runtime', 'pipeline_id', 'branch', 'trigger_name', 'reason'] as const
/** A waiting build as far as its turn depends on it. */
export type Turn = Pick<BuildRow, (typeof TURN)[number]>

/** Lists all builds that wait for an attempt. Reads only an index, not the builds. */
export async function listTurns(query: Query, accountId: string): Promise<Turn[]> {
  return selectWaiting(query, accountId).select(TURN).execute()
}

const QUEUED = [...TURN, 'id', 'pipeline', 'status', 'held', 'message', 'hint', 'queued_at'] as const
export type QueuedBuild = Pick<BuildRow, (typeof QUEUED)[number]>

/** Lists the builds that wait for an attempt or for the end of an earlier one, in the order in which they start. */
export async function listQueued(
  query: Query,
  { accountId, places }: { readonly accountId: string; readonly places?: Places | undefined },
): Promise<QueuedBuild[]> {
  let select = selectQueued(query, accountId).select(QUEUED)
  if (places !== undefined) select = select.where(withinPlaces(places, BUILD_PLACE))
  return select.orderBy('priority', 'desc').orderBy('number').execute()
}

const HOLDER = [
  'build.id',
  'build.number',
  'build.pipeline_id',
  'build.pipeline',
  'build.branch',
  'build.trigger_name',
  'build.project_id',
  'build.status',
  'build.started_at',
] as const
export type Holder = Pick<
  BuildRow,
  'id' | 'number' | 'pipeline_id' | 'pipeline' | 'branch' | 'trigger_name' | 'project_id' | 'status' | 'started_at' | 'runtime'
>

/** Lists the builds that count against limits, oldest first: those with a live attempt, and those that count while they wait for an approval. */
export async function listHolders(query: Query, accountId: string): Promise<Holder[]> {
  const live = query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .select([...HOLDER, 'attempt.runtime'])
    .where('attempt.account_id', '=', accountId)
    .where('attempt.status', 'in', LIVE_ATTEMPT_STATUSES)
  const asking = query
    .selectFrom('build')
    .select([...HOLDER, sql<string | null>`null`.as('runtime')])
    .where('build.account_id', '=', accountId)
    // Literals; see `waiting.ts`.
    .where('build.status', '=', sql.lit('pending-approval' as const))
    .where('build.approval_counts', '=', sql.lit(1 as const))
  const found: Holder[] = [...(await live.execute()), ...(await asking.execute())]
  return found.toSorted((a, b) => a.number - b.number)
}
