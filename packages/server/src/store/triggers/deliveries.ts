import { FORGES, REGISTRIES } from '@windlass/protocol'
import type { DeliveryRow, FiringRow, PipelineRow, Sender } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'
import { withinPlaces, type Places } from '../places.ts'

/** Senders that this server can process. During an upgrade a newer server can store deliveries of others. */
const SENDERS: readonly Sender[] = [...FORGES, ...REGISTRIES, 'windlass']

/**
 * Inserts a delivery. If the webhook already has one with this key, counts a repeat and returns that one's id. A refused one keeps the time of its latest
 * call as the time of its end.
 */
export async function insertDelivery(
  tx: Tx,
  delivery: DeliveryRow,
): Promise<{ readonly id: string; readonly isRepeat: boolean }> {
  const { numInsertedOrUpdatedRows: inserted } = await tx.query
    .insertInto('delivery')
    .values(delivery)
    .onConflict((conflict) => conflict.columns(['webhook_id', 'key']).doNothing())
    .executeTakeFirstOrThrow()
  if ((inserted ?? 0n) > 0n) return { id: delivery.id, isRepeat: false }
  const { id } = await tx.query
    .updateTable('delivery')
    .set((set) => ({
      repeats: set('repeats', '+', 1),
      ...(delivery.status === 'refused' && { processed_at: delivery.processed_at }),
    }))
    .where('webhook_id', '=', delivery.webhook_id)
    .where('key', '=', delivery.key)
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, isRepeat: true }
}

export async function findDelivery(query: Query, accountId: string, id: string): Promise<DeliveryRow | undefined> {
  return query.selectFrom('delivery').selectAll().where('id', '=', id).where('account_id', '=', accountId).executeTakeFirst()
}

/** Returns the body of a delivery; undefined if there is none any more. */
export async function findDeliveryBody(query: Query, id: string): Promise<Pick<DeliveryRow, 'body' | 'headers'> | undefined> {
  return query.selectFrom('delivery').select(['body', 'headers']).where('id', '=', id).executeTakeFirst()
}

/** A delivery in a list, without its body. */
export type DeliveryHead = Omit<DeliveryRow, 'body' | 'headers'>

const HEAD = [
  'id',
  'account_id',
  'webhook_id',
  'forge',
  'key',
  'event',
  'repo',
  'branch',
  'revision',
  'status',
  'reason',
  'message',
  'verdicts',
  'replay_of',
  'polled',
  'late_heads',
  'projects',
  'repeats',
  'tries',
  'next_at',
  'received_at',
  'processed_at',
] as const satisfies readonly (keyof DeliveryHead)[]

export interface DeliveryFilter {
  readonly accountId: string
  readonly webhookId: string | undefined
  readonly repo: string | undefined
  readonly branch?: string | undefined
  readonly status: DeliveryRow['status'] | undefined
  readonly reason?: DeliveryRow['reason'] | undefined
  /** True: only deliveries that started a build. */
  readonly built?: boolean | undefined
  /** Only deliveries that were judged for this pipeline. */
  readonly pipelineId?: string | undefined
  /** Only deliveries that were judged for a pipeline of these places. */
  readonly places?: Places | undefined
  /** Only deliveries before this one. */
  readonly before: { readonly receivedAt: number; readonly id: string } | undefined
  readonly limit: number
}

/** Lists deliveries, newest first. */
export async function listDeliveries(query: Query, filter: DeliveryFilter): Promise<DeliveryHead[]> {
  let select = query.selectFrom('delivery').select(HEAD).where('account_id', '=', filter.accountId)
  if (filter.webhookId !== undefined) select = select.where('webhook_id', '=', filter.webhookId)
  if (filter.repo !== undefined) select = select.where('repo', '=', filter.repo)
  if (filter.status !== undefined) select = select.where('status', '=', filter.status)
  const { before, places, built, pipelineId } = filter
  if (filter.branch !== undefined) select = select.where('branch', '=', filter.branch)
  if (filter.reason !== undefined) select = select.where('reason', '=', filter.reason)
  if (built === true) select = select.where('status', '=', 'processed').where('reason', 'is', null)
  if (built === false) select = select.where('reason', 'is not', null)
  if (pipelineId !== undefined)
    select = select.where('id', 'in', (of) =>
      of.selectFrom('delivery_pipeline').select('delivery_id').where('pipeline_id', '=', pipelineId),
    )
  if (places !== undefined)
    select = select.where('id', 'in', (of) =>
      of
        .selectFrom('delivery_pipeline')
        .innerJoin('pipeline', 'pipeline.id', 'delivery_pipeline.pipeline_id')
        .select('delivery_pipeline.delivery_id')
        .where(withinPlaces(places, { project: 'pipeline.project_id', pipeline: 'pipeline.id' })),
    )
  if (before !== undefined)
    select = select.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('received_at', 'id'), '<', tuple(before.receivedAt, before.id)),
    )
  return select.orderBy('received_at', 'desc').orderBy('id', 'desc').limit(filter.limit).execute()
}

export interface Head {
  readonly accountId: string
  readonly repo: string
  readonly branch: string
  /** Null for the end of the branch. */
  readonly revision: string | null
  /** Only deliveries from this time on. */
  readonly since: number
}

/** Returns true if a call reported this head of a branch, or with null for the commit the end of the branch. */
export async function hasDeliveryOfHead(query: Query, { accountId, repo, branch, revision, since }: Head): Promise<boolean> {
  const found = await query
    .selectFrom('delivery')
    .select('id')
    .where('account_id', '=', accountId)
    .where('repo', '=', repo)
    .where('revision', revision === null ? 'is' : '=', revision)
    .where('branch', '=', branch)
    .where('received_at', '>=', since)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Returns true if a call or a poll reported anything about a branch from a time on. */
export async function hasDeliveryOfBranch(
  query: Query,
  { accountId, repo, branch, since }: Omit<Head, 'revision'>,
): Promise<boolean> {
  const found = await query
    .selectFrom('delivery')
    .select('id')
    .where('account_id', '=', accountId)
    .where('repo', '=', repo)
    .where('branch', '=', branch)
    .where('received_at', '>=', since)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

export async function hasDueDelivery(query: Query, now: number): Promise<boolean> {
  const due = query.selectFrom('delivery').select('id').where('next_at', '<=', now).where('forge', 'in', SENDERS)
  return (await due.limit(1).executeTakeFirst()) !== undefined
}

/**
 * Takes the oldest delivery that is due, for `holdMs`. Two servers never get the same one in that time. If the server ends before it has processed the
 * delivery, another one takes it afterwards. A delivery waits for the earlier ones of its repository, so that pushes are built in their order, but not for
 * one that has failed before.
 */
export async function takeDelivery(tx: Tx, { now, holdMs }: { now: number; holdMs: number }): Promise<DeliveryRow | undefined> {
  const due = await tx.query
    .selectFrom('delivery')
    .selectAll()
    .where('next_at', '<=', now)
    .where('forge', 'in', SENDERS)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('delivery as earlier')
            .select('earlier.id')
            .whereRef('earlier.account_id', '=', 'delivery.account_id')
            .whereRef('earlier.repo', '=', 'delivery.repo')
            .where('earlier.next_at', 'is not', null)
            .where('earlier.tries', '<=', 1)
            .where(({ and, eb, or, ref }) =>
              or([
                eb('earlier.received_at', '<', ref('delivery.received_at')),
                and([eb('earlier.received_at', '=', ref('delivery.received_at')), eb('earlier.id', '<', ref('delivery.id'))]),
              ]),
            ),
        ),
      ),
    )
    .orderBy('received_at')
    .orderBy('id')
    .limit(1)
    .$call(tx.skipLocked)
    .executeTakeFirst()
  if (due === undefined) return undefined
  const taken = { next_at: now + holdMs, tries: due.tries + 1 }
  await tx.query.updateTable('delivery').set(taken).where('id', '=', due.id).execute()
  return { ...due, ...taken }
}

/** Moves the time until which no server takes a delivery that is being processed. */
export async function holdDelivery(tx: Tx, id: string, until: number): Promise<void> {
  await tx.query.updateTable('delivery').set({ next_at: until }).where('id', '=', id).where('next_at', 'is not', null).execute()
}

export async function updateDelivery(tx: Tx, id: string, changes: Partial<DeliveryRow>): Promise<void> {
  await tx.query.updateTable('delivery').set(changes).where('id', '=', id).execute()
}

/** Stores which pipelines a delivery was judged for. Known ones stay. */
export async function insertDeliveryPipelines(tx: Tx, deliveryId: string, pipelineIds: readonly string[]): Promise<void> {
  const rows = [...new Set(pipelineIds)].map((id) => ({ pipeline_id: id, delivery_id: deliveryId }))
  for (let at = 0; at < rows.length; at += ROWS)
    await tx.query
      .insertInto('delivery_pipeline')
      .values(rows.slice(at, at + ROWS))
      .onConflict((conflict) => conflict.columns(['pipeline_id', 'delivery_id']).doNothing())
      .execute()
}

/** Maximum number of rows in one statement. */
const ROWS = 500

export type JudgedPipeline = Pick<PipelineRow, 'id' | 'name'>

/** Lists the pipelines of the places that a delivery was judged for. */
export async function listPipelinesOfDeliveries(
  query: Query,
  { deliveryIds, places }: { readonly deliveryIds: readonly string[]; readonly places: Places },
): Promise<JudgedPipeline[]> {
  if (deliveryIds.length === 0) return []
  return query
    .selectFrom('delivery_pipeline')
    .innerJoin('pipeline', 'pipeline.id', 'delivery_pipeline.pipeline_id')
    .select(['pipeline.id', 'pipeline.name'])
    .distinct()
    .where('delivery_pipeline.delivery_id', 'in', deliveryIds)
    .where(withinPlaces(places, { project: 'pipeline.project_id', pipeline: 'pipeline.id' }))
    .execute()
}

export async function findFiring(query: Query, accountId: string, key: string): Promise<FiringRow | undefined> {
  return query.selectFrom('firing').selectAll().where('account_id', '=', accountId).where('key', '=', key).executeTakeFirst()
}

/** Returns false if there is already one with this key. On PostgreSQL it waits for a transaction that has inserted one. */
export async function insertFiring(tx: Tx, firing: FiringRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await tx.query
    .insertInto('firing')
    .values(firing)
    .onConflict((conflict) => conflict.columns(['account_id', 'key']).doNothing())
    .executeTakeFirstOrThrow()
  return (inserted ?? 0n) > 0n
}

/** Deletes processed deliveries and the firings of that time. Returns the number of deliveries. */
export async function deleteOldDeliveries(tx: Tx, { before, limit }: { before: number; limit: number }): Promise<number> {
  const old = await tx.query
    .selectFrom('delivery')
    .select('id')
    .where('received_at', '<', before)
    .where('next_at', 'is', null)
    .limit(limit)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length > 0) {
    await tx.query.deleteFrom('delivery_pipeline').where('delivery_id', 'in', ids).execute()
    await tx.query.deleteFrom('delivery').where('id', 'in', ids).execute()
  }
  await tx.query.deleteFrom('firing').where('created_at', '<', before).execute()
  return ids.length
}

/** Counts deliveries that are not processed yet. */
export async function countOpenDeliveries(query: Query, accountId: string): Promise<number> {
  const { count } = await query
    .selectFrom('delivery')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('next_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return count
}
