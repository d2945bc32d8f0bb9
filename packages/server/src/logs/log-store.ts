/**
 * The logs of builds: stores frames and reads ranges of streams. Frames that arrive together are written to one object and acknowledged together, once
 * the object and the rows are durable. The feed (`feed/`) combines log and events.
 */
import { fault, isFault, sha256, type Clock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { editBuild, feedTopic, saveBuild, type BuildEdit } from '../builds/lifecycle/edit.ts'
import { recordHeartbeat } from '../builds/engine/record-heartbeat.ts'
import { findFollowedAt } from '../store/builds/builds.ts'
import { findChunk, insertChunk } from '../store/builds/events.ts'
import type { BuildRow, ChunkRow } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { findStreamEnd, listStreamChunks, setStreamEnd, type StreamKey } from '../store/builds/streams.ts'
import { inOrder } from './in-order.ts'
import { newObjectKey, ROWS_MS, SETTLE_MS } from './object-keys.ts'
import type { Objects } from './objects.ts'
import { SMALL_BYTES } from './packs.ts'
import type { LogStorage } from './storage.ts'
import { openTails } from './tails.ts'
import { openTurns, type InTurn } from './turns.ts'
import { openWaitingBytes } from './waiting-bytes.ts'
import { openReadMemory, readAhead, type ChunkPart, type Fetch } from './read-ahead.ts'

export interface Frame extends StreamKey {
  readonly offset: number
  readonly sha256: string
  readonly at: number
  readonly bytes: Uint8Array
}

export interface LogStore {
  readonly objects: Objects
  /** The folder of the logs; undefined if they are not on a disk of this machine. */
  readonly folder: string | undefined
  /** Returns since when all writes have failed, epoch milliseconds; undefined if the last one succeeded. */
  readonly failingSince: () => number | undefined
  /**
   * Stores a frame. Resolves with the new end of the stream. A frame that is already stored changes nothing. With `ahead`, a frame waits for the
   * earlier ones of its stream for at most 2 s or until `ahead` is aborted. Without it, such a frame is refused at once. Throws `log-hash`, `log-offset` (with `offset`) if it
   * does not start at the end of the stream, `attempt-stale`, `rate-limited` if too many frames of the attempt wait, and `unavailable` if the storage
   * is unreachable or too slow.
   */
  append(frame: Frame, ahead?: AbortSignal): Promise<Stored>
  /** Yields the bytes of a stream from `from` up to `to`, in pieces of at most `PIECE_BYTES`. Throws `not-found` if they expire. */
  read(key: StreamKey, range: { readonly from: number; readonly to: number }): AsyncGenerator<Buffer>
  /**
   * Yields the bytes of parts of chunks in order, in pieces of at most `PIECE_BYTES` that never contain bytes of two parts. Reads ahead while the caller
   * uses a piece. Throws `not-found` if a chunk has expired.
   */
  readParts(parts: readonly ChunkPart[]): AsyncGenerator<Buffer>
}

export interface Stored {
  /** End of the stream. Bytes. */
  readonly end: number
  /** True if the build has a follower. */
  readonly isFollowed: boolean
}

/** Maximum bytes that are gathered in one object, and maximum number of concurrent writes. */
const MAX_OBJECT_BYTES = 8_388_608
const MAX_WRITES = 2
/** Maximum time for which a frame waits for the earlier ones of its stream. They may be on the way to another server. Milliseconds. */
const AHEAD_MS = 2_000
/** Maximum time until such a frame reads the end of its stream again, because the wake-up of another server can be lost. Milliseconds. */
const REREAD_MS = 250
/** Maximum bytes of frames that wait for a slow storage. Further frames are refused, and their engines keep them. */
const MAX_QUEUED_BYTES = 67_108_864
/** Maximum bytes that all readers together fetch in advance. */
const READ_AHEAD_BYTES = 33_554_432
/** Number of concurrent reads of chunks that have been moved to another object. */
const MOVED_READS = 4
/** Number of small objects after which those of a running build are merged. */
export const MAX_SMALL_OBJECTS = 256
/** Time for which a build counts as followed after an update of `followed_at`, which followers make every 30 s. Milliseconds. */
const FOLLOWED_MS = 60_000
const CHUNKS_PER_PAGE = 200

interface QueuedFrame {
  readonly frame: Frame
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: unknown) => void
}

export function openLogStore(store: Store, { objects, folder }: Pick<LogStorage, 'objects' | 'folder'>, clock: Clock): LogStore {
  const queue: QueuedFrame[] = []
  const memory = openReadMemory(READ_AHEAD_BYTES)
  let writes = 0
  let queuedBytes = 0
  /** Bytes of frames that wait for earlier ones. */
  let aheadBytes = 0
  const waitingBytes = openWaitingBytes()
  const tails = openTails()
  const inTurn = openTurns()
  let failingSince: number | undefined

  function schedule(): void {
    while (writes < MAX_WRITES && queue.length > 0) {
      writes += 1
      const batch = takeBatch(queue)
      queuedBytes -= bytesOf(batch)
      void writeBatch({ store, put, clock, inTurn }, batch).finally(() => {
        writes -= 1
        schedule()
      })
    }
  }

  /** Writes an object. If the storage is unreachable, it also refuses all waiting frames, because each of them would wait as long as this one. */
  async function put(key: string, parts: readonly Uint8Array[]): Promise<void> {
    try {
      await objects.put(key, parts)
      failingSince = undefined
    } catch (error) {
      failingSince ??= clock.now()
      if (isFault(error, 'unavailable')) {
        for (const { reject } of queue.splice(0)) reject(error)
        queuedBytes = 0
      }
      throw error
    }
  }

  /** Queues a frame behind the stored or queued end of its stream. */
  async function follow(frame: Frame, ahead: AbortSignal | undefined): Promise<Stored> {
    using watch = store.watch(feedTopic(frame.buildId))
    const deadline = clock.monotonic() + AHEAD_MS
    for (;;) {
      const end = await findStreamEnd(store.query, frame)
      // A repeated frame is answered without a write, like in `storeRow`.
      if (frame.offset + frame.bytes.byteLength <= end)
        return { end, isFollowed: isFollowed(await findFollowedAt(store.query, frame.buildId), clock.now()) }
      if (frame.offset === end || frame.offset === tails.endOf(frame)) return tails.during(frame, () => enqueue(frame))
      const left = deadline - clock.monotonic()
      if (frame.offset < end || ahead === undefined || ahead.aborted || left <= 0) throw offsetFault(end)
      // Not `unavailable`: that would count as an outage, during which no engine is judged. The engine sends the frame again.
      if (queuedBytes + aheadBytes > MAX_QUEUED_BYTES) throw offsetFault(end)
      aheadBytes += frame.bytes.byteLength
      await watch.next(Math.min(left, REREAD_MS), ahead).finally(() => (aheadBytes -= frame.bytes.byteLength))
    }
  }

  async function enqueue(frame: Frame): Promise<Stored> {
    // Frames ahead do not count: they wait for this one.
    if (queuedBytes > MAX_QUEUED_BYTES) throw slowStorage()
    const { promise, resolve, reject } = Promise.withResolvers<Stored>()
    queue.push({ frame, resolve, reject })
    queuedBytes += frame.bytes.byteLength
    schedule()
    return promise
  }

  return {
    objects,
    folder,
    failingSince: () => failingSince,
    async append(frame, ahead) {
      if (sha256(frame.bytes) !== frame.sha256) throw fault('log-hash')
      return waitingBytes.during(frame, () => follow(frame, ahead))
    },
    async *read(key, { from, to }) {
      for (let at = from; at < to;) {
        const chunks = await listStreamChunks(store.query, key, { from: at, to, limit: CHUNKS_PER_PAGE })
        if (chunks.length === 0) return
        const parts = chunks.map((chunk): ChunkPart => {
          const skip = Math.max(0, at - chunk.start)
          const bytes = Math.min(chunk.bytes, to - chunk.start) - skip
          at = chunk.start + skip + bytes
          return { chunk, from: skip, bytes }
        })
        yield* readParts(parts)
      }
    },
    readParts,
  }

  function readParts(parts: readonly ChunkPart[]): AsyncGenerator<Buffer> {
    return readAhead(parts, { fetch, memory })
  }

  async function fetch({ object, start, bytes, parts }: Fetch): Promise<readonly Buffer[]> {
    const found = await objects.get(object, { start, bytes })
    if (found === undefined) return Array.fromAsync(inOrder(parts, MOVED_READS, readMoved))
    return parts.map(({ chunk, from, bytes: length }) => {
      const at = chunk.object_start + from - start
      return found.subarray(at, at + length)
    })
  }

  /** Reads part of a chunk whose object is missing. Reads the row again, because its object may have been merged into another one. */
  async function readMoved({ chunk, from, bytes }: ChunkPart): Promise<Buffer> {
    for (let missing = chunk.object; ;) {
      const row = await findChunk(store.query, chunk)
      if (row === undefined) throw fault('not-found', { message: 'The log has expired.' })
      if (row.object === missing) throw new Error(`log object ${missing} is missing`)
      const found = await objects.get(row.object, { start: row.object_start + from, bytes })
      if (found !== undefined) return found
      missing = row.object
    }
  }
}

function bytesOf(frames: readonly QueuedFrame[]): number {
  return frames.reduce((sum, { frame }) => sum + frame.bytes.byteLength, 0)
}

function slowStorage(): Error {
  return fault('unavailable', { message: 'The log storage is slower than its input.' })
}

function offsetFault(end: number): Error {
  return fault('log-offset', { message: `The stored log ends at ${end}.`, offset: end })
}

function takeBatch(queue: QueuedFrame[]): QueuedFrame[] {
  let bytes = 0
  const count = queue.findIndex(({ frame }) => (bytes += frame.bytes.byteLength) > MAX_OBJECT_BYTES)
  const batch = queue.splice(0, count === -1 ? queue.length : Math.max(1, count))
  // Frames of one build are adjacent, so that they can be merged as one piece.
  return [...Map.groupBy(batch, ({ frame }) => frame.buildId).values()].flat()
}

interface PlacedFrame extends QueuedFrame {
  readonly object: string
  readonly objectStart: number
}

interface Deps {
  readonly store: Store
  readonly put: (key: string, parts: readonly Uint8Array[]) => Promise<void>
  readonly clock: Clock
  readonly inTurn: InTurn
}

/**
 * Writes first the object, then the rows. A crash in between leaves unreferenced bytes, but never rows without bytes. Objects are written
 * concurrently. The rows of a build are stored in the order of its frames, because a frame may follow one that is still being written.
 */
async function writeBatch({ store, put, clock, inTurn }: Deps, batch: readonly QueuedFrame[]): Promise<void> {
  const now = clock.now()
  const object = newObjectKey(now)
  let objectStart = 0
  const placed = batch.map((waiting): PlacedFrame => {
    const start = objectStart
    objectStart += waiting.frame.bytes.byteLength
    return { ...waiting, object, objectStart: start }
  })
  const written = put(
    object,
    batch.map(({ frame }) => frame.bytes),
  )
  // The turn of a build may come later.
  written.catch(() => undefined)
  const builds = Map.groupBy(placed, ({ frame }) => frame.buildId)
  await Promise.all(
    [...builds].map(([buildId, frames]) => inTurn(buildId, () => storeRows({ store, clock, now, written }, buildId, frames))),
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

async function storeRow(edit: BuildEdit, { frame, object, objectStart }: PlacedFrame): Promise<Verdict> {
  const { tx, build, now } = edit
  const end = await findStreamEnd(tx.query, frame)
  const after = frame.offset + frame.bytes.byteLength
  if (after <= end) return { end, isFollowed: isFollowed(build, now) }
  if (!recordHeartbeat(edit, frame.attempt)) return { error: fault('attempt-stale') }
  if (frame.offset !== end) return { error: offsetFault(end) }
  build.feed_position += 1
  if (edit.attempt !== undefined) edit.attempt.output_at = edit.now
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
  }
  await insertChunk(tx, chunk)
  await setStreamEnd(tx, frame, after)
  tx.measure((metrics) => metrics.logBytes.inc(chunk.bytes))
  return { end: after, isFollowed: isFollowed(build, now) }
}

function isFollowed({ followed_at: at }: Pick<BuildRow, 'followed_at'>, now: number): boolean {
  return at !== null && now - at < FOLLOWED_MS
}
