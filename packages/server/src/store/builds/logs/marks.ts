/** Folds and problems of streams, as far as they were read. */
import type { StreamMarksRow } from '../../schema/schema.ts'
import type { Query, Tx } from '../../store.ts'
import type { StreamKey } from './streams.ts'

export async function findMarks(query: Query, key: StreamKey): Promise<StreamMarksRow | undefined> {
  return query
    .selectFrom('stream_marks')
    .selectAll()
    .where('build_id', '=', key.buildId)
    .where('attempt', '=', key.attempt)
    .where('stream', '=', key.stream)
    .executeTakeFirst()
}

/** Inserts or replaces the marks of a stream. The row of the build must be locked. */
export async function putMarks(tx: Tx, row: StreamMarksRow): Promise<void> {
  const { version, bytes, state } = row
  await tx.query
    .insertInto('stream_marks')
    .values(row)
    .onConflict((conflict) => conflict.columns(['build_id', 'attempt', 'stream']).doUpdateSet({ version, bytes, state }))
    .execute()
}
