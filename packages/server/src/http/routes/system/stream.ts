/** The event stream of pages. */
import { StreamQuery } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { streamTopics } from '../../../feed/stream/stream.ts'
import { route, type Route } from '../../route.ts'

export function streamRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/stream', {
      summary:
        'Follow several topics over one connection: lists, builds, logs and terminals (server-sent events; resume by Last-Event-ID)',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: StreamQuery,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ query, headers, actor, reply, signal }) {
        using _reader = app.readers.take(actor, query.topic.length)
        const last = headers['last-event-id']
        const cursor = typeof last === 'string' && last !== '' ? last : query.cursor
        await streamTopics(app, reply, { actor, topics: query.topic, cursor, signal })
        return 'stream'
      },
    }),
  ]
}
