/** Messages to other services. */
import { Id, MessageQuery, OutgoingMessage, page } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listMessagePage, retryMessage, showMessage } from '../../../outbox/messages.ts'
import { ok, route, type Answer, type Route } from '../../route.ts'

const ById = z.object({ id: Id })

export function messageRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/messages', {
      summary: 'List messages to other services, newest first',
      allow: 'see-contexts',
      scope: 'context:read',
      query: MessageQuery,
      replies: { 200: page(OutgoingMessage) },
      handle: async ({ query }) => ok(await listMessagePage(app, query)),
    }),
    route('GET', '/v1/messages/{id}', {
      summary: 'Show a message to another service',
      allow: 'see-contexts',
      scope: 'context:read',
      params: ById,
      replies: { 200: OutgoingMessage },
      handle: async ({ params }) => ok(await showMessage(app, params.id)),
    }),
    route('POST', '/v1/messages/{id}/retry', {
      summary: 'Send a message again, also one that was given up',
      allow: 'start-builds',
      scope: 'build:write',
      params: ById,
      replies: { 202: OutgoingMessage },
      async handle({ params, settle }) {
        const answer = (message: OutgoingMessage): Answer => ({ status: 202, body: message })
        return answer(await retryMessage(app, params.id, (tx, message) => settle(tx, answer(message))))
      },
    }),
  ]
}
