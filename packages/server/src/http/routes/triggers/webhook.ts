/** Webhooks of forges and registries, and their deliveries. */
import {
  Delivery,
  DeliveryQuery,
  DeliveryReceipt,
  Id,
  page,
  PageQuery,
  Webhook,
  WebhookCreated,
  WebhookInput,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { placesOf } from '../../../identity/actor.ts'
import { findWebhook } from '../../../store/triggers/webhooks.ts'
import { listDeliveryPage, replayDelivery, showDelivery } from '../../../triggers/deliveries/deliveries.ts'
import { MAX_DELIVERY_BYTES, receiveDelivery } from '../../../triggers/deliveries/receive.ts'
import { createWebhook, describeWebhook, listWebhookPage, removeWebhook } from '../../../triggers/webhooks.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'

const ById = z.object({ id: Id })

export function webhookRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/webhooks', {
      summary: 'List webhooks by name',
      allow: 'see-contexts',
      scope: 'context:read',
      query: PageQuery,
      replies: { 200: page(Webhook) },
      async handle({ query }) {
        const items = await listWebhookPage(app, { after: query.cursor, limit: query.limit })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/webhooks', {
      summary: 'Create a webhook; the response contains its secret, which is shown only once',
      allow: 'change-contexts',
      scope: 'context:write',
      body: WebhookInput,
      replies: { 201: WebhookCreated },
      async handle({ body, settle }) {
        const answer = (webhook: WebhookCreated): Answer => created(webhook, { location: `/v1/webhooks/${webhook.id}` })
        return answer(await createWebhook(app, body, (tx, webhook) => settle(tx, answer(webhook))))
      },
    }),
    route('GET', '/v1/webhooks/{name}', {
      summary: 'Show a webhook, without its secret',
      allow: 'see-contexts',
      scope: 'context:read',
      params: ByName,
      replies: { 200: Webhook },
      handle: async ({ params }) =>
        ok(
          await describeWebhook(
            app,
            requireFound(await findWebhook(app.store.query, app.accountId, params.name), `webhook "${params.name}"`),
          ),
        ),
    }),
    route('DELETE', '/v1/webhooks/{name}', {
      summary: 'Delete a webhook; its deliveries stay until their retention ends',
      allow: 'change-contexts',
      scope: 'context:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeWebhook(app, params.name)
        return done
      },
    }),
    route('POST', '/v1/webhooks/{name}/deliveries', {
      summary:
        'Report an event: called by forges and registries, with the signature or the token of the webhook; the path contains its id',
      allow: 'public',
      scope: 'none',
      hasOwnCredential: true,
      unaudited: 'the list of deliveries has it',
      params: ByName,
      query: z.object({ token: z.string().max(200).optional() }),
      rawBody: [
        'application/json',
        'application/x-www-form-urlencoded',
        'application/vnd.docker.distribution.events.v1+json',
        'application/vnd.docker.distribution.events.v2+json',
      ],
      maxBodyBytes: MAX_DELIVERY_BYTES,
      replies: { 202: DeliveryReceipt },
      handle: async ({ params, query, headers, rawBody }) => ({
        status: 202,
        body: await receiveDelivery(app, { webhook: params.name, headers, body: rawBody, token: query.token }),
      }),
    }),
    ...deliveryRoutes(app),
  ]
}

function deliveryRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/deliveries', {
      summary: 'List deliveries of webhooks, newest first',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: DeliveryQuery,
      replies: { 200: page(Delivery) },
      handle: async ({ query, actor }) => ok(await listDeliveryPage(app, query, placesOf(actor, 'see-pipelines'))),
    }),
    route('GET', '/v1/deliveries/{id}', {
      summary: 'Show a delivery with the rules of each trigger, and its body',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      params: ById,
      replies: { 200: Delivery },
      handle: async ({ params, actor }) => ok(await showDelivery(app, params.id, placesOf(actor, 'see-pipelines'))),
    }),
    route('POST', '/v1/deliveries/{id}/replay', {
      summary: 'Process the event of a delivery again, as a new delivery, against the triggers as they are now',
      allow: 'start-builds',
      scope: 'build:write',
      project: 'handler',
      params: ById,
      replies: { 202: Delivery },
      async handle({ params, actor, settle }) {
        const answer = (delivery: Delivery): Answer => ({ status: 202, body: delivery })
        const replay = { id: params.id, places: placesOf(actor, 'start-builds') }
        return answer(await replayDelivery(app, replay, (tx, delivery) => settle(tx, answer(delivery))))
      },
    }),
  ]
}
