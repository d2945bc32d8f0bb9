import { STEP_FACTS } from '@windlass/plan'
import { sql } from 'kysely'
import { z } from 'zod'
import type { AttemptRow, ChunkRow, EventRow } from '../schema/schema.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** A statement can have 32,766 parameters on SQLite and 65,535 on PostgreSQL, and a row has nine. */
const ROWS_PER_STATEMENT = 1000

const insertEvent = preparedWrite((tx, event: EventRow) => tx.query.insertInto('event').values(event))

export async function insertEvents(tx: Tx, events: readonly EventRow[]): Promise<void> {
  const [only] = events
  if (only !== undefined && events.length === 1) return insertEvent(tx, only)
  for (let from = 0; from < events.length; from += ROWS_PER_STATEMENT)
    await tx.query
      .insertInto('event')
      .values(events.slice(from, from + ROWS_PER_STATEMENT))
      .execute()
}

/** An event; `data` is null if it is long. */
export type EventHead = Omit<EventRow, 'data'> & { readonly data: string | null; readonly length: number }

/** Maximum characters of data that are read with the head. */
const SHORT_DATA = 4096

/** Lists the events of a build after a position, in order. Long data is null; `findEventData` reads it. */
export async function listEvents(query: Query, buildId: string, range: { after: number; limit: number }): Promise<EventHead[]> {
  return query
    .selectFrom('event')
    .select(['build_id', 'position', 'account_id', 'attempt', 'source', 'seq', 'at', 'type'])
    .select(sql<string | null>`case when length(data) <= ${sql.lit(SHORT_DATA)} then data end`.as('data'))
    .select(sql<number>`length(data)`.as('length'))
    .where('build_id', '=', buildId)
    .where('position', '>', range.after)
    .orderBy('position')
    .limit(range.limit)
    .execute()
}

/** Returns the data of one event as JSON; undefined if the event no longer exists. */
export async function findEventData(
  query: Query,
  { build_id: id, position }: Pick<EventRow, 'build_id' | 'position'>,
): Promise<string | undefined> {
  const row = await query
    .selectFrom('event')
    .select('data')
    .where('build_id', '=', id)
    .where('position', '=', position)
    .executeTakeFirst()
  return row?.data
}

/** An event that a snapshot is folded from, with the cause of its attempt. */
export type StepEventRow = Pick<EventRow, 'attempt' | 'type' | 'at' | 'data'> & Pick<AttemptRow, 'cause'>

const selectStepEvents = prepared((query: Query, buildId: string) =>
  stepEvents(query).select('event.data').where('event.build_id', '=', buildId).orderBy('event.position'),
)

function stepEvents(query: Query) {
  return query
    .selectFrom('event')
    .leftJoin('attempt', (join) =>
      join.onRef('attempt.build_id', '=', 'event.build_id').onRef('attempt.number', '=', 'event.attempt'),
    )
    .select(['event.attempt', 'event.type', 'event.at', 'attempt.cause'])
    .where('event.source', '!=', 'agent')
    .where('event.type', 'in', ['attempt.started', ...STEP_FACTS])
}

/** Lists the events that a snapshot is folded from, in order: facts of engines, and decisions of the server. */
export async function listStepEvents(query: Query, buildId: string): Promise<StepEventRow[]> {
  return selectStepEvents(query, buildId)
}

/** Lists the same events of several builds. Long data is read one by one, so that it is not in memory at once. */
export async function* stepEventsOf(
  query: Query,
  buildIds: readonly string[],
): AsyncGenerator<StepEventRow & Pick<EventRow, 'build_id'>> {
  if (buildIds.length === 0) return
  const rows = await stepEvents(query)
    .select(['event.build_id', 'event.position'])
    .select(sql<string | null>`case when length(data) <= ${sql.lit(SHORT_DATA)} then data end`.as('data'))
    .where('event.build_id', 'in', [...buildIds])
    .orderBy('event.build_id')
    .orderBy('event.position')
    .execute()
  for (const { position, ...row } of rows) {
    const { build_id } = row
    yield { ...row, data: row.data ?? (await findEventData(query, { build_id, position })) ?? '{}' }
  }
}

const WAIT_EVENTS = ['build.waiting', 'build.resumed', 'attempt.created', 'attempt.lost']
/** Events of waits that are read. A build that waits more often shows its first waits. */
const MAX_WAIT_EVENTS = 1000

/** Lists the events that start and end the waits of a build, in order. */
export async function listWaitEvents(query: Query, buildId: string): Promise<Pick<EventRow, 'type' | 'at' | 'data'>[]> {
  return query
    .selectFrom('event')
    .select(['type', 'at', 'data'])
    .where('build_id', '=', buildId)
    .where('type', 'in', WAIT_EVENTS)
    .orderBy('position')
    .limit(MAX_WAIT_EVENTS)
    .execute()
}

/** Returns true if the build started with facts of another build. */
export async function hasCarriedFacts(query: Query, buildId: string): Promise<boolean> {
  return (await listCarriedFacts(query, buildId, 1)).length > 0
}

/** Lists the ends of steps that a build took over from another one. */
export async function listCarriedFacts(query: Query, buildId: string, limit?: number): Promise<Pick<EventRow, 'at' | 'data'>[]> {
  const select = query
    .selectFrom('event')
    .select(['at', 'data'])
    .where('build_id', '=', buildId)
    .where('attempt', '=', 0)
    .where('type', '=', 'step.finished')
    .orderBy('position')
  return (limit === undefined ? select : select.limit(limit)).execute()
}

/** Returns the steps that started in an attempt and did not finish in it. */
export async function listRunningSteps(query: Query, key: { buildId: string; attempt: number }): Promise<string[]> {
  const rows = await query
    .selectFrom('event')
    .select(['type', 'data'])
    .where('build_id', '=', key.buildId)
    .where('attempt', '=', key.attempt)
    .where('type', 'in', ['step.started', 'step.finished'])
    .orderBy('position')
    .execute()
  const running = new Set<string>()
  for (const { type, data } of rows) {
    const { step } = OfStep.parse(JSON.parse(data))
    if (type === 'step.started') running.add(step)
    else running.delete(step)
  }
  return [...running]
}

const OfStep = z.looseObject({ step: z.string() })

const insertRow = preparedWrite((tx, chunk: ChunkRow) => tx.query.insertInto('chunk').values(chunk))

export async function insertChunk(tx: Tx, chunk: ChunkRow): Promise<void> {
  await insertRow(tx, chunk)
}

/** Finds a chunk. */
export async function findChunk(
  query: Query,
  { build_id: id, position }: Pick<ChunkRow, 'build_id' | 'position'>,
): Promise<ChunkRow | undefined> {
  return query.selectFrom('chunk').selectAll().where('build_id', '=', id).where('position', '=', position).executeTakeFirst()
}

/** Lists the chunks of a build after a position, in order. */
export async function listChunks(query: Query, buildId: string, range: { after: number; limit: number }): Promise<ChunkRow[]> {
  return query
    .selectFrom('chunk')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('position', '>', range.after)
    .orderBy('position')
    .limit(range.limit)
    .execute()
}
