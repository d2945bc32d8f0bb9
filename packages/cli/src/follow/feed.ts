/** The feed of a build as one sequence across reconnects. */
import { pauseMs, type Clock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { FeedItem, tolerant } from '@windlass/protocol'

export interface FollowOptions {
  readonly client: ApiClient
  /** Id of a build that the server already returned, so a missing answer means that the server is unreachable. */
  readonly buildId: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Position after which to start; 0 is the start. */
  readonly after: number
  /** Called once when the connection is lost; `onBack` is called when it is restored. */
  readonly onBreak: (error: unknown) => void
  readonly onBack: () => void
}

/** How long to retry the connection before giving up. */
const RECONNECT_MS = 600_000
const BACKOFF = { baseMs: 200, maxMs: 3_000 }

/** Items per page; each holds up to 512 KiB of log. */
const PAGE = 50

/** Yields the items after a position that are stored now, each once. Throws the server's fault. */
export async function* readFeed({
  client,
  buildId,
  after,
}: {
  client: ApiClient
  buildId: string
  after: number
}): AsyncGenerator<FeedItem> {
  for (let position = after; ;) {
    const query = { after: position, limit: PAGE }
    const { items, next } = await client.builds.feed(buildId, { query })
    yield* items
    if (items.length === 0) return
    position = next
  }
}

interface Connection {
  position: number
  failures: number
  /** Monotonic milliseconds. */
  brokenAt: number | undefined
}

/**
 * Yields the items in order, each once, until the end of the feed. Throws the server's fault if it rejects the call, and
 * `server-unreachable` if it stays unreachable for ten minutes.
 */
export async function* followFeed(options: FollowOptions): AsyncGenerator<FeedItem> {
  const { client, buildId, clock, signal } = options
  const connection: Connection = { position: options.after, failures: 0, brokenAt: undefined }
  while (!signal.aborted) {
    let reason: unknown
    try {
      const query = { after: connection.position }
      for await (const { event, data } of client.builds.follow(buildId, { query, signal })) {
        if (connection.brokenAt !== undefined) options.onBack()
        Object.assign(connection, { failures: 0, brokenAt: undefined })
        if (event === 'end') return
        const item = tolerant(FeedItem).parse(JSON.parse(data))
        if (item.position <= connection.position) continue
        connection.position = item.position
        yield item
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isFault(error) || !error.retryable) throw error
      reason = error
      if (connection.brokenAt === undefined) options.onBreak(error)
      connection.brokenAt ??= clock.monotonic()
      if (clock.monotonic() - connection.brokenAt > RECONNECT_MS) throw error
    }
    connection.failures += 1
    await clock.sleep(pauseMs(BACKOFF, connection.failures, reason), signal).catch(() => undefined)
  }
}
