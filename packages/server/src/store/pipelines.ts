import type { PipelineRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

/** By id or name. */
export async function findPipeline(query: Query, accountId: string, name: string): Promise<PipelineRow | undefined> {
  return query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .executeTakeFirst()
}

/** By id or name, locked until the end of the transaction. */
export async function lockPipeline(tx: Tx, accountId: string, name: string): Promise<PipelineRow | undefined> {
  return tx.query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

/** Where a pipeline limits how many builds it runs at once. */
export const LIMITS = ['concurrency', 'branch_concurrency', 'trigger_concurrency'] as const

/** The pipelines that limit their builds and have builds waiting, locked in the order of their ids. */
export async function lockLimitedPipelines(tx: Tx, accountId: string): Promise<PipelineRow[]> {
  return tx.query
    .selectFrom('pipeline')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or(LIMITS.map((column) => where(column, 'is not', null))))
    .where('id', 'in', (inner) =>
      inner.selectFrom('build').select('pipeline_id').where('status', '=', 'pending').$narrowType<{ pipeline_id: string }>(),
    )
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
}

export interface PageFilter {
  readonly accountId: string
  readonly after: string | undefined
  readonly limit: number
}

/** By name. */
export async function listPipelines(query: Query, filter: PageFilter): Promise<PipelineRow[]> {
  let select = query.selectFrom('pipeline').selectAll().where('account_id', '=', filter.accountId)
  if (filter.after !== undefined) select = select.where('name', '>', filter.after)
  return select.orderBy('name').limit(filter.limit).execute()
}

/** Inserts it, or replaces the one of this id. */
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
