/** The feed of a build as one unbroken sequence, over any number of connections: what was seen is not asked for again. */
import { backoffMs, type Clock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { FeedItem, type Client } from '@windlass/protocol'
import { z } from 'zod'

export interface FollowOptions {
  readonly client: Client
  readonly buildId: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Position after which to begin; 0 is the beginning. */
  readonly after: number
  /** Told when the stream is broken (once per break) and when it is back. */
  readonly onBreak: (error: unknown) => void
  readonly onBack: () => void
}

/** How long a follower tries to come back before it gives up. */
const PATIENCE_MS = 600_000
const BACKOFF = { baseMs: 200, maxMs: 3_000 }

/** A page of what is stored, for readers that do not wait. */
const FeedPage = z.object({ items: z.array(FeedItem), next: z.int() })
/** An item holds up to half a mebibyte of log. */
const PAGE = 50

/** Items after a position, each once, to the end of what is there now. Throws the server's fault. */
export async function* readFeed({
  client,
  buildId,
  after,
}: {
  client: Client
  buildId: string
  after: number
}): AsyncGenerator<FeedItem> {
  for (let position = after; ;) {
    const query = { after: position, limit: PAGE }
    const { items, next } = await client.call('GET', `/v1/builds/${buildId}/feed`, FeedPage, { query })
    yield* items
    if (items.length === 0) return
    position = next
  }
}

interface Connection {
  position: number
  hasAnswered: boolean
  failures: number
  /** Monotonic milliseconds. */
  brokenAt: number | undefined
}

/**
 * Items in order, each once, until the server says that the feed has ended. Throws the server's fault when it refuses, and
 * `server-unreachable` when it never answered, or stayed away for ten minutes.
 */
export async function* followFeed(options: FollowOptions): AsyncGenerator<FeedItem> {
  const { client, buildId, clock, signal } = options
  const connection: Connection = { position: options.after, hasAnswered: false, failures: 0, brokenAt: undefined }
  while (!signal.aborted) {
    try {
      const query = { after: connection.position }
      for await (const { event, data } of client.events(`/v1/builds/${buildId}/follow`, { query, signal })) {
        if (connection.brokenAt !== undefined) options.onBack()
        Object.assign(connection, { hasAnswered: true, failures: 0, brokenAt: undefined })
        if (event === 'end') return
        const item = FeedItem.parse(JSON.parse(data))
        if (item.position <= connection.position) continue
        connection.position = item.position
        yield item
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isFault(error) || !error.retryable || !connection.hasAnswered) throw error
      if (connection.brokenAt === undefined) options.onBreak(error)
      connection.brokenAt ??= clock.monotonic()
      if (clock.monotonic() - connection.brokenAt > PATIENCE_MS) throw error
    }
    connection.failures += 1
    await clock.sleep(backoffMs(BACKOFF, connection.failures), signal).catch(() => undefined)
  }
}
