/** Rollouts, their ReplicaSets and workflows that GitOps runtimes have reported. */
import type { ReportedKind } from '@windlass/protocol'
import { sql } from 'kysely'
import type { ReportedObjectRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Rows of one statement. */
const PER_STATEMENT = 100

/** What names an object of a runtime. */
export type ObjectPlace = Pick<ReportedObjectRow, 'kind' | 'namespace' | 'name'>

/** Finds the objects of a runtime at these places, also those that are gone. */
export async function findStoredObjects(
  query: Query,
  runtimeId: string,
  places: readonly ObjectPlace[],
): Promise<ReportedObjectRow[]> {
  const found: ReportedObjectRow[] = []
  for (let at = 0; at < places.length; at += PER_STATEMENT)
    found.push(
      ...(await selectPlaced(query, runtimeId, places.slice(at, at + PER_STATEMENT))
        .selectAll('gitops_object')
        .execute()),
    )
  return found
}

/** What tells whether an object is stored in a version. */
const NAMED = ['id', 'kind', 'namespace', 'name', 'version', 'end_cause'] as const
type NamedObject = Pick<ReportedObjectRow, (typeof NAMED)[number]>

/** Like `findStoredObjects`, without what the objects are. */
export async function findNamedObjects(query: Query, runtimeId: string, places: readonly ObjectPlace[]): Promise<NamedObject[]> {
  const found: NamedObject[] = []
  for (let at = 0; at < places.length; at += PER_STATEMENT)
    found.push(
      ...(await selectPlaced(query, runtimeId, places.slice(at, at + PER_STATEMENT))
        .select(NAMED.map((column) => `gitops_object.${column}` as const))
        .execute()),
    )
  return found
}

/** Looks each place up in the index of places. With a list of conditions SQLite would read all objects of the runtime instead. */
function selectPlaced(query: Query, runtimeId: string, places: readonly ObjectPlace[]) {
  const rows = places.map(({ kind, namespace, name }) => sql`(${kind}, ${namespace}, ${name})`)
  return query
    .with('place(kind, namespace, name)', () => sql<ObjectPlace>`(values ${sql.join(rows)})`)
    .selectFrom('place')
    .crossJoin('gitops_object')
    .where('gitops_object.runtime_id', '=', runtimeId)
    .whereRef('gitops_object.name', '=', 'place.name')
    .whereRef('gitops_object.kind', '=', 'place.kind')
    .whereRef('gitops_object.namespace', '=', 'place.namespace')
}

/** Adds or replaces an object. */
export async function saveReportedObject(tx: Tx, row: ReportedObjectRow): Promise<void> {
  const { id: _id, ...fields } = row
  await tx.query
    .insertInto('gitops_object')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(fields))
    .execute()
}

/** Notes that a full state has these objects. */
export async function noteListedObjects(
  tx: Tx,
  ids: readonly string[],
  { fullState, at }: { readonly fullState: string; readonly at: number },
): Promise<void> {
  for (let start = 0; start < ids.length; start += PER_STATEMENT)
    await tx.query
      .updateTable('gitops_object')
      .set({ full_state: fullState, listed_at: at })
      .where('id', 'in', ids.slice(start, start + PER_STATEMENT))
      .execute()
}

export interface UnlistedObjectFilter {
  readonly runtimeId: string
  readonly kinds: readonly ReportedKind[]
  readonly fullState: string
  /** Only what was reported at this time or before. */
  readonly until: number
}

/** Lists the objects of a runtime that a full state of their kinds did not have. */
export async function listUnlistedObjects(
  query: Query,
  { runtimeId, kinds, fullState, until }: UnlistedObjectFilter,
): Promise<Pick<ReportedObjectRow, 'id' | 'namespace' | 'name'>[]> {
  return query
    .selectFrom('gitops_object')
    .select(['id', 'namespace', 'name'])
    .where('runtime_id', '=', runtimeId)
    .where('kind', 'in', kinds)
    .where('ended_at', 'is', null)
    .where('full_state', '!=', fullState)
    .where('reported_at', '<=', until)
    .execute()
}

export async function endObjects(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  for (let start = 0; start < ids.length; start += PER_STATEMENT)
    await tx.query
      .updateTable('gitops_object')
      .set({ ended_at: at, end_cause: 'unlisted' })
      .where('id', 'in', ids.slice(start, start + PER_STATEMENT))
      .execute()
}

/** Counts the objects of a kind in a runtime, also those that are gone and still stored. */
export async function countObjects(query: Query, runtimeId: string, kind: ReportedKind): Promise<number> {
  const row = await query
    .selectFrom('gitops_object')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('runtime_id', '=', runtimeId)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Counts the objects of a kind in a runtime that exist. */
export async function countLiveObjects(query: Query, runtimeId: string, kind: ReportedKind): Promise<number> {
  const row = await query
    .selectFrom('gitops_object')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('runtime_id', '=', runtimeId)
    .where('kind', '=', kind)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Deletes the object of a kind that has been gone for longest. Returns false if all of them exist. */
export async function deleteLongestEnded(tx: Tx, runtimeId: string, kind: ReportedKind): Promise<boolean> {
  const oldest = await tx.query
    .selectFrom('gitops_object')
    .select('id')
    .where('runtime_id', '=', runtimeId)
    .where('kind', '=', kind)
    .where('ended_at', 'is not', null)
    .orderBy('ended_at')
    .limit(1)
    .executeTakeFirst()
  if (oldest === undefined) return false
  await tx.query.deleteFrom('gitops_object').where('id', '=', oldest.id).execute()
  return true
}

/** How the kinds that have lists are sorted, with the id for equal values. */
export const OBJECT_ORDERS = {
  Rollout: { column: 'name', direction: 'asc' },
  Workflow: { column: 'created_at', direction: 'desc' },
} as const
export type ListedKind = keyof typeof OBJECT_ORDERS

export interface ObjectFilter {
  readonly accountId: string
  readonly kind: ListedKind
  readonly runtimeId?: string | undefined
  readonly namespace?: string | undefined
  readonly phase?: string | undefined
  readonly partOf?: string | undefined
  readonly uid?: string | undefined
  /** A part of the name. */
  readonly part?: string | undefined
  /** Sort value and id of the last object of the previous page. */
  readonly after?: { readonly value: string | number; readonly id: string } | undefined
  readonly limit: number
}

/** An object without its history. */
const LISTED = [
  'id',
  'runtime_id',
  'namespace',
  'name',
  'uid',
  'part_of',
  'phase',
  'facts',
  'listed_at',
  'state_since',
  'reported_at',
  'created_at',
  'ended_at',
] as const
export type ListedObject = Pick<ReportedObjectRow, (typeof LISTED)[number]>

/** Lists rollouts that are there, or workflows, also those that are gone. */
export async function listObjects(query: Query, filter: ObjectFilter): Promise<ListedObject[]> {
  const { kind, runtimeId, namespace, phase, partOf, uid, part, after } = filter
  const { column, direction } = OBJECT_ORDERS[kind]
  let select = query
    .selectFrom('gitops_object')
    .select(LISTED)
    .where('account_id', '=', filter.accountId)
    .where('kind', '=', kind)
  if (kind === 'Rollout') select = select.where('ended_at', 'is', null)
  if (runtimeId !== undefined) select = select.where('runtime_id', '=', runtimeId)
  if (namespace !== undefined) select = select.where('namespace', '=', namespace)
  if (phase !== undefined) select = select.where('phase', '=', phase)
  if (partOf !== undefined) select = select.where('part_of', '=', partOf)
  if (uid !== undefined) select = select.where('uid', '=', uid)
  // The characters % and _ cannot be in a name, so such a part matches nothing.
  if (part !== undefined) select = select.where(sql<boolean>`name like ${`%${part.replaceAll(/[%_\\]/g, '~')}%`}`)
  if (after !== undefined) {
    const than = direction === 'asc' ? ('>' as const) : ('<' as const)
    select = select.where((where) =>
      where.or([where(column, than, after.value), where.and([where(column, '=', after.value), where('id', than, after.id)])]),
    )
  }
  return select.orderBy(column, direction).orderBy('id', direction).limit(filter.limit).execute()
}

export type ObjectName =
  | { readonly id: string }
  | { readonly runtimeId: string; readonly namespace: string; readonly name: string }

/** Finds a rollout that is there, or a workflow, also one that is gone. */
export async function findObject(
  query: Query,
  { accountId, kind }: { readonly accountId: string; readonly kind: ListedKind },
  of: ObjectName,
): Promise<ReportedObjectRow | undefined> {
  let select = query.selectFrom('gitops_object').selectAll().where('account_id', '=', accountId).where('kind', '=', kind)
  if (kind === 'Rollout') select = select.where('ended_at', 'is', null)
  return 'id' in of
    ? select.where('id', '=', of.id).executeTakeFirst()
    : select
        .where('runtime_id', '=', of.runtimeId)
        .where('name', '=', of.name)
        .where('namespace', '=', of.namespace)
        .executeTakeFirst()
}

/** Lists the ReplicaSets of a rollout, the last one first. */
export async function listReplicaSets(query: Query, rollout: ReportedObjectRow): Promise<ReportedObjectRow[]> {
  return query
    .selectFrom('gitops_object')
    .selectAll()
    .where('runtime_id', '=', rollout.runtime_id)
    .where('kind', '=', 'ReplicaSet')
    .where('part_of', '=', rollout.name)
    .where('namespace', '=', rollout.namespace)
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(PER_STATEMENT)
    .execute()
}

/** Deletes what is stored of objects of these kinds that are gone since before this time. Returns their number, at most `limit`. */
export async function deleteEndedObjects(
  tx: Tx,
  { kinds, before, limit }: { readonly kinds: readonly ReportedKind[]; readonly before: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query
    .selectFrom('gitops_object')
    .select('id')
    .where('ended_at', '<', before)
    .where('kind', 'in', kinds)
    .limit(limit)
    .execute()
  await deleteByIds(tx, old)
  return old.length
}

export interface UnnamedObjectFilter {
  /** Only what was reported or named last before this time. */
  readonly before: number
  /** How long the full states of the runtime have to be without it. Milliseconds. */
  readonly maxMs: number
  readonly limit: number
}

/**
 * Deletes objects that all parts of the reporter have not named for this long, although each of them has sent full states since: none of them reads the kind any more. What a silent runtime has, or one whose
 * reporter sends no full states, stays. Returns their number, at most `limit`.
 */
export async function deleteUnnamedObjects(tx: Tx, { before, maxMs, limit }: UnnamedObjectFilter): Promise<number> {
  const old = await tx.query
    .selectFrom('gitops_object')
    .select('id')
    .where('listed_at', '>', 0)
    .where('listed_at', '<', before)
    .where('ended_at', 'is', null)
    .where((where) => {
      const part = where
        .selectFrom('gitops_reporter')
        .select('shard')
        .whereRef('gitops_reporter.runtime_id', '=', 'gitops_object.runtime_id')
      return where.and([
        where.exists(part),
        where.not(
          where.exists(
            part.where((of) =>
              of.or([
                of('full_at', 'is', null),
                of(sql<number>`full_at - gitops_object.listed_at`, '<=', maxMs),
                // A server of the version before does not write when it was named.
                of('gitops_reporter.full_state', '=', of.ref('gitops_object.full_state')),
              ]),
            ),
          ),
        ),
      ])
    })
    .limit(limit)
    .execute()
  await deleteByIds(tx, old)
  return old.length
}

async function deleteByIds(tx: Tx, rows: readonly { readonly id: string }[]): Promise<void> {
  for (let at = 0; at < rows.length; at += PER_STATEMENT) {
    const ids = rows.slice(at, at + PER_STATEMENT).map(({ id }) => id)
    await tx.query.deleteFrom('gitops_object').where('id', 'in', ids).execute()
  }
}
