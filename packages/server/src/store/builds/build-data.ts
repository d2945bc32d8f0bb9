/** Data that clients store with a build. */
import type { BuildDataRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Lists the items of a build, oldest first, without their data. */
export async function listBuildData(query: Query, buildId: string): Promise<Omit<BuildDataRow, 'data'>[]> {
  return (
    query
      .selectFrom('build_data')
      .select(['id', 'account_id', 'build_id', 'created_at'])
      .where('build_id', '=', buildId)
      // The ids of one second have no order.
      .orderBy('created_at')
      .orderBy('id')
      .execute()
  )
}

export async function findBuildData(query: Query, buildId: string, id: string): Promise<BuildDataRow | undefined> {
  return query.selectFrom('build_data').selectAll().where('build_id', '=', buildId).where('id', '=', id).executeTakeFirst()
}

export async function countBuildData(query: Query, buildId: string): Promise<number> {
  const { count } = await query
    .selectFrom('build_data')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('build_id', '=', buildId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function insertBuildData(tx: Tx, row: BuildDataRow): Promise<void> {
  await tx.query.insertInto('build_data').values(row).execute()
}
