import { sql, type SelectQueryBuilder } from 'kysely'
import type { PipelineRow, Schema } from '../schema/schema.ts'
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

/** Lists the pipelines that name a runtime, and locks them in the order of their ids. */
export async function listPipelinesOfRuntime(tx: Tx, accountId: string, runtime: string): Promise<PipelineRow[]> {
  return tx.query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('runtime', '=', runtime)
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
}

export interface PageFilter {
  readonly accountId: string
  readonly after: string | undefined
  readonly limit: number
  /** Only pipelines of these places. */
  readonly places?: Places | undefined
  /** Only pipelines of this project. */
  readonly projectId?: string | undefined
  /** Part of the name. */
  readonly text?: string | undefined
}

type SelectPipelines = SelectQueryBuilder<Schema, 'pipeline', object>

function selectFiltered(
  query: Query,
  { accountId, places, projectId, text }: Omit<PageFilter, 'after' | 'limit'>,
): SelectPipelines {
  let select: SelectPipelines = query.selectFrom('pipeline').where('account_id', '=', accountId)
  if (places !== undefined) select = select.where(withinPlaces(places, { project: 'project_id', pipeline: 'id' }))
  if (projectId !== undefined) select = select.where('project_id', '=', projectId)
  if (text !== undefined && text !== '') {
    const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`)
    select = select.where(sql<boolean>`lower(name) like lower(${`%${literal}%`}) escape '\\'`)
  }
  return select
}

/** Lists pipelines by name. */
export async function listPipelines(query: Query, filter: PageFilter): Promise<PipelineRow[]> {
  let select = selectFiltered(query, filter)
  if (filter.after !== undefined) select = select.where('name', '>', filter.after)
  return select.selectAll().orderBy('name').limit(filter.limit).execute()
}

/** The place of a pipeline in the order of last builds. */
export interface BuiltPlace {
  readonly name: string
  /** Number of its last build; 0 if it has none. */
  readonly lastNumber: number
}

/** Lists pipelines by their last builds, newest first. The last build of each pipeline is read from an index. */
export async function listPipelinesByBuild(
  query: Query,
  filter: Omit<PageFilter, 'after'> & { readonly after: BuiltPlace | undefined },
): Promise<(PipelineRow & BuiltPlace)[]> {
  const { after } = filter
  const placed = selectFiltered(query, filter)
    .select(['id', 'name'])
    .select((of) =>
      of.fn
        .coalesce(
          of
            .selectFrom('build')
            .select((build) => build.fn.max('build.number').as('number'))
            .whereRef('build.account_id', '=', 'pipeline.account_id')
            .whereRef('build.pipeline_id', '=', 'pipeline.id'),
          sql<number>`0`,
        )
        .as('lastNumber'),
    )
  let page = query.selectFrom(placed.as('placed')).select(['id', 'name', 'lastNumber'])
  if (after !== undefined)
    page = page.where((where) =>
      where.or([
        where('lastNumber', '<', after.lastNumber),
        where.and([where('lastNumber', '=', after.lastNumber), where('name', '>', after.name)]),
      ]),
    )
  const places = await page.orderBy('lastNumber', 'desc').orderBy('name').limit(filter.limit).execute()
  if (places.length === 0) return []
  const ids = places.map(({ id }) => id)
  const rows = await query.selectFrom('pipeline').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return places.flatMap(({ id, lastNumber }) => {
    const row = byId.get(id)
    return row === undefined ? [] : [{ ...row, lastNumber: Number(lastNumber) }]
  })
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

/** Lists the ids of pipelines whose texts contain a name, by name. Case does not matter, and `_` and `%` match any text, so the caller looks again. */
export async function listIdsNaming(query: Query, accountId: string, name: string): Promise<string[]> {
  const pattern = `%${name}%`
  const rows = await query
    .selectFrom('pipeline')
    .select('id')
    .where('account_id', '=', accountId)
    .where((where) =>
      where.or([where('contexts', 'like', pattern), where('document', 'like', pattern), where('settings', 'like', pattern)]),
    )
    .orderBy('name')
    .execute()
  return rows.map(({ id }) => id)
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
