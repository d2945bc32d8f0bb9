/** The server as sink of events and frames. */
import { EventAck, FrameAck, type Client } from '@windlass/protocol'
import type { Sink } from './sink.ts'

/** `client` carries the attempt token. */
export function serverSink(client: Client): Sink {
  return {
    async events(events, signal) {
      const { ackSeq } = await client.call('POST', '/v1/engine/events', EventAck, { body: { events }, signal })
      return ackSeq
    },
    async frame({ stream, offset, bytes, sha256, at }, signal) {
      const headers = {
        // Names of steps may hold any character; header values may not.
        'x-windlass-stream': encodeURIComponent(stream),
        'x-windlass-offset': String(offset),
        'x-windlass-sha256': sha256,
        'x-windlass-at': String(at),
      }
      const answer = await client.call('POST', '/v1/engine/logs', FrameAck, { body: bytes, headers, signal })
      return answer.offset
    },
  }
}
