/** Triggers of pipelines. */
import { page, PipelineTrigger, TriggerInput, TriggerQuery, TriggerTest, TriggerTestInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import { createTrigger, getTrigger, listTriggerPage, putTrigger, removeTrigger, showTrigger } from '../../../triggers/triggers.ts'
import { tryEvent } from '../../../triggers/try-event.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'

/** An id, or `pipeline#name` (URL-encoded). */
export const ByTrigger = z.object({ name: z.string().min(1).max(400) })

export function triggerRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/triggers', {
      summary: 'List triggers, oldest first',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: TriggerQuery,
      replies: { 200: page(PipelineTrigger) },
      async handle({ query: { pipeline, cursor, limit }, actor }) {
        const places = placesOf(actor, 'see-pipelines')
        const items = await listTriggerPage(app, { pipeline, places, after: cursor, limit })
        return ok({ items, ...present({ next: items.length === limit ? items.at(-1)?.id : undefined }) })
      },
    }),
    route('POST', '/v1/triggers', {
      summary: 'Create a trigger of a pipeline',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'handler',
      body: TriggerInput,
      replies: { 201: PipelineTrigger },
      async handle({ body, actor, settle }) {
        const answer = (trigger: PipelineTrigger): Answer => created(trigger, { location: `/v1/triggers/${trigger.id}` })
        return answer(
          await createTrigger(app, { input: body, authorize: requireWrite(app, actor) }, (tx, trigger) =>
            settle(tx, answer(trigger)),
          ),
        )
      },
    }),
    route('POST', '/v1/triggers/test', {
      summary: 'Judge the triggers of an event without starting a build',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      readsDocument: true,
      body: TriggerTestInput,
      replies: { 200: TriggerTest },
      handle: async ({ body, actor }) => ok(await tryEvent(app, body, placesOf(actor, 'see-pipelines'))),
    }),
    route('GET', '/v1/triggers/{name}', {
      summary: 'Show a trigger, by its id or as pipeline#name',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'trigger',
      params: ByTrigger,
      replies: { 200: PipelineTrigger },
      handle: async ({ params }) => ok(showTrigger(await getTrigger(app.store.query, app.accountId, params.name))),
    }),
    route('PUT', '/v1/triggers/{name}', {
      summary: 'Replace a trigger; those of a document can only be changed there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'trigger',
      params: ByTrigger,
      body: TriggerInput,
      replies: { 200: PipelineTrigger },
      handle: async ({ params, body, actor }) =>
        ok(await putTrigger(app, params.name, { input: body, authorize: requireWrite(app, actor) })),
    }),
    route('DELETE', '/v1/triggers/{name}', {
      summary: 'Delete a trigger; those of a document can only be deleted there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'trigger',
      params: ByTrigger,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeTrigger(app, params.name)
        return done
      },
    }),
  ]
}
