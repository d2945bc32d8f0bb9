/** A build as a follower sees it: every item of its feed with the moment it arrived. */
import { FeedItem, type Client } from '@windlass/protocol'

export interface Seen {
  readonly item: FeedItem
  /** performance.now() of this process. */
  readonly at: number
}

/** Follows a build from its first item to the end of its feed. */
export async function* follow(client: Client, buildId: string): AsyncGenerator<Seen> {
  for await (const { event, data } of client.events(`/v1/builds/${buildId}/follow`, { query: { after: 0 } })) {
    if (event === 'end') return
    yield { item: FeedItem.parse(JSON.parse(data)), at: performance.now() }
  }
}

/** True when a step's own output is in it, beside the lines that the engine adds. */
export function isStepOutput({ item }: Seen): boolean {
  if (item.kind !== 'log' || !item.stream.startsWith('step/')) return false
  const text = Buffer.from(item.bytes, 'base64').toString('latin1')
  return text.replace(/^\[SYSTEM\] .*\n/gm, '').trim() !== ''
}
