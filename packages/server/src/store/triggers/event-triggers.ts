import type { EventTriggerRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'
import { splitTriggerName, type TriggerPage } from './triggers.ts'
import { withinPlaces } from '../places.ts'

/** A trigger with the name and the project of its pipeline. */
export interface NamedEventTrigger extends EventTriggerRow {
  readonly pipeline: string
  readonly project_id: string | null
}

function selectEventTriggers(query: Query, accountId: string) {
  return query
    .selectFrom('event_trigger')
    .innerJoin('pipeline', 'pipeline.id', 'event_trigger.pipeline_id')
    .selectAll('event_trigger')
    .select(['pipeline.name as pipeline', 'pipeline.project_id'])
    .where('event_trigger.account_id', '=', accountId)
}

/** Finds a trigger by its id or `pipeline#name`. The pipeline is an id or a name. */
export async function findEventTriggerByName(
  query: Query,
  accountId: string,
  id: string,
): Promise<NamedEventTrigger | undefined> {
  const of = splitTriggerName(id)
  const select = selectEventTriggers(query, accountId)
  if (of === undefined) return select.where('event_trigger.id', '=', id).executeTakeFirst()
  return select
    .where((where) => where.or([where('pipeline.id', '=', of.pipeline), where('pipeline.name', '=', of.pipeline)]))
    .where('event_trigger.name', '=', of.name)
    .executeTakeFirst()
}

/** Lists triggers, oldest first. */
export async function listEventTriggers(
  query: Query,
  { accountId, pipelineId, places, after, limit }: TriggerPage,
): Promise<NamedEventTrigger[]> {
  let select = selectEventTriggers(query, accountId)
  if (pipelineId !== undefined) select = select.where('event_trigger.pipeline_id', '=', pipelineId)
  if (places !== undefined)
    select = select.where(withinPlaces(places, { project: 'pipeline.project_id', pipeline: 'pipeline.id' }))
  if (after !== undefined) select = select.where('event_trigger.id', '>', after)
  return select.orderBy('event_trigger.id').limit(limit).execute()
}

export type EventSubject = Pick<EventTriggerRow, 'type'> & { readonly subjects: readonly string[] }

/** Lists the triggers of a type for an image, a chart or a pipeline, by pipeline and name. */
export async function listTriggersOfSubject(
  query: Query,
  accountId: string,
  { type, subjects }: EventSubject,
): Promise<NamedEventTrigger[]> {
  return selectEventTriggers(query, accountId)
    .where('event_trigger.type', '=', type)
    .where('event_trigger.subject', 'in', subjects)
    .orderBy('pipeline.name')
    .orderBy('event_trigger.name')
    .execute()
}

/** Returns true if a trigger waits for the end of builds of a pipeline, given by its id and name. */
export async function hasBuildTrigger(query: Query, accountId: string, pipeline: readonly string[]): Promise<boolean> {
  const found = await query
    .selectFrom('event_trigger')
    .select('id')
    .where('account_id', '=', accountId)
    .where('type', '=', 'build')
    .where('subject', 'in', pipeline)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Lists the triggers of a pipeline. The caller holds the lock of the pipeline. */
export async function listEventTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<EventTriggerRow[]> {
  return tx.query.selectFrom('event_trigger').selectAll().where('pipeline_id', '=', pipelineId).execute()
}

/** Inserts or replaces a trigger by id. */
export async function saveEventTrigger(tx: Tx, trigger: EventTriggerRow): Promise<void> {
  await tx.query
    .insertInto('event_trigger')
    .values(trigger)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(trigger))
    .execute()
}

export async function deleteEventTriggers(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query.deleteFrom('event_trigger').where('id', 'in', ids).execute()
}

export async function deleteEventTriggersOfPipeline(tx: Tx, pipelineId: string): Promise<void> {
  await tx.query.deleteFrom('event_trigger').where('pipeline_id', '=', pipelineId).execute()
}
