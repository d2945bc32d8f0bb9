/**
 * The logs of builds: stores frames and reads ranges of streams. Frames that arrive together are written to one object and acknowledged together, once
 * the object and the rows are durable. The feed (`feed/`) combines log and events.
 */
import { fault, isFault, openSerial, sha256, type Clock } from '@windlass/kit'
import { feedTopic } from '../builds/lifecycle/edit.ts'
import { findFollowedAt } from '../store/builds/builds.ts'
import { findChunk } from '../store/builds/events.ts'
import type { Store } from '../store/store.ts'
import { findStreamEnd, listStreamChunks, type StreamKey } from '../store/builds/logs/streams.ts'
import { expiredLog } from './expired-log.ts'
import { inOrder } from './in-order.ts'
import type { Objects } from './objects/objects.ts'
import { openQueuedEnds } from './queued-ends.ts'
import type { LogStorage } from './objects/storage.ts'
import { openWaitingBytes } from './waiting-bytes.ts'
import { openReadMemory, readAhead, type ChunkPart, type Fetch } from './objects/read-ahead.ts'
import { isFollowed, offsetFault, takeBatch, writeBatch, type Frame, type QueuedFrame, type Stored } from './write-batch.ts'

export type { Frame, Stored } from './write-batch.ts'

export interface LogStore {
  readonly objects: Objects
  /** The folder of the logs; undefined if they are not on a disk of this machine. */
  readonly folder: string | undefined
  /** Returns since when all writes have failed, epoch milliseconds; undefined if the last one succeeded. */
  readonly failingSince: () => number | undefined
  /**
   * Stores a frame. Resolves with the new end of the stream. A frame that is already stored changes nothing. With `ahead`, a frame waits for the
   * earlier ones of its stream for at most 2 s or until `ahead` is aborted. Without it, such a frame is refused at once. Throws `log-hash`, `log-offset`
   * (with `offset`) if it does not start at the end of the stream, `attempt-stale`, `rate-limited` if too many frames of the attempt wait, and
   * `unavailable` if the storage is unreachable or too slow.
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

/** Maximum number of concurrent writes. */
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
const CHUNKS_PER_PAGE = 200

export function openLogStore(store: Store, { objects, folder }: Pick<LogStorage, 'objects' | 'folder'>, clock: Clock): LogStore {
  const queue: QueuedFrame[] = []
  const memory = openReadMemory(READ_AHEAD_BYTES)
  let writes = 0
  let queuedBytes = 0
  /** Bytes of frames that wait for earlier ones. */
  let aheadBytes = 0
  const waitingBytes = openWaitingBytes()
  const queuedEnds = openQueuedEnds()
  /** By build. */
  const serial = openSerial()
  let failingSince: number | undefined

  function schedule(): void {
    while (writes < MAX_WRITES && queue.length > 0) {
      writes += 1
      const batch = takeBatch(queue)
      queuedBytes -= bytesOf(batch)
      void writeBatch({ store, put, clock, serial }, batch).finally(() => {
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
  async function queueInOrder(frame: Frame, ahead: AbortSignal | undefined): Promise<Stored> {
    using watch = store.watch(feedTopic(frame.buildId))
    const deadline = clock.monotonic() + AHEAD_MS
    for (;;) {
      const end = await findStreamEnd(store.query, frame)
      // A repeated frame is answered without a write, like in `write-batch.ts`.
      if (frame.offset + frame.bytes.byteLength <= end)
        return { end, isFollowed: isFollowed(await findFollowedAt(store.query, frame.buildId), clock.now()) }
      if (frame.offset === end || frame.offset === queuedEnds.endOf(frame)) return queuedEnds.during(frame, () => enqueue(frame))
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
      return waitingBytes.during(frame, () => queueInOrder(frame, ahead))
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
      if (row === undefined) throw expiredLog()
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
