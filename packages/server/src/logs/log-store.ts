/**
 * The log of builds: frames in, ranges of streams out. Frames that arrive together become one object and are acknowledged together, after
 * object and rows are durable. Not here: the feed, which mixes log and events (`feed/`).
 */
import { fault, newId, sha256, type Clock } from '@windlass/kit'
import { editBuild, saveBuild, type BuildEdit } from '../builds/edit.ts'
import { hear } from '../builds/hear.ts'
import { insertChunks } from '../store/events.ts'
import type { ChunkRow } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { findStreamEnd, listStreamChunks, setStreamEnd, type StreamKey } from '../store/streams.ts'
import type { Objects } from './objects.ts'

export interface Frame extends StreamKey {
  readonly offset: number
  readonly sha256: string
  readonly at: number
  readonly bytes: Uint8Array
}

export interface LogStore {
  readonly objects: Objects
  /**
   * Stores a frame; resolves with where the stream ends now. A frame that is stored already changes nothing. Throws `log-hash`,
   * `log-offset` (with `offset`) when it does not start where the stream ends, `attempt-stale`.
   */
  append(frame: Frame): Promise<number>
  /** The bytes of a stream from `from` up to `to`, in order. */
  read(key: StreamKey, range: { readonly from: number; readonly to: number }): AsyncGenerator<Buffer>
  /** The bytes of one stored chunk. */
  readChunk(chunk: ChunkRow): Promise<Buffer>
}

/** Most bytes gathered in one object, and objects written at once. */
const MAX_OBJECT_BYTES = 8_388_608
const MAX_WRITES = 2
const CHUNKS_PER_PAGE = 100

interface Waiting {
  readonly frame: Frame
  readonly resolve: (end: number) => void
  readonly reject: (error: unknown) => void
}

export function openLogStore(store: Store, objects: Objects, clock: Clock): LogStore {
  const queue: Waiting[] = []
  let writes = 0

  function schedule(): void {
    while (writes < MAX_WRITES && queue.length > 0) {
      writes += 1
      void writeBatch({ store, objects, clock }, takeBatch(queue)).finally(() => {
        writes -= 1
        schedule()
      })
    }
  }

  return {
    objects,
    async append(frame) {
      if (sha256(frame.bytes) !== frame.sha256) throw fault('log-hash')
      const end = await findStreamEnd(store.query, frame)
      if (frame.offset > end) throw misplaced(end)
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      queue.push({ frame, resolve, reject })
      schedule()
      return promise
    },
    async *read(key, { from, to }) {
      for (let at = from; at < to;) {
        const chunks = await listStreamChunks(store.query, key, { from: at, to, limit: CHUNKS_PER_PAGE })
        if (chunks.length === 0) return
        for (const chunk of chunks) {
          const skip = Math.max(0, at - chunk.start)
          const bytes = Math.min(chunk.bytes, to - chunk.start) - skip
          yield await objects.get(chunk.object, { start: chunk.object_start + skip, bytes })
          at = chunk.start + skip + bytes
        }
      }
    },
    readChunk: (chunk) => objects.get(chunk.object, { start: chunk.object_start, bytes: chunk.bytes }),
  }
}

function misplaced(end: number): Error {
  return fault('log-offset', { message: `The stored log ends at ${end}.`, offset: end })
}

function takeBatch(queue: Waiting[]): Waiting[] {
  let bytes = 0
  const count = queue.findIndex(({ frame }) => (bytes += frame.bytes.byteLength) > MAX_OBJECT_BYTES)
  return queue.splice(0, count === -1 ? queue.length : Math.max(1, count))
}

interface Placed extends Waiting {
  readonly object: string
  readonly objectStart: number
}

interface Deps {
  readonly store: Store
  readonly objects: Objects
  readonly clock: Clock
}

/** First the object, then the rows: a crash between leaves bytes that nobody refers to, never rows without bytes. */
async function writeBatch({ store, objects, clock }: Deps, batch: readonly Waiting[]): Promise<void> {
  try {
    const now = clock.now()
    const object = `${new Date(now).toISOString().slice(0, 13).replace('T', '/')}/${newId(now)}`
    await objects.put(
      object,
      batch.map(({ frame }) => frame.bytes),
    )
    let objectStart = 0
    const builds = new Map<string, Placed[]>()
    for (const waiting of batch) {
      const placed = { ...waiting, object, objectStart }
      objectStart += waiting.frame.bytes.byteLength
      builds.set(waiting.frame.buildId, [...(builds.get(waiting.frame.buildId) ?? []), placed])
    }
    await Promise.all([...builds].map(([buildId, frames]) => storeRows({ store, now }, buildId, frames)))
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

type Verdict = { readonly end: number } | { readonly error: unknown }

async function storeRows(
  { store, now }: { store: Store; now: number },
  buildId: string,
  frames: readonly Placed[],
): Promise<void> {
  try {
    const verdicts = await store.write(async (tx) => {
      const edit = await editBuild(tx, buildId, now)
      if (edit === undefined) throw fault('attempt-stale')
      const answers: Verdict[] = []
      for (const frame of frames) answers.push(await storeRow(edit, frame))
      await saveBuild(edit)
      return answers
    })
    for (const [index, verdict] of verdicts.entries()) {
      const waiting = frames[index]
      if ('end' in verdict) waiting?.resolve(verdict.end)
      else waiting?.reject(verdict.error)
    }
  } catch (error) {
    for (const { reject } of frames) reject(error)
  }
}

async function storeRow(edit: BuildEdit, { frame, object, objectStart }: Placed): Promise<Verdict> {
  const { tx, build } = edit
  const end = await findStreamEnd(tx.query, frame)
  const after = frame.offset + frame.bytes.byteLength
  if (after <= end) return { end }
  if (!hear(edit, frame.attempt)) return { error: fault('attempt-stale') }
  if (frame.offset !== end) return { error: misplaced(end) }
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
  await insertChunks(tx, [chunk])
  await setStreamEnd(tx, frame, after)
  tx.measure((metrics) => metrics.logBytes.inc(chunk.bytes))
  return { end: after }
}
