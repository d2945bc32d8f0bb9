import type { ClusterObjectRow, MonitorRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Identifies a monitor. A cluster has at most one. */
export interface MonitorKey {
  readonly accountId: string
  readonly cluster: string
}

export async function saveMonitor(tx: Tx, monitor: MonitorRow): Promise<void> {
  const { created_at: _created, ...fields } = monitor
  await tx.query
    .insertInto('monitor')
    .values(monitor)
    .onConflict((conflict) => conflict.columns(['account_id', 'cluster']).doUpdateSet(fields))
    .execute()
}

export async function lockMonitor(tx: Tx, { accountId, cluster }: MonitorKey): Promise<MonitorRow | undefined> {
  return tx.query
    .selectFrom('monitor')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('cluster', '=', cluster)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function listMonitors(query: Query, accountId: string): Promise<MonitorRow[]> {
  return query.selectFrom('monitor').selectAll().where('account_id', '=', accountId).orderBy('cluster').execute()
}

/** Deletes a monitor and everything that it reported. Returns false if it does not exist. */
export async function deleteMonitor(tx: Tx, { accountId, cluster }: MonitorKey): Promise<boolean> {
  const { query } = tx
  await query.deleteFrom('cluster_object').where('account_id', '=', accountId).where('cluster', '=', cluster).execute()
  const gone = await query
    .deleteFrom('monitor')
    .where('account_id', '=', accountId)
    .where('cluster', '=', cluster)
    .returning('cluster')
    .execute()
  return gone.length > 0
}

export async function saveObject(tx: Tx, object: ClusterObjectRow): Promise<void> {
  await tx.query
    .insertInto('cluster_object')
    .values(object)
    .onConflict((conflict) => conflict.columns(['account_id', 'cluster', 'kind', 'namespace', 'name']).doUpdateSet(object))
    .execute()
}

type ObjectKey = Pick<ClusterObjectRow, 'account_id' | 'cluster' | 'kind' | 'namespace' | 'name'>

export async function deleteObject(tx: Tx, key: ObjectKey): Promise<void> {
  await tx.query
    .deleteFrom('cluster_object')
    .where('account_id', '=', key.account_id)
    .where('cluster', '=', key.cluster)
    .where('kind', '=', key.kind)
    .where('namespace', '=', key.namespace)
    .where('name', '=', key.name)
    .execute()
}

/** Deletes all objects of a kind that another generation reported. */
export async function deleteOldObjects(
  tx: Tx,
  { accountId, cluster, kind, generation }: MonitorKey & Pick<ClusterObjectRow, 'kind' | 'generation'>,
): Promise<void> {
  await tx.query
    .deleteFrom('cluster_object')
    .where('account_id', '=', accountId)
    .where('cluster', '=', cluster)
    .where('kind', '=', kind)
    .where('generation', '<>', generation)
    .execute()
}

/** Counts the stored objects of each cluster. */
export async function countObjects(query: Query, accountId: string): Promise<Map<string, number>> {
  const rows = await query
    .selectFrom('cluster_object')
    .select(['cluster', (expression) => expression.fn.countAll<number | string>().as('count')])
    .where('account_id', '=', accountId)
    .groupBy('cluster')
    .execute()
  return new Map(rows.map(({ cluster, count }) => [cluster, Number(count)]))
}

export interface ObjectFilter extends MonitorKey {
  readonly kind?: ClusterObjectRow['kind'] | undefined
  readonly namespace?: string | undefined
  /** The last object of the previous page. */
  readonly after?: Pick<ClusterObjectRow, 'kind' | 'namespace' | 'name'> | undefined
  readonly limit: number
}

/** Lists objects by kind, namespace and name. */
export async function listObjects(query: Query, filter: ObjectFilter): Promise<ClusterObjectRow[]> {
  let select = query
    .selectFrom('cluster_object')
    .selectAll()
    .where('account_id', '=', filter.accountId)
    .where('cluster', '=', filter.cluster)
  if (filter.kind !== undefined) select = select.where('kind', '=', filter.kind)
  if (filter.namespace !== undefined) select = select.where('namespace', '=', filter.namespace)
  if (filter.after !== undefined) {
    const { kind, namespace, name } = filter.after
    select = select.where((where) =>
      where.or([
        where('kind', '>', kind),
        where.and([where('kind', '=', kind), where('namespace', '>', namespace)]),
        where.and([where('kind', '=', kind), where('namespace', '=', namespace), where('name', '>', name)]),
      ]),
    )
  }
  return select.orderBy('kind').orderBy('namespace').orderBy('name').limit(filter.limit).execute()
}
