/** The log objects that chunks of builds refer to: which exist, when they must be merged, and which have lost a reference. */
import { sql } from 'kysely'
import { firstId, newId } from '@windlass/kit'
import type { BuildRow } from '../../schema/schema.ts'
import type { Query, Tx } from '../../store.ts'

/** The part of an object that chunks of one build refer to. */
export interface LogPart {
  readonly object: string
  /** Positions of its first and last chunk in the feed. */
  readonly first: number
  readonly last: number
  readonly rows: number
  /** Offset of the part in the object, and its length. Bytes. */
  readonly start: number
  readonly bytes: number
}

/** Lists the parts whose chunks are after a position of the feed, in feed order. */
export async function listLogParts(query: Query, buildId: string, after: number): Promise<LogPart[]> {
  const rows = await query
    .selectFrom('chunk')
    .select((of) => [
      'object',
      of.fn.min('position').as('first'),
      of.fn.max('position').as('last'),
      of.fn.countAll<number>().as('rows'),
      of.fn.min('object_start').as('start'),
      sql<number>`max(object_start + bytes)`.as('end'),
    ])
    .where('build_id', '=', buildId)
    .where('position', '>', after)
    .groupBy('object')
    .orderBy('first')
    .execute()
  return rows.map(({ end, ...row }) => ({ ...row, bytes: end - row.start }))
}

/** Lists some objects that chunks of the newest builds refer to. */
export async function listSomeObjects(query: Query): Promise<string[]> {
  const rows = await query
    .selectFrom('chunk')
    .select('object')
    .orderBy('build_id', 'desc')
    .orderBy('position')
    .limit(100)
    .execute()
  return [...new Set(rows.map(({ object }) => object))]
}

export type DueBuild = Pick<BuildRow, 'id' | 'status' | 'feed_position' | 'compacted_to' | 'small_objects'>

/** Reserves the longest overdue build until `until`, skipping builds that another server has locked; undefined if none is due. */
export async function takeDueBuild(tx: Tx, { now, until }: { now: number; until: number }): Promise<DueBuild | undefined> {
  const build = await tx.query
    .selectFrom('build')
    .select(['id', 'status', 'feed_position', 'compacted_to', 'small_objects'])
    .where('compact_at', '<=', now)
    .orderBy('compact_at')
    .limit(1)
    .$call(tx.skipLocked)
    .executeTakeFirst()
  if (build !== undefined) await tx.query.updateTable('build').set({ compact_at: until }).where('id', '=', build.id).execute()
  return build
}

/** Makes the chunks of a part refer to another object. Returns the number of chunks. */
export async function moveLogPart(
  tx: Tx,
  buildId: string,
  part: LogPart,
  to: { object: string; start: number },
): Promise<number> {
  const { numUpdatedRows } = await tx.query
    .updateTable('chunk')
    .set((of) => ({ object: to.object, object_start: of('object_start', '+', to.start - part.start) }))
    .where('build_id', '=', buildId)
    // The range of positions lets the query use the primary key.
    .where('position', '>=', part.first)
    .where('position', '<=', part.last)
    .where('object', '=', part.object)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** A statement can have 32,766 parameters on SQLite. */
const ROWS_PER_STATEMENT = 1_000

/** Records that objects have lost a reference. Objects without references are deleted later, also after a crash. */
export async function insertDeadObjects(tx: Tx, objects: readonly string[], now: number): Promise<void> {
  const rows = objects.map((object) => ({ id: newId(now), object }))
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT)
    await tx.query
      .insertInto('dead_object')
      .values(rows.slice(from, from + ROWS_PER_STATEMENT))
      .execute()
}

/** Lists records of lost references that were made before a time, oldest first. */
export async function listDeadObjects(
  query: Query,
  { before, after, limit }: { before: number; after: string; limit: number },
): Promise<{ id: string; object: string }[]> {
  return query
    .selectFrom('dead_object')
    .selectAll()
    .where('id', '>', after)
    .where('id', '<', firstId(before))
    .orderBy('id')
    .limit(limit)
    .execute()
}

export async function deleteDeadObjectRows(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query.deleteFrom('dead_object').where('id', 'in', ids).execute()
}
