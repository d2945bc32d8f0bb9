/** Releases of products. */
import { LIVE_RELEASE_STATUSES, type ReleaseStatus } from '@windlass/protocol'
import type { ReleaseRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Topic that is woken when something may have changed that a release waits for. */
export const RELEASE_TOPIC = 'releases'

/** Topic that is woken when a release was created, or has changed. */
export const RELEASE_CHANGES_TOPIC = 'release-changes'

const LIVE = [...LIVE_RELEASE_STATUSES]

export interface ReleaseFilter {
  readonly accountId: string
  readonly product?: string | undefined
  readonly status?: ReleaseStatus | undefined
  /** Id of the last release of the previous page. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Lists releases, newest first. */
export async function listReleases(
  query: Query,
  { accountId, product, status, before, limit }: ReleaseFilter,
): Promise<ReleaseRow[]> {
  let select = query.selectFrom('gitops_release').selectAll().where('account_id', '=', accountId)
  if (product !== undefined) select = select.where('product', '=', product)
  if (status !== undefined) select = select.where('status', '=', status)
  if (before !== undefined) select = select.where('id', '<', before)
  return select.orderBy('id', 'desc').limit(limit).execute()
}

/** Lists the releases that have not ended, oldest first. Their number is limited. */
export async function listLiveReleases(query: Query, accountId: string, product?: string): Promise<ReleaseRow[]> {
  let select = query.selectFrom('gitops_release').selectAll().where('account_id', '=', accountId).where('status', 'in', LIVE)
  if (product !== undefined) select = select.where('product', '=', product)
  return select.orderBy('id').execute()
}

export async function findRelease(query: Query, accountId: string, id: string): Promise<ReleaseRow | undefined> {
  return query
    .selectFrom('gitops_release')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function lockRelease(tx: Tx, accountId: string, id: string): Promise<ReleaseRow | undefined> {
  return tx.query
    .selectFrom('gitops_release')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

/** Finds the last release of a product. */
export async function findLastRelease(query: Query, accountId: string, product: string): Promise<ReleaseRow | undefined> {
  return query
    .selectFrom('gitops_release')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('product', '=', product)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Finds the last release of each product, or of one. */
export async function listLastReleases(query: Query, accountId: string, product?: string): Promise<ReleaseRow[]> {
  let select = query
    .selectFrom('gitops_release as release')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', '=', (of) =>
      of
        .selectFrom('gitops_release as later')
        .select((max) => max.fn.max('later.number').as('number'))
        .whereRef('later.account_id', '=', 'release.account_id')
        .whereRef('later.product', '=', 'release.product'),
    )
  if (product !== undefined) select = select.where('product', '=', product)
  return select.execute()
}

export async function insertRelease(tx: Tx, row: ReleaseRow): Promise<void> {
  await tx.query.insertInto('gitops_release').values(row).execute()
  tx.wake(RELEASE_CHANGES_TOPIC)
}

export async function updateRelease(
  tx: Tx,
  id: string,
  changes: Partial<Pick<ReleaseRow, 'status' | 'state' | 'started_at' | 'ended_at'>>,
): Promise<void> {
  await tx.query.updateTable('gitops_release').set(changes).where('id', '=', id).execute()
  tx.wake(RELEASE_CHANGES_TOPIC)
}

/** Deletes releases that ended before this time. Returns their number, at most `limit`. */
export async function deleteOldReleases(
  tx: Tx,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query.selectFrom('gitops_release').select('id').where('ended_at', '<', before).limit(limit).execute()
  const ids = old.map(({ id }) => id)
  if (ids.length > 0) await tx.query.deleteFrom('gitops_release').where('id', 'in', ids).execute()
  return ids.length
}
