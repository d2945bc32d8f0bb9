/** Server-sent events on a reply that fastify has let go of. */
import type { FastifyReply } from 'fastify'

export type EventWriter = FastifyReply['raw']

/** Takes the reply over and sends the head of the stream; whoever called ends it. */
export function openEventStream(reply: FastifyReply): EventWriter {
  reply.hijack()
  const { raw } = reply
  const id = reply.getHeader('x-request-id')
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    ...(typeof id === 'string' && { 'x-request-id': id }),
  })
  raw.flushHeaders()
  raw.socket?.setNoDelay(true)
  return raw
}

/** Resolves once the reader takes more, or `signal` is aborted. */
export async function sendEvent(raw: EventWriter, text: string, signal: AbortSignal): Promise<void> {
  if (raw.write(text) || signal.aborted) return
  const drained = Promise.withResolvers<void>()
  const over = new AbortController()
  raw.once('drain', drained.resolve)
  signal.addEventListener('abort', () => drained.resolve(), { once: true, signal: over.signal })
  await drained.promise
  raw.off('drain', drained.resolve)
  over.abort()
}
