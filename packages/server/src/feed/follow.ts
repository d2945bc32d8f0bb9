/** Following of a build by server-sent events: each item of its feed once, in order, from a given position, and `end` after the last. */
import type { FastifyReply } from 'fastify'
import { attempt } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../app.ts'
import { feedTopic } from '../builds/lifecycle/edit.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { PIECE_BYTES } from '../logs/objects/read-ahead.ts'
import { findBuild, updateBuild } from '../store/builds/builds.ts'
import type { BuildRow, ChunkRow } from '../store/schema/schema.ts'
import { openEventStream, type Outlet } from './event-stream.ts'
import { chunkParts, listFeed, piecesOf, toItem, toLogHead, type FeedEntry } from './feed.ts'

const PAGE = 200
/** Interval of comments that keep an idle connection open through proxies. Milliseconds. */
const KEEP_ALIVE_MS = 15_000
/** Interval in which `followed_at` of the build is updated. Milliseconds. */
const UPDATE_MS = 30_000

export interface Follow {
  readonly buildId: string
  readonly after: number
  readonly hidesTerminals: boolean
  readonly signal: AbortSignal
}

/** Writes the stream to the reply. Resolves when it ends or the reader disconnects. The `id` of each event is the position to resume after. */
export async function follow(app: App, reply: FastifyReply, { buildId, after, hidesTerminals, signal }: Follow): Promise<void> {
  const out = openEventStream(app, reply, signal)
  using watch = app.store.watch(feedTopic(buildId))
  try {
    let position = after
    while (!signal.aborted && !out.isOld()) {
      const build = await findBuild(app.store.query, app.accountId, buildId)
      if (build === undefined) break
      await noteFollower(app, build)
      const entries =
        position >= build.feed_position
          ? []
          : await listFeed(app.store.query, build, { after: position, limit: PAGE, hidesTerminals })
      await using pieces = app.logs.readParts(chunkParts(entries))
      for (const entry of entries) {
        if (signal.aborted) return
        if (!(await sendEntry(app, out, { entry, pieces }))) return
        position = entry.position
      }
      if (entries.length > 0) continue
      if (isFinalBuild(build.status) && position >= build.feed_position) {
        const end = { status: build.status, reason: build.reason ?? undefined }
        await out.write(`id: ${position}\nevent: end\ndata: ${JSON.stringify(end)}\n\n`)
        break
      }
      const wait = Math.min(app.store.pollMs, KEEP_ALIVE_MS)
      const before = app.clock.monotonic()
      await watch.next(wait, signal)
      if (app.clock.monotonic() - before >= wait) await out.write(': still here\n\n')
    }
  } catch (error) {
    if (!signal.aborted) app.log.warn({ err: error, buildId }, 'follower disconnected')
  } finally {
    out.end()
  }
}

/** Reads a build that has a follower, and notes that it has one. Throws `not-found`. */
export async function readFollowed(app: App, buildId: string): Promise<BuildRow> {
  const build = requireFound(await findBuild(app.store.query, app.accountId, buildId), `build ${buildId}`)
  await noteFollower(app, build)
  return build
}

/** Stores that the build has a follower, so that the engine sends its output sooner. If this fails, lines arrive a second later. */
export async function noteFollower(app: App, build: BuildRow): Promise<void> {
  const now = app.clock.now()
  if (isFinalBuild(build.status) || now - (build.followed_at ?? 0) < UPDATE_MS) return
  await attempt(app.log, 'note a follower', () => app.store.write((tx) => updateBuild(tx, build.id, { followed_at: now })))
}

interface NextEntry {
  readonly entry: FeedEntry
  /** The log of this entry and of those after it. */
  readonly pieces: AsyncIterator<Buffer>
}

/**
 * Sends an entry. Log bytes are sent piece by piece, and events are read one at a time, so a slow reader keeps at most one event and what was read in
 * advance in memory. Returns false if the event has been deleted.
 */
async function sendEntry({ store }: App, out: Outlet, { entry, pieces }: NextEntry): Promise<boolean> {
  if ('chunk' in entry) return sendLog(pieces, out, entry)
  const item = await toItem(store.query, entry)
  if (item === undefined) return false
  await out.write(`id: ${entry.position}\nevent: ${item.kind}\ndata: ${JSON.stringify(item)}\n\n`)
  return true
}

async function sendLog(
  pieces: AsyncIterator<Buffer>,
  out: Outlet,
  entry: Extract<FeedEntry, { chunk: ChunkRow }>,
): Promise<true> {
  const { position, chunk, bytes } = entry
  const json = JSON.stringify({ ...toLogHead(chunk), bytes: '' })
  const head = `id: ${position}\nevent: log\ndata: ${json.slice(0, -2)}`
  if (bytes > PIECE_BYTES) {
    await out.write(head)
    for await (const piece of piecesOf(pieces, bytes)) await out.write(piece.toString('base64'))
    await out.write('"}\n\n')
    return true
  }
  for await (const piece of piecesOf(pieces, bytes)) await out.write(`${head}${piece.toString('base64')}"}\n\n`)
  return true
}
