import { sql } from 'kysely'
import type { PipelineRow } from '../schema.ts'
import { preparedOne } from '../database/prepared.ts'
import type { LimitReader, Query, Tx } from '../store.ts'
import { withinPlaces, type Places } from '../places.ts'

const findByName = preparedOne((query: Query, accountId: string, name: string) =>
  query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)])),
)

/** Finds a pipeline by id or name. */
export async function findPipeline(query: Query, accountId: string, name: string): Promise<PipelineRow | undefined> {
  return findByName(query, accountId, name)
}

/** Finds a pipeline by id or name and locks it until the end of the transaction. */
export async function lockPipeline(tx: Tx, accountId: string, name: string): Promise<PipelineRow | undefined> {
  return tx.query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

/** Columns that limit how many builds of a pipeline run at once. */
export const LIMITS = ['concurrency', 'branch_concurrency', 'trigger_concurrency'] as const

export type PipelineLimits = Pick<PipelineRow, 'id' | (typeof LIMITS)[number]>

/** Locks those of the pipelines that have limits, in the order of their ids. */
export async function lockLimitedPipelines(tx: LimitReader, ids: readonly string[]): Promise<PipelineLimits[]> {
  if (ids.length === 0) return []
  return tx.query
    .selectFrom('pipeline')
    .select(['id', ...LIMITS])
    .where('id', 'in', ids)
    .where((where) => where.or(LIMITS.map((column) => where(column, 'is not', null))))
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
}

/** Lists the pipelines of projects. */
export async function listPipelinesOfProjects(
  query: Query,
  projectIds: readonly string[],
): Promise<Pick<PipelineRow, 'id' | 'project_id'>[]> {
  if (projectIds.length === 0) return []
  return query.selectFrom('pipeline').select(['id', 'project_id']).where('project_id', 'in', projectIds).execute()
}

export interface PageFilter {
  readonly accountId: string
  readonly after: string | undefined
  readonly limit: number
  /** Only pipelines of these places. */
  readonly places?: Places | undefined
}

/** Lists pipelines by name. */
export async function listPipelines(query: Query, filter: PageFilter): Promise<PipelineRow[]> {
  let select = query.selectFrom('pipeline').selectAll().where('account_id', '=', filter.accountId)
  if (filter.after !== undefined) select = select.where('name', '>', filter.after)
  if (filter.places !== undefined) select = select.where(withinPlaces(filter.places, { project: 'project_id', pipeline: 'id' }))
  return select.orderBy('name').limit(filter.limit).execute()
}

export type PipelineHead = Pick<PipelineRow, 'id' | 'name' | 'project_id'>

/** Lists all pipelines by name, without their documents. */
export async function listPipelineHeads(query: Query, accountId: string): Promise<PipelineHead[]> {
  return query
    .selectFrom('pipeline')
    .select(['id', 'name', 'project_id'])
    .where('account_id', '=', accountId)
    .orderBy('name')
    .execute()
}

/** Lists the settings of all pipelines, without their documents. */
export async function listPipelineSettings(query: Query, accountId: string): Promise<Pick<PipelineRow, 'id' | 'settings'>[]> {
  return query.selectFrom('pipeline').select(['id', 'settings']).where('account_id', '=', accountId).execute()
}

/** Finds pipelines by id, in the order of the ids, until their texts have more than `maxBytes` in total. At least one is read. */
export async function listPipelinesById(
  query: Query,
  accountId: string,
  { ids, maxBytes }: { readonly ids: readonly string[]; readonly maxBytes: number },
): Promise<PipelineRow[]> {
  if (ids.length === 0) return []
  // Neither database reads a text to know its size in bytes.
  const bytes = sql<number>`octet_length(document) + octet_length(variables) + octet_length(settings)`
  const ofAccount = query.selectFrom('pipeline').where('account_id', '=', accountId)
  const sizes = await ofAccount
    .select(['id', bytes.as('bytes')])
    .where('id', 'in', ids)
    .execute()
  const sizeById = new Map(sizes.map((row) => [row.id, row.bytes]))
  const found = ids.filter((id) => sizeById.has(id))
  let total = 0
  const fitting = found.filter((id, index) => (total += sizeById.get(id) ?? 0) <= maxBytes || index === 0)
  if (fitting.length === 0) return []
  const rows = new Map((await ofAccount.selectAll().where('id', 'in', fitting).execute()).map((row) => [row.id, row]))
  return fitting.flatMap((id) => rows.get(id) ?? [])
}

/** Inserts or replaces a pipeline by id. */
export async function savePipeline(tx: Tx, pipeline: PipelineRow): Promise<void> {
  await tx.query
    .insertInto('pipeline')
    .values(pipeline)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(pipeline))
    .execute()
}

export async function deletePipeline(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('pipeline').where('id', '=', id).execute()
}
