/** Triggers of pipelines for images, charts and ended builds. */
import { EventTriggerInput, page, PipelineEventTrigger, TriggerQuery } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import {
  createEventTrigger,
  getEventTrigger,
  listEventTriggerPage,
  putEventTrigger,
  removeEventTrigger,
  showEventTrigger,
} from '../../../triggers/events/event-triggers.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'
import { ByTrigger } from './trigger.ts'

export function eventTriggerRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/event-triggers', {
      summary: 'List event triggers, oldest first',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: TriggerQuery,
      replies: { 200: page(PipelineEventTrigger) },
      async handle({ query: { pipeline, cursor, limit }, actor }) {
        const places = placesOf(actor, 'see-pipelines')
        const items = await listEventTriggerPage(app, { pipeline, places, after: cursor, limit })
        return ok({ items, ...present({ next: items.length === limit ? items.at(-1)?.id : undefined }) })
      },
    }),
    route('POST', '/v1/event-triggers', {
      summary: 'Create an event trigger of a pipeline',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'handler',
      body: EventTriggerInput,
      replies: { 201: PipelineEventTrigger },
      async handle({ body, actor, settle }) {
        const answer = (trigger: PipelineEventTrigger): Answer =>
          created(trigger, { location: `/v1/event-triggers/${trigger.id}` })
        const write = { input: body, authorize: requireWrite(app, actor) }
        return answer(await createEventTrigger(app, write, (tx, trigger) => settle(tx, answer(trigger))))
      },
    }),
    route('GET', '/v1/event-triggers/{name}', {
      summary: 'Show an event trigger, by its id or as pipeline#name',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'event-trigger',
      params: ByTrigger,
      replies: { 200: PipelineEventTrigger },
      handle: async ({ params }) => ok(showEventTrigger(await getEventTrigger(app.store.query, app.accountId, params.name))),
    }),
    route('PUT', '/v1/event-triggers/{name}', {
      summary: 'Replace an event trigger; those of a document can only be changed there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'event-trigger',
      params: ByTrigger,
      body: EventTriggerInput,
      replies: { 200: PipelineEventTrigger },
      handle: async ({ params, body, actor }) =>
        ok(await putEventTrigger(app, params.name, { input: body, authorize: requireWrite(app, actor) })),
    }),
    route('DELETE', '/v1/event-triggers/{name}', {
      summary: 'Delete an event trigger; those of a document can only be deleted there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'event-trigger',
      params: ByTrigger,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeEventTrigger(app, params.name)
        return done
      },
    }),
  ]
}
