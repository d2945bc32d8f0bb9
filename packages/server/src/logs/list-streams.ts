/** The streams of the log of a build, as clients see them. */
import { defined } from '@windlass/kit'
import type { LogStream, LogStreamQuery, LogStreams, MissingLog } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { readMissing } from '../builds/engine/missing-log.ts'
import { isLiveAttempt, listAttempts } from '../store/builds/attempts.ts'
import type { BuildRow, StreamRow } from '../store/schema/schema.ts'
import { listStreamPage } from '../store/builds/logs/streams.ts'
import { findCountedStream } from './text/count-stream.ts'
import { totalLines } from './text/line-count.ts'

/** Bytes that one call counts in logs of earlier versions. */
const COUNTED_BYTES = 67_108_864

interface AttemptState {
  readonly isLive: boolean
  readonly missing: readonly MissingLog[]
}

/** Returns a page of the streams. */
export async function listLogStreams(
  app: App,
  { id, logs_expired_at: expiredAt }: Pick<BuildRow, 'id' | 'logs_expired_at'>,
  { attempt, cursor, limit }: z.output<typeof LogStreamQuery>,
): Promise<LogStreams> {
  const { query } = app.store
  const [number = '', ...stream] = cursor?.split(' ') ?? []
  const after = cursor === undefined ? undefined : { attempt: Number(number), stream: stream.join(' ') }
  const rows = await listStreamPage(query, id, { attempt, after, limit })
  const attempts = await listAttempts(query, id)
  const states = new Map(
    attempts.map((row): [number, AttemptState] => [
      row.number,
      { isLive: isLiveAttempt(row.status), missing: readMissing(row.missing) ?? [] },
    ]),
  )
  const items = (await countSome(app, rows)).map((row) => toStream(row, states.get(row.attempt)))
  const last = rows.length === limit ? rows.at(-1) : undefined
  const next = last === undefined ? undefined : `${last.attempt} ${last.stream}`
  return { items, ...defined({ next, expiredAt: expiredAt ?? undefined }) }
}

/** Counts the lines of streams of earlier versions. Streams that would take too long keep their rows and are counted by a later call. */
async function countSome(app: App, rows: readonly StreamRow[]): Promise<StreamRow[]> {
  const counted: StreamRow[] = []
  let rest = COUNTED_BYTES
  for (const row of rows) {
    const bytes = row.bytes - row.counted
    const canCount = bytes > 0 && rest > 0
    if (canCount) rest -= bytes
    const key = { buildId: row.build_id, attempt: row.attempt, stream: row.stream }
    counted.push((canCount ? await findCountedStream(app, key) : undefined) ?? row)
  }
  return counted
}

function toStream(row: StreamRow, state: AttemptState | undefined): LogStream {
  const missing = state?.missing.find(({ stream }) => stream === row.stream)
  return {
    attempt: row.attempt,
    stream: row.stream,
    bytes: row.bytes,
    open: state?.isLive ?? false,
    cut: missing !== undefined,
    ...defined({
      lines: row.counted < row.bytes ? undefined : totalLines(row),
      firstAt: row.first_at ?? undefined,
      lastAt: row.last_at ?? undefined,
      missingBytes: missing?.atLeast,
    }),
  }
}
