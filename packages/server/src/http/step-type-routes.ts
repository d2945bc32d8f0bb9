import { page, PageQuery, StepType, StepTypeInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { present } from '../builds/view.ts'
import { listStepTypes, listVersions, putStepType, removeStepType, showStepType } from '../step-types/step-types.ts'
import { ByName } from './pipeline-routes.ts'
import { created, done, ok, route, type Route } from './route.ts'

export function stepTypeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/step-types', {
      summary: 'List step types by name, each by its latest version',
      allow: 'viewer',
      query: PageQuery,
      replies: { 200: page(StepType) },
      async handle({ query }) {
        const items = await listStepTypes(app, { after: query.cursor, limit: query.limit })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/step-types', {
      summary: 'Create a version of a step type',
      allow: 'user',
      body: StepTypeInput,
      replies: { 201: StepType },
      handle: async ({ body }) => created((await putStepType(app, { ...body, mustBeNew: true })).stepType),
    }),
    route('GET', '/v1/step-types/{name}', {
      summary: 'Show a step type with its manifest: the latest version, or the one in `name:version`',
      allow: 'viewer',
      params: ByName,
      replies: { 200: StepType },
      handle: async ({ params }) => ok(await showStepType(app, params.name)),
    }),
    route('PUT', '/v1/step-types/{name}', {
      summary: 'Create or replace a version of a step type',
      allow: 'user',
      params: ByName,
      body: StepTypeInput,
      replies: { 200: StepType, 201: StepType },
      async handle({ params, body, headers }) {
        const { stepType, isNew } = await putStepType(app, {
          ...body,
          name: params.name,
          mustBeNew: headers['if-none-match'] === '*',
        })
        return isNew ? created(stepType) : ok(stepType)
      },
    }),
    route('GET', '/v1/step-types/{name}/versions', {
      summary: 'List the versions of a step type, latest first',
      allow: 'viewer',
      params: ByName,
      replies: { 200: page(StepType) },
      handle: async ({ params }) => ok({ items: await listVersions(app, params.name) }),
    }),
    route('DELETE', '/v1/step-types/{name}', {
      summary: 'Delete one version of a step type: `name:version`',
      allow: 'user',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeStepType(app, params.name)
        return done
      },
    }),
  ]
}
