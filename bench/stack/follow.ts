/** A build as a follower receives it: every item of its feed with its time of arrival. */
import type { ApiClient } from '@windlass/client'
import { FeedItem } from '@windlass/protocol'

export interface Seen {
  readonly item: FeedItem
  /** performance.now() of this process. */
  readonly at: number
}

/** Follows a build from its first item to the end of its feed. */
export async function* follow(client: ApiClient, buildId: string): AsyncGenerator<Seen> {
  for await (const { event, data } of client.builds.follow(buildId, { query: { after: 0 } })) {
    if (event === 'end') return
    yield { item: FeedItem.parse(JSON.parse(data)), at: performance.now() }
  }
}

/** Returns true if the item contains output of a step itself, not only the lines that the engine adds. */
export function isStepOutput({ item }: Seen): boolean {
  if (item.kind !== 'log' || !item.stream.startsWith('step/')) return false
  const text = Buffer.from(item.bytes, 'base64').toString('latin1')
  return text.replace(/^\[SYSTEM\] .*\n/gm, '').trim() !== ''
}
