import type { ChunkRow, EventRow } from './schema.ts'
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
): Promise<Pick<EventRow, 'attempt' | 'type' | 'at' | 'data'>[]> {
  return query
    .selectFrom('event')
    .select(['attempt', 'type', 'at', 'data'])
    .where('build_id', '=', buildId)
    .where('source', '!=', 'agent')
    .where('type', 'in', ['attempt.started', 'step.started', 'step.waiting', 'step.decided', 'step.finished'])
    .orderBy('position')
    .execute()
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
