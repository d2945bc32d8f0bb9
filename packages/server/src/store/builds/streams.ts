import type { ChunkRow, StreamRow } from '../schema.ts'
import { prepared, preparedOne, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

export interface StreamKey {
  readonly buildId: string
  readonly attempt: number
  readonly stream: string
}

const findEnd = preparedOne((query: Query, buildId: string, attempt: number, stream: string) =>
  query
    .selectFrom('stream')
    .select('bytes')
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('stream', '=', stream),
)

/** Returns the end of the stored stream; 0 before its first byte. */
export async function findStreamEnd(query: Query, key: StreamKey): Promise<number> {
  return (await findEnd(query, key.buildId, key.attempt, key.stream))?.bytes ?? 0
}

const listEnds = prepared((query: Query, buildId: string, attempt: number) =>
  query.selectFrom('stream').select(['stream', 'bytes']).where('build_id', '=', buildId).where('attempt', '=', attempt),
)

/** Returns the ends of the stored streams of an attempt, of all or of these names. Empty streams are missing. */
export async function findStreamEnds(
  query: Query,
  { buildId, attempt }: Omit<StreamKey, 'stream'>,
  names?: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows =
    names === undefined
      ? await listEnds(query, buildId, attempt)
      : await query
          .selectFrom('stream')
          .select(['stream', 'bytes'])
          .where('build_id', '=', buildId)
          .where('attempt', '=', attempt)
          .where('stream', 'in', names)
          .execute()
  return new Map(rows.map(({ stream, bytes }) => [stream, bytes]))
}

const put = preparedWrite((tx, row: StreamRow) =>
  tx.query
    .insertInto('stream')
    .values(row)
    .onConflict((conflict) => conflict.columns(['build_id', 'attempt', 'stream']).doUpdateSet({ bytes: row.bytes })),
)

export async function setStreamEnd(tx: Tx, key: StreamKey, bytes: number): Promise<void> {
  await put(tx, { build_id: key.buildId, attempt: key.attempt, stream: key.stream, bytes })
}

/** Lists the streams of an attempt, or of all attempts of a build. */
export async function listStreams(query: Query, buildId: string, attempt?: number): Promise<StreamRow[]> {
  let select = query.selectFrom('stream').selectAll().where('build_id', '=', buildId)
  if (attempt !== undefined) select = select.where('attempt', '=', attempt)
  return select.orderBy('attempt').orderBy('stream').execute()
}

/** Lists the chunks that overlap the bytes `from` to `to` of a stream, in order. */
export async function listStreamChunks(
  query: Query,
  key: StreamKey,
  range: { from: number; to: number; limit: number },
): Promise<ChunkRow[]> {
  const rows = await query
    .selectFrom('chunk')
    .selectAll()
    .where('build_id', '=', key.buildId)
    .where('attempt', '=', key.attempt)
    .where('stream', '=', key.stream)
    .where('start', '<', range.to)
    .where((expression) => expression(expression('start', '+', expression.ref('bytes')), '>', range.from))
    .orderBy('start')
    .limit(range.limit)
    .execute()
  return rows
}
