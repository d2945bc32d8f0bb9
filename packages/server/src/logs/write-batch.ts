/**
 * Writes queued frames: one object with their bytes, then a row for each. A crash in between leaves bytes without rows, which `retention.ts` removes.
 */
import { fault, type Clock, type Serial } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { editBuild, saveBuild, type BuildEdit } from '../builds/lifecycle/edit.ts'
import { recordHeartbeat } from '../builds/engine/record-heartbeat.ts'
import { insertChunk } from '../store/builds/events.ts'
import type { BuildRow, ChunkRow, StreamRow } from '../store/schema/schema.ts'
import type { Store } from '../store/store.ts'
import { findStream, putStream, type StreamKey } from '../store/builds/logs/streams.ts'
import { countChunk } from './text/line-count.ts'
import { countNewlines } from './text/newlines.ts'
import { newObjectKey, ROWS_MS, SETTLE_MS } from './objects/object-keys.ts'
import { SMALL_BYTES } from './objects/packs.ts'

export interface Frame extends StreamKey {
  readonly offset: number
  readonly sha256: string
  readonly at: number
  readonly bytes: Uint8Array
}

export interface Stored {
  /** End of the stream. Bytes. */
  readonly end: number
  /** True if the build has a follower. */
  readonly isFollowed: boolean
}

export interface QueuedFrame {
  readonly frame: Frame
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: unknown) => void
}

/** Maximum bytes that are gathered in one object. */
const MAX_OBJECT_BYTES = 8_388_608
/** Number of small objects after which those of a running build are merged. */
export const MAX_SMALL_OBJECTS = 256
/** Time for which a build counts as followed after an update of `followed_at`, which followers make every 30 s. Milliseconds. */
const FOLLOWED_MS = 60_000

/** Returns the refusal of a frame that does not start at the end of its stream. */
export function offsetFault(end: number): Error {
  return fault('log-offset', { message: `The stored log ends at ${end}.`, offset: end })
}

/** Takes the frames of the next object from the queue. */
export function takeBatch(queue: QueuedFrame[]): QueuedFrame[] {
  let bytes = 0
  const count = queue.findIndex(({ frame }) => (bytes += frame.bytes.byteLength) > MAX_OBJECT_BYTES)
  const batch = queue.splice(0, count === -1 ? queue.length : Math.max(1, count))
  // Frames of one build are adjacent, so that they can be merged as one piece.
  return [...Map.groupBy(batch, ({ frame }) => frame.buildId).values()].flat()
}

interface PlacedFrame extends QueuedFrame {
  readonly object: string
  readonly objectStart: number
  /** Number of its line feeds, counted once and outside of the transaction, which may run twice. */
  readonly lines: number
}

interface Deps {
  readonly store: Store
  readonly put: (key: string, parts: readonly Uint8Array[]) => Promise<void>
  readonly clock: Clock
  readonly serial: Serial
}

/**
 * Writes first the object, then the rows. A crash in between leaves unreferenced bytes, but never rows without bytes. Objects are written
 * concurrently. The rows of a build are stored in the order of its frames, because a frame may follow one that is still being written.
 */
export async function writeBatch({ store, put, clock, serial }: Deps, batch: readonly QueuedFrame[]): Promise<void> {
  const now = clock.now()
  const object = newObjectKey(now)
  let objectStart = 0
  const placed = batch.map((waiting): PlacedFrame => {
    const start = objectStart
    objectStart += waiting.frame.bytes.byteLength
    return { ...waiting, object, objectStart: start, lines: countNewlines(waiting.frame.bytes) }
  })
  const written = put(
    object,
    batch.map(({ frame }) => frame.bytes),
  )
  // The rows of a build may have to wait for those of an earlier batch.
  written.catch(() => undefined)
  const builds = Map.groupBy(placed, ({ frame }) => frame.buildId)
  await Promise.all(
    [...builds].map(([buildId, frames]) => serial.run(buildId, () => storeRows({ store, clock, now, written }, buildId, frames))),
  )
}

type Verdict = Stored | { readonly error: unknown }

interface RowDeps extends Pick<Deps, 'store' | 'clock'> {
  readonly now: number
  /** Settles when the object is written. */
  readonly written: Promise<void>
}

/** Answers the frames of a build. Never rejects. */
async function storeRows(
  { store, clock, now, written }: RowDeps,
  buildId: string,
  frames: readonly PlacedFrame[],
): Promise<void> {
  try {
    await written
    const verdicts = await store.write(async (tx) => {
      const edit = await editBuild(tx, buildId, now)
      if (edit === undefined) throw fault('attempt-stale')
      const answers: Verdict[] = []
      for (const frame of frames) answers.push(await storeRow(edit, frame))
      noteObject(edit, frames)
      await saveBuild(edit)
      if (clock.now() - now > ROWS_MS) throw fault('unavailable', { message: 'The log was not stored in time.' })
      return answers
    })
    for (const [index, verdict] of verdicts.entries()) {
      const waiting = frames[index]
      if ('end' in verdict) waiting?.resolve(verdict)
      else waiting?.reject(verdict.error)
    }
  } catch (error) {
    for (const { reject } of frames) reject(error)
  }
}

/** Counts small objects, and schedules a merge if there are many or the build has ended. */
function noteObject({ build, before, now }: BuildEdit, frames: readonly PlacedFrame[]): void {
  const bytes = frames.reduce((sum, { frame }) => sum + frame.bytes.byteLength, 0)
  if (build.feed_position === before.feed_position || bytes >= SMALL_BYTES) return
  build.small_objects += 1
  if (isFinalBuild(build.status) || build.small_objects >= MAX_SMALL_OBJECTS) build.compact_at ??= now + SETTLE_MS
}

async function storeRow(edit: BuildEdit, { frame, object, objectStart, lines }: PlacedFrame): Promise<Verdict> {
  const { tx, build, now } = edit
  const stored = await findStream(tx.query, frame)
  const end = stored?.bytes ?? 0
  const after = frame.offset + frame.bytes.byteLength
  if (after <= end) return { end, isFollowed: isFollowed(build, now) }
  if (!recordHeartbeat(edit, frame.attempt)) return { error: fault('attempt-stale') }
  if (frame.offset !== end) return { error: offsetFault(end) }
  build.feed_position += 1
  if (edit.attempt !== undefined) edit.attempt.output_at = edit.now
  const before = stored ?? newStream(frame)
  // A server that does not count lines may have written the bytes before.
  const isCounted = before.counted === end
  const chunk: ChunkRow = {
    build_id: build.id,
    position: build.feed_position,
    account_id: build.account_id,
    attempt: frame.attempt,
    stream: frame.stream,
    start: frame.offset,
    bytes: frame.bytes.byteLength,
    at: frame.at,
    object,
    object_start: objectStart,
    first_line: isCounted ? before.lines : null,
    lines: isCounted ? lines : null,
  }
  await insertChunk(tx, chunk)
  const next = isCounted ? countChunk(before, frame.bytes, lines) : before
  await putStream(tx, { ...next, bytes: after, last_at: frame.at })
  tx.measure((metrics) => metrics.logBytes.inc(chunk.bytes))
  return { end: after, isFollowed: isFollowed(build, now) }
}

function newStream({ buildId, attempt, stream, at }: Frame): StreamRow {
  const key = { build_id: buildId, attempt, stream }
  return { ...key, bytes: 0, counted: 0, lines: 0, line_start: 0, first_at: at, last_at: at }
}

/** Returns true if the build has a follower. */
export function isFollowed({ followed_at: at }: Pick<BuildRow, 'followed_at'>, now: number): boolean {
  return at !== null && now - at < FOLLOWED_MS
}
