import type { ChunkRow, StreamRow } from '../../schema/schema.ts'
import { prepared, preparedOne, preparedWrite } from '../../database/prepared.ts'
import type { Query, Tx } from '../../store.ts'

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

const findRow = preparedOne((query: Query, buildId: string, attempt: number, stream: string) =>
  query
    .selectFrom('stream')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('stream', '=', stream),
)

/** Finds a stream. It does not exist before its first byte. */
export async function findStream(query: Query, key: StreamKey): Promise<StreamRow | undefined> {
  return findRow(query, key.buildId, key.attempt, key.stream)
}

/** Finds a stream in the last attempt that has it. */
export async function findLastStream(query: Query, buildId: string, stream: string): Promise<StreamRow | undefined> {
  return query
    .selectFrom('stream')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('stream', '=', stream)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst()
}

const put = preparedWrite((tx, row: StreamRow) =>
  tx.query
    .insertInto('stream')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['build_id', 'attempt', 'stream']).doUpdateSet({
        bytes: row.bytes,
        counted: row.counted,
        lines: row.lines,
        line_start: row.line_start,
        first_at: row.first_at,
        last_at: row.last_at,
      }),
    ),
)

/** Inserts or replaces the row of a stream. The row of the build must be locked. */
export async function putStream(tx: Tx, row: StreamRow): Promise<void> {
  await put(tx, row)
}

/** Lists the streams of an attempt, or of all attempts of a build. */
export async function listStreams(query: Query, buildId: string, attempt?: number): Promise<StreamRow[]> {
  let select = query.selectFrom('stream').selectAll().where('build_id', '=', buildId)
  if (attempt !== undefined) select = select.where('attempt', '=', attempt)
  return select.orderBy('attempt').orderBy('stream').execute()
}

/** Lists streams by attempt and name, after one of them. Output of terminals is left out. */
export async function listStreamPage(
  query: Query,
  buildId: string,
  page: { attempt: number | undefined; after: Omit<StreamKey, 'buildId'> | undefined; limit: number },
): Promise<StreamRow[]> {
  let select = query.selectFrom('stream').selectAll().where('build_id', '=', buildId).where('stream', 'not like', 'terminal/%')
  const { attempt, after } = page
  if (attempt !== undefined) select = select.where('attempt', '=', attempt)
  if (after !== undefined)
    select = select.where((is) =>
      is.or([is('attempt', '>', after.attempt), is.and([is('attempt', '=', after.attempt), is('stream', '>', after.stream)])]),
    )
  return select.orderBy('attempt').orderBy('stream').limit(page.limit).execute()
}

type ChunkPlace = [buildId: string, attempt: number, stream: string, offset: number]

const chunkAt = preparedOne((query: Query, ...[buildId, attempt, stream, offset]: ChunkPlace) =>
  query
    .selectFrom('chunk')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('stream', '=', stream)
    .where('start', '<=', offset)
    .orderBy('start', 'desc')
    .limit(1),
)

/** Finds the chunk that contains an offset of a stream. */
export async function findChunkAt(query: Query, key: StreamKey, offset: number): Promise<ChunkRow | undefined> {
  return chunkAt(query, key.buildId, key.attempt, key.stream, offset)
}

const setLines = preparedWrite((tx, lines: Pick<ChunkRow, 'first_line' | 'lines'>, buildId: string, position: number) =>
  tx.query.updateTable('chunk').set(lines).where('build_id', '=', buildId).where('position', '=', position),
)

/** Stores the lines of a chunk. */
export async function setChunkLines(
  tx: Tx,
  { build_id: buildId, position }: Pick<ChunkRow, 'build_id' | 'position'>,
  lines: { first_line: number; lines: number },
): Promise<void> {
  await setLines(tx, lines, buildId, position)
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
