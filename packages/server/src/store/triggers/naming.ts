import type { Query } from '../store.ts'

/** A trigger of any kind. */
export interface TriggerSpec {
  readonly pipeline: string
  readonly name: string
  /** JSON: GitTrigger, CronTrigger or EventTrigger. */
  readonly spec: string
}

/**
 * Lists the triggers of all kinds that do not come with a document and whose specification contains a name. The database may ignore case and reads `_` and
 * `%` as wildcards, so the caller must compare again.
 */
export async function listTriggersNaming(query: Query, accountId: string, name: string): Promise<TriggerSpec[]> {
  const found: TriggerSpec[] = []
  for (const table of ['pipeline_trigger', 'cron_trigger', 'event_trigger'])
    found.push(
      ...(await query
        // All three have these columns.
        .selectFrom(`${table as 'event_trigger'} as trigger`)
        .innerJoin('pipeline', 'pipeline.id', 'trigger.pipeline_id')
        .select(['pipeline.name as pipeline', 'trigger.name', 'trigger.spec'])
        .where('trigger.account_id', '=', accountId)
        .where('trigger.origin', '=', 'api')
        .where('trigger.spec', 'like', `%${name}%`)
        .orderBy('pipeline.name')
        .orderBy('trigger.name')
        .execute()),
    )
  return found
}
