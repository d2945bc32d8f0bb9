/** A sink that sends events and frames to the server. */
import { endsWork } from '@windlass/kit'
import { engineCalls } from '@windlass/client/engine'
import type { Client } from '@windlass/protocol'
import type { Sink } from './sink.ts'

/** `client` has the attempt token. */
export function serverSink(client: Client): Sink {
  const server = engineCalls(client)
  let flushMs: number | undefined
  let inFlight: number | undefined
  return {
    async events(events, signal) {
      const { ackSeq } = await server.sendEvents({ events }, { signal })
      return ackSeq
    },
    async frame({ stream, offset, bytes, sha256, at, isAhead }, signal) {
      const headers = {
        // Step names may contain any character; header values may not.
        'x-windlass-stream': encodeURIComponent(stream),
        'x-windlass-offset': String(offset),
        'x-windlass-sha256': sha256,
        'x-windlass-at': String(at),
        ...(isAhead === true && { 'x-windlass-ahead': '1' }),
      }
      const answer = await server.sendFrame(bytes, { headers, signal })
      ;({ flushMs, inFlight } = answer)
      return answer.offset
    },
    flushMs: () => flushMs,
    inFlight: () => inFlight,
    isFinal: (error) => endsWork('attempt', error),
  }
}
