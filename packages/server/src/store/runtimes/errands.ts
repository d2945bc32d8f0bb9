/** Errands of app-proxies. One is deleted when what it belongs to has used its result: a release, or a message about a commit. */
import type { ErrandRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Topic that is woken when a runtime has an errand to do. */
export function errandTopic(runtimeId: string): string {
  return `errands/${runtimeId}`
}

/** Topic that is woken when an errand of a release or a message has its result. */
export function errandResultTopic(ownerId: string): string {
  return `errand-results/${ownerId}`
}

/** Adds an errand that nobody has claimed. */
export async function insertErrand(tx: Tx, row: Omit<ErrandRow, 'state' | 'tries' | 'result'>): Promise<void> {
  await tx.query
    .insertInto('gitops_errand')
    .values({ ...row, state: 'waiting', tries: 0, result: null })
    .execute()
  tx.wake(errandTopic(row.runtime_id))
}

/** Lists the errands of a release. */
export async function listErrands(query: Query, releaseId: string): Promise<ErrandRow[]> {
  return query.selectFrom('gitops_errand').selectAll().where('release_id', '=', releaseId).orderBy('id').execute()
}

export async function findErrand(query: Query, runtimeId: string, id: string): Promise<ErrandRow | undefined> {
  return query.selectFrom('gitops_errand').selectAll().where('runtime_id', '=', runtimeId).where('id', '=', id).executeTakeFirst()
}

/** Returns when the next errand of a runtime can be claimed; undefined without one. */
export async function nextErrandAt(query: Query, runtimeId: string): Promise<number | undefined> {
  const row = await query
    .selectFrom('gitops_errand')
    .select('due_at')
    .where('runtime_id', '=', runtimeId)
    .where('state', '!=', 'done')
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at
}

interface Claim {
  readonly runtimeId: string
  readonly room: number
  readonly now: number
  readonly leaseMs: number
}

/** Takes errands that are due, also those whose lease is over. Two claims never get the same one. */
export async function claimErrands(tx: Tx, { runtimeId, room, now, leaseMs }: Claim): Promise<ErrandRow[]> {
  const due = await tx.query
    .selectFrom('gitops_errand')
    .selectAll()
    .where('runtime_id', '=', runtimeId)
    .where('state', '!=', 'done')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(room)
    .$call(tx.skipLocked)
    .execute()
  const ids = due.map(({ id }) => id)
  if (ids.length > 0)
    await tx.query
      .updateTable('gitops_errand')
      .set((of) => ({ state: 'taken', due_at: now + leaseMs, tries: of('tries', '+', 1) }))
      .where('id', 'in', ids)
      .execute()
  return due
}

/** Stores the first result of an errand. Returns false if it has one, or does not exist anymore. */
export async function finishErrand(tx: Tx, id: string, result: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.query
    .updateTable('gitops_errand')
    .set({ state: 'done', result })
    .where('id', '=', id)
    .where('state', '!=', 'done')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Lets an errand be done again at a later time. */
export async function postponeErrand(tx: Tx, id: string, dueAt: number): Promise<void> {
  await tx.query
    .updateTable('gitops_errand')
    .set({ state: 'waiting', due_at: dueAt, result: null })
    .where('id', '=', id)
    .execute()
}

/** Deletes errands, except those that an app-proxy has. Returns their number. */
export async function deleteErrands(tx: Tx, ids: readonly string[], now: number): Promise<number> {
  if (ids.length === 0) return 0
  const { numDeletedRows } = await tx.query
    .deleteFrom('gitops_errand')
    .where('id', 'in', ids)
    .where((where) => where.or([where('state', '!=', 'taken'), where('due_at', '<=', now)]))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Deletes the errands of a release that has ended. */
export async function deleteErrandsOf(tx: Tx, releaseId: string): Promise<void> {
  await tx.query.deleteFrom('gitops_errand').where('release_id', '=', releaseId).execute()
}
