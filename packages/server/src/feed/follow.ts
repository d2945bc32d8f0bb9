/** Following a build by server-sent events: every item of its feed once, in order, from any position on, and `end` after the last. */
import type { FastifyReply } from 'fastify'
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../app.ts'
import { feedTopic } from '../builds/edit.ts'
import { openEventStream, sendEvent } from './event-stream.ts'
import { findBuild } from '../store/builds.ts'
import { readFeed } from './feed.ts'

const PAGE = 200
/** A comment is sent in silence, so that proxies keep the connection. Milliseconds. */
const KEEP_ALIVE_MS = 15_000

export interface Follow {
  readonly buildId: string
  readonly after: number
  readonly signal: AbortSignal
}

/** Writes the stream to the reply; resolves when it has ended or the reader went away. `id` of each event is the position to resume after. */
export async function follow(app: App, reply: FastifyReply, { buildId, after, signal }: Follow): Promise<void> {
  const raw = openEventStream(reply)
  using watch = app.store.watch(feedTopic(buildId))
  try {
    let position = after
    while (!signal.aborted) {
      const build = await findBuild(app.store.query, app.accountId, buildId)
      if (build === undefined) break
      const items =
        position >= build.feed_position ? [] : await readFeed(app.store, app.logs, buildId, { after: position, limit: PAGE })
      for (const item of items) {
        position = item.position
        await sendEvent(raw, `id: ${position}\nevent: ${item.kind}\ndata: ${JSON.stringify(item)}\n\n`, signal)
      }
      if (items.length > 0) continue
      if (isFinalBuild(build.status) && position >= build.feed_position) {
        await sendEvent(
          raw,
          `id: ${position}\nevent: end\ndata: ${JSON.stringify({ status: build.status, reason: build.reason ?? undefined })}\n\n`,
          signal,
        )
        break
      }
      const wait = Math.min(app.store.pollMs, KEEP_ALIVE_MS)
      const before = app.clock.monotonic()
      await watch.next(wait, signal)
      if (app.clock.monotonic() - before >= wait) await sendEvent(raw, ': still here\n\n', signal)
    }
  } catch (error) {
    if (!signal.aborted) app.log.warn({ err: error, buildId }, 'a follower was cut off')
  } finally {
    raw.end()
  }
}
