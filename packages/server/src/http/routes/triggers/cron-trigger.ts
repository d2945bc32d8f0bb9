/** Cron triggers of pipelines. */
import { CronTriggerInput, page, PipelineCronTrigger, TriggerQuery } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import {
  createCronTrigger,
  getCronTrigger,
  listCronTriggerPage,
  putCronTrigger,
  removeCronTrigger,
  showCronTrigger,
} from '../../../triggers/cron/cron-triggers.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'
import { ByTrigger } from './trigger.ts'

export function cronTriggerRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/cron-triggers', {
      summary: 'List cron triggers, oldest first',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: TriggerQuery,
      replies: { 200: page(PipelineCronTrigger) },
      async handle({ query: { pipeline, cursor, limit }, actor }) {
        const places = placesOf(actor, 'see-pipelines')
        const items = await listCronTriggerPage(app, { pipeline, places, after: cursor, limit })
        return ok({ items, ...present({ next: items.length === limit ? items.at(-1)?.id : undefined }) })
      },
    }),
    route('POST', '/v1/cron-triggers', {
      summary: 'Create a cron trigger of a pipeline',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'handler',
      body: CronTriggerInput,
      replies: { 201: PipelineCronTrigger },
      async handle({ body, actor, settle }) {
        const answer = (trigger: PipelineCronTrigger): Answer => created(trigger, { location: `/v1/cron-triggers/${trigger.id}` })
        const write = { input: body, authorize: requireWrite(app, actor) }
        return answer(await createCronTrigger(app, write, (tx, trigger) => settle(tx, answer(trigger))))
      },
    }),
    route('GET', '/v1/cron-triggers/{name}', {
      summary: 'Show a cron trigger, by its id or as pipeline#name',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'cron-trigger',
      params: ByTrigger,
      replies: { 200: PipelineCronTrigger },
      handle: async ({ params }) => ok(showCronTrigger(await getCronTrigger(app.store.query, app.accountId, params.name))),
    }),
    route('PUT', '/v1/cron-triggers/{name}', {
      summary: 'Replace a cron trigger; those of a document can only be changed there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'cron-trigger',
      params: ByTrigger,
      body: CronTriggerInput,
      replies: { 200: PipelineCronTrigger },
      handle: async ({ params, body, actor }) =>
        ok(await putCronTrigger(app, params.name, { input: body, authorize: requireWrite(app, actor) })),
    }),
    route('DELETE', '/v1/cron-triggers/{name}', {
      summary: 'Delete a cron trigger; those of a document can only be deleted there',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'cron-trigger',
      params: ByTrigger,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeCronTrigger(app, params.name)
        return done
      },
    }),
  ]
}
