import { STEP_FACTS } from '@windlass/plan'
import type { AttemptRow, ChunkRow, EventRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

export async function insertEvents(tx: Tx, events: readonly EventRow[]): Promise<void> {
  if (events.length > 0)
    await tx.query
      .insertInto('event')
      .values([...events])
      .execute()
}

/** The events of a build after a position, in order. */
export async function listEvents(query: Query, buildId: string, range: { after: number; limit: number }): Promise<EventRow[]> {
  return query
    .selectFrom('event')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('position', '>', range.after)
    .orderBy('position')
    .limit(range.limit)
    .execute()
}

/** The facts of engines, and the server's own about decisions, that a snapshot is folded from, in order. */
export async function listStepEvents(
  query: Query,
  buildId: string,
): Promise<(Pick<EventRow, 'attempt' | 'type' | 'at' | 'data'> & Pick<AttemptRow, 'cause'>)[]> {
  return query
    .selectFrom('event')
    .leftJoin('attempt', (join) =>
      join.onRef('attempt.build_id', '=', 'event.build_id').onRef('attempt.number', '=', 'event.attempt'),
    )
    .select(['event.attempt', 'event.type', 'event.at', 'event.data', 'attempt.cause'])
    .where('event.build_id', '=', buildId)
    .where('event.source', '!=', 'agent')
    .where('event.type', 'in', ['attempt.started', ...STEP_FACTS])
    .orderBy('event.position')
    .execute()
}

/** True when the build began with facts of another one. */
export async function hasCarriedFacts(query: Query, buildId: string): Promise<boolean> {
  return (await listCarriedFacts(query, buildId, 1)).length > 0
}

/** The ends of steps that a build took over from another one. */
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

export async function insertChunks(tx: Tx, chunks: readonly ChunkRow[]): Promise<void> {
  if (chunks.length > 0)
    await tx.query
      .insertInto('chunk')
      .values([...chunks])
      .execute()
}

/** The chunks of a build after a position, in order. */
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
