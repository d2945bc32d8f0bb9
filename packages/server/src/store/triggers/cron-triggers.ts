import type { CronTriggerRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'
import { splitTriggerName, type TriggerPage } from './triggers.ts'
import { withinPlaces } from '../places.ts'

/** A cron trigger with the name of its pipeline. */
export interface NamedCronTrigger extends CronTriggerRow {
  readonly pipeline: string
  /** Project of the pipeline. */
  readonly project_id: string | null
}

function selectCronTriggers(query: Query) {
  return query
    .selectFrom('cron_trigger')
    .innerJoin('pipeline', 'pipeline.id', 'cron_trigger.pipeline_id')
    .selectAll('cron_trigger')
    .select(['pipeline.name as pipeline', 'pipeline.project_id'])
}

/** Finds a cron trigger by its id or `pipeline#name`. The pipeline is an id or a name. */
export async function findCronTriggerByName(query: Query, accountId: string, id: string): Promise<NamedCronTrigger | undefined> {
  const of = splitTriggerName(id)
  if (of !== undefined) return findCronTriggerOf(query, accountId, of)
  return selectCronTriggers(query)
    .where('cron_trigger.account_id', '=', accountId)
    .where('cron_trigger.id', '=', id)
    .executeTakeFirst()
}

/** Finds a cron trigger by its pipeline (id or name) and its name. */
export async function findCronTriggerOf(
  query: Query,
  accountId: string,
  { pipeline, name }: { readonly pipeline: string; readonly name: string },
): Promise<NamedCronTrigger | undefined> {
  return selectCronTriggers(query)
    .where('cron_trigger.account_id', '=', accountId)
    .where((where) => where.or([where('pipeline.id', '=', pipeline), where('pipeline.name', '=', pipeline)]))
    .where('cron_trigger.name', '=', name)
    .executeTakeFirst()
}

/** Lists cron triggers, oldest first. */
export async function listCronTriggers(
  query: Query,
  { accountId, pipelineId, places, after, limit }: TriggerPage,
): Promise<NamedCronTrigger[]> {
  let select = selectCronTriggers(query).where('cron_trigger.account_id', '=', accountId)
  if (pipelineId !== undefined) select = select.where('cron_trigger.pipeline_id', '=', pipelineId)
  if (places !== undefined)
    select = select.where(withinPlaces(places, { project: 'pipeline.project_id', pipeline: 'pipeline.id' }))
  if (after !== undefined) select = select.where('cron_trigger.id', '>', after)
  return select.orderBy('cron_trigger.id').limit(limit).execute()
}

/** Lists the cron triggers of a pipeline. The caller holds the lock of the pipeline. */
export async function listCronTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<CronTriggerRow[]> {
  return tx.query.selectFrom('cron_trigger').selectAll().where('pipeline_id', '=', pipelineId).execute()
}

/** Lists the triggers that are due, the most overdue first. */
export async function listDueCronTriggers(query: Query, now: number, limit: number): Promise<CronTriggerRow[]> {
  return query.selectFrom('cron_trigger').selectAll().where('next_at', '<=', now).orderBy('next_at').limit(limit).execute()
}

/** Inserts or replaces a cron trigger by id. */
export async function saveCronTrigger(tx: Tx, trigger: CronTriggerRow): Promise<void> {
  await tx.query
    .insertInto('cron_trigger')
    .values(trigger)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(trigger))
    .execute()
}

export async function deleteCronTriggers(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query.deleteFrom('cron_trigger').where('id', 'in', ids).execute()
}

export async function deleteCronTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<void> {
  await tx.query.deleteFrom('cron_trigger').where('pipeline_id', '=', pipelineId).execute()
}

/** Moves a trigger from a tick to the next one. Returns false if another server has done so, or the trigger was changed. */
export async function advanceCronTrigger(
  tx: Tx,
  { id, tick }: { readonly id: string; readonly tick: number },
  changes: Pick<CronTriggerRow, 'next_at' | 'problem'> & Partial<Pick<CronTriggerRow, 'fired_at'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.query
    .updateTable('cron_trigger')
    .set(changes)
    .where('id', '=', id)
    .where('next_at', '=', tick)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
