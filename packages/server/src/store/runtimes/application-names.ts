/** Names of applications, for lists that show few of them. */
import type { ApplicationRow } from '../schema/schema.ts'
import type { Query } from '../store.ts'

export interface NameFilter {
  readonly accountId: string
  readonly runtimeId?: string | undefined
  readonly name?: string | undefined
  /** What they are for their runtimes. */
  readonly entity?: string | undefined
  readonly limit: number
}

/** Lists only the names of applications that are not gone, in the order of the list by name. */
export async function listNames(
  query: Query,
  { accountId, runtimeId, name, entity, limit }: NameFilter,
): Promise<Pick<ApplicationRow, 'id' | 'runtime_id' | 'namespace' | 'name'>[]> {
  let select = query
    .selectFrom('gitops_application')
    .select(['id', 'runtime_id', 'namespace', 'name'])
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
  if (runtimeId !== undefined) select = select.where('runtime_id', '=', runtimeId)
  if (name !== undefined) select = select.where('name', '=', name)
  if (entity !== undefined) select = select.where('entity', '=', entity)
  return select.orderBy('name').orderBy('id').limit(limit).execute()
}
