/** The feed of a build as one unbroken sequence, over any number of connections: what was seen is not asked for again. */
import { backoffMs, type Clock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { FeedItem, type Client } from '@windlass/protocol'

export interface FollowOptions {
  readonly client: Client
  readonly buildId: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Position after which to begin; 0 when absent. */
  readonly after?: number
  /** False: end where the feed ends now. */
  readonly follow: boolean
  /** Told when the stream is broken (once per break) and when it is back. */
  readonly onBreak: (error: unknown) => void
  readonly onBack: () => void
}

/** How long a follower tries to come back before it gives up. */
const PATIENCE_MS = 600_000
const BACKOFF = { baseMs: 200, maxMs: 3_000 }

/**
 * Items in order, each once, until the server says that the feed has ended. Throws the server's fault when it refuses, and
 * `server-unreachable` when it never answered, or stayed away for ten minutes.
 */
export async function* followFeed(options: FollowOptions): AsyncGenerator<FeedItem> {
  const { client, buildId, clock, signal } = options
  let position = options.after ?? 0
  let brokenAt: number | undefined
  let failures = 0
  let hasConnected = false
  while (!signal.aborted) {
    try {
      for await (const { event, data, id } of client.events(`/v1/builds/${buildId}/feed`, {
        query: { after: position, follow: options.follow },
        signal,
      })) {
        hasConnected = true
        failures = 0
        if (brokenAt !== undefined) options.onBack()
        brokenAt = undefined
        if (event === 'end') return
        if (event !== 'item') continue
        const item = FeedItem.parse(JSON.parse(data))
        if (item.position <= position) continue
        position = Math.max(item.position, Number(id ?? 0))
        yield item
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isFault(error) || !error.retryable || !hasConnected) throw error
      if (brokenAt === undefined) options.onBreak(error)
      brokenAt ??= clock.monotonic()
      if (clock.monotonic() - brokenAt > PATIENCE_MS) throw error
    }
    if (!options.follow && brokenAt === undefined) return
    failures += 1
    await clock.sleep(backoffMs(BACKOFF, failures), signal).catch(() => undefined)
  }
}
