/**
 * Marks of a stream. They are found when they are first asked for, and kept with the state of the reader: a stream that has ended is read once, and a
 * longer one from where the reader stopped.
 */
import { LogMarker, MARKS_VERSION, NO_MARKS, type LogMarksState } from '@windlass/plan'
import type { LogMarks } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findAttemptStatus, isLiveAttempt } from '../../store/builds/attempts.ts'
import { lockBuild } from '../../store/builds/builds.ts'
import { findMarks, putMarks } from '../../store/builds/logs/marks.ts'
import type { StreamKey } from '../../store/builds/logs/streams.ts'
import type { StreamRow } from '../../store/schema/schema.ts'
import { NEWLINE } from '../text/newlines.ts'
import { openPause } from '../objects/pause.ts'
import { visibleText } from '@windlass/ansi'
import { wholeLines } from '../text/whole-lines.ts'

/** Time after which reading stops. The next call continues. Milliseconds. */
const READ_MS = 5_000
/** New bytes after which the marks of a stream that has not ended are stored. */
const STORE_BYTES = 262_144

interface Progress {
  readonly bytes: number
  readonly state: LogMarksState
}

/** Returns the marks of a counted stream, as far as it can be read within five seconds. Throws `not-found` if the log expires. */
export async function readMarks(app: App, row: StreamRow, signal: AbortSignal): Promise<LogMarks> {
  const key = { buildId: row.build_id, attempt: row.attempt, stream: row.stream }
  const attempt = await findAttemptStatus(app.store.query, key)
  const isLive = attempt !== undefined && isLiveAttempt(attempt.status)
  const kept = await findKept(app, key, row.counted)
  // The last line of a stream that has not ended may grow.
  const end = isLive ? row.line_start : row.counted
  const read = await readOn(app, key, { kept, end, signal })
  const hasAll = read.bytes >= end
  if (read.bytes - kept.bytes >= STORE_BYTES || (!isLive && read.bytes > kept.bytes)) await keep(app, key, read)
  const { lines, folds, problems, isCut } = toShown(read.state)
  return { attempt: row.attempt, stream: row.stream, lines, complete: hasAll && !isLive, isCut, folds, problems }
}

/** Returns the state of an earlier call. The patterns of another version found other marks. */
async function findKept({ store }: App, key: StreamKey, counted: number): Promise<Progress> {
  const row = await findMarks(store.query, key)
  if (row?.version !== MARKS_VERSION || row.bytes > counted) return { bytes: 0, state: NO_MARKS }
  // Only this file writes the states, so only the version is checked.
  return { bytes: row.bytes, state: JSON.parse(row.state) as LogMarksState }
}

async function readOn(
  app: App,
  key: StreamKey,
  { kept, end, signal }: { kept: Progress; end: number; signal: AbortSignal },
): Promise<Progress> {
  if (kept.bytes >= end) return kept
  const pause = openPause(app, { limitMs: READ_MS, signal })
  const marker = new LogMarker(kept.state)
  let read = kept.bytes
  let isInLongLine = false
  let last: Progress = kept
  for await (const block of wholeLines(app.logs.read(key, { from: kept.bytes, to: end }))) {
    const isWhole = block.at(-1) === NEWLINE || read + block.length >= end
    // The text of a line that does not fit in a block is not read.
    const from = isInLongLine ? block.indexOf(NEWLINE) + 1 : 0
    if (isInLongLine && from > 0) marker.skipLine()
    if (isWhole && !(isInLongLine && from === 0)) {
      const text = block.subarray(from).toString()
      marker.take(text, visibleText(text))
    }
    isInLongLine = !isWhole
    read += block.length
    if (isInLongLine) continue
    const isOver = await pause()
    if (isOver || read >= end) last = { bytes: read, state: marker.state }
    if (isOver) break
  }
  return last
}

async function keep({ store }: App, key: StreamKey, { bytes, state }: Progress): Promise<void> {
  await store.write(async (tx) => {
    const build = await lockBuild(tx, key.buildId)
    if (build === undefined || build.logs_expired_at !== null) return
    const before = await findMarks(tx.query, key)
    // Another reader was faster.
    if (before?.version === MARKS_VERSION && before.bytes >= bytes) return
    const { buildId: build_id, attempt, stream } = key
    await putMarks(tx, { build_id, attempt, stream, version: MARKS_VERSION, bytes, state: JSON.stringify(state) })
  })
}

function toShown(state: LogMarksState): Pick<LogMarks, 'lines' | 'folds' | 'problems' | 'isCut'> {
  const { lines, isCut } = state
  return {
    lines,
    isCut,
    folds: state.folds.map((fold) => ({ ...fold })),
    problems: state.problems.map((problem) => ({ ...problem })),
  }
}
