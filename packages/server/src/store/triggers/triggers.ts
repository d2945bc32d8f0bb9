import type { PipelineTriggerRow } from '../schema/schema.ts'
import type { LimitReader, Query, Tx } from '../store.ts'
import { withinPlaces, type Places } from '../places.ts'

/** Splits `pipeline#name`. Returns undefined for an id. */
export function splitTriggerName(id: string): { readonly pipeline: string; readonly name: string } | undefined {
  const at = id.indexOf('#')
  return at < 0 ? undefined : { pipeline: id.slice(0, at), name: id.slice(at + 1) }
}

/** A trigger with the name of its pipeline. */
export interface NamedTrigger extends PipelineTriggerRow {
  readonly pipeline: string
  /** Project of the pipeline. */
  readonly project_id: string | null
}

function selectTriggers(query: Query) {
  return query
    .selectFrom('pipeline_trigger')
    .innerJoin('pipeline', 'pipeline.id', 'pipeline_trigger.pipeline_id')
    .selectAll('pipeline_trigger')
    .select(['pipeline.name as pipeline', 'pipeline.project_id'])
}

/** Finds a trigger by its id or `pipeline#name`. The pipeline is an id or a name. */
export async function findTriggerByName(query: Query, accountId: string, id: string): Promise<NamedTrigger | undefined> {
  const of = splitTriggerName(id)
  if (of !== undefined) return findTriggerOf(query, accountId, of)
  return selectTriggers(query)
    .where('pipeline_trigger.account_id', '=', accountId)
    .where('pipeline_trigger.id', '=', id)
    .executeTakeFirst()
}

/** Finds a trigger by its pipeline (id or name) and its name. */
export async function findTriggerOf(
  query: Query,
  accountId: string,
  { pipeline, name }: { readonly pipeline: string; readonly name: string },
): Promise<NamedTrigger | undefined> {
  return selectTriggers(query)
    .where('pipeline_trigger.account_id', '=', accountId)
    .where((where) => where.or([where('pipeline.id', '=', pipeline), where('pipeline.name', '=', pipeline)]))
    .where('pipeline_trigger.name', '=', name)
    .executeTakeFirst()
}

/** Lists the triggers for events of a repository, by pipeline and name. `repo` is in lower case. */
export async function listTriggersOfRepo(query: Query, accountId: string, repo: string): Promise<NamedTrigger[]> {
  return selectTriggers(query)
    .where('pipeline_trigger.account_id', '=', accountId)
    .where('pipeline_trigger.repo', '=', repo)
    .orderBy('pipeline.name')
    .orderBy('pipeline_trigger.name')
    .execute()
}

/** Lists all triggers of an account. */
export async function listAllTriggers(query: Query, accountId: string): Promise<Pick<PipelineTriggerRow, 'repo' | 'spec'>[]> {
  return query.selectFrom('pipeline_trigger').select(['repo', 'spec']).where('account_id', '=', accountId).execute()
}

export interface TriggerPage {
  readonly accountId: string
  readonly pipelineId: string | undefined
  /** Only triggers of pipelines of these places. */
  readonly places?: Places | undefined
  /** Id of the last trigger of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

/** Lists triggers, oldest first. */
export async function listTriggers(
  query: Query,
  { accountId, pipelineId, places, after, limit }: TriggerPage,
): Promise<NamedTrigger[]> {
  let select = selectTriggers(query).where('pipeline_trigger.account_id', '=', accountId)
  if (pipelineId !== undefined) select = select.where('pipeline_trigger.pipeline_id', '=', pipelineId)
  if (places !== undefined)
    select = select.where(withinPlaces(places, { project: 'pipeline.project_id', pipeline: 'pipeline.id' }))
  if (after !== undefined) select = select.where('pipeline_trigger.id', '>', after)
  return select.orderBy('pipeline_trigger.id').limit(limit).execute()
}

/** Lists the triggers of a pipeline. The caller holds the lock of the pipeline. */
export async function listTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<PipelineTriggerRow[]> {
  return tx.query.selectFrom('pipeline_trigger').selectAll().where('pipeline_id', '=', pipelineId).execute()
}

export type TriggerLimit = Pick<PipelineTriggerRow, 'pipeline_id' | 'name'> & { readonly concurrency: number }

/** Locks those triggers of the pipelines that have limits, in the order of their ids. */
export async function lockLimitedTriggers(tx: LimitReader, pipelineIds: readonly string[]): Promise<TriggerLimit[]> {
  if (pipelineIds.length === 0) return []
  const rows = await tx.query
    .selectFrom('pipeline_trigger')
    .select(['pipeline_id', 'name', 'concurrency'])
    .where('pipeline_id', 'in', pipelineIds)
    .where('concurrency', 'is not', null)
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
  return rows.map(({ concurrency, ...row }) => ({ ...row, concurrency: concurrency ?? Infinity }))
}

/** Inserts or replaces a trigger by id. */
export async function saveTrigger(tx: Tx, trigger: PipelineTriggerRow): Promise<void> {
  await tx.query
    .insertInto('pipeline_trigger')
    .values(trigger)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(trigger))
    .execute()
}

export async function deleteTriggers(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query.deleteFrom('pipeline_trigger').where('id', 'in', ids).execute()
}

export async function deleteTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<void> {
  await tx.query.deleteFrom('pipeline_trigger').where('pipeline_id', '=', pipelineId).execute()
}
