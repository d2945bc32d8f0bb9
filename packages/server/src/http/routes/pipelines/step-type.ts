import { page, PageQuery, StepTypeResource, StepTypeInput } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { listStepTypes, listVersions, putStepType, removeStepType, showStepType } from '../../../step-types/step-types.ts'
import { ByName } from './pipeline.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

export function stepTypeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/step-types', {
      summary: 'List the latest version of each step type, by name',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: PageQuery,
      replies: { 200: page(StepTypeResource) },
      async handle({ query }) {
        const items = await listStepTypes(app, { after: query.cursor, limit: query.limit })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/step-types', {
      summary: 'Create a version of a step type',
      allow: 'change-step-types',
      scope: 'pipeline:write',
      readsDocument: true,
      body: StepTypeInput,
      replies: { 201: StepTypeResource },
      async handle({ body, settle }) {
        const put = { ...body, mustBeNew: true }
        return created((await putStepType(app, put, (tx, stepType) => settle(tx, created(stepType)))).stepType)
      },
    }),
    route('GET', '/v1/step-types/{name}', {
      summary: 'Show a step type with its manifest: the latest version, or the one in `name:version`',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      params: ByName,
      replies: { 200: StepTypeResource },
      handle: async ({ params }) => ok(await showStepType(app, params.name)),
    }),
    route('PUT', '/v1/step-types/{name}', {
      summary: 'Create or replace a version of a step type',
      allow: 'change-step-types',
      scope: 'pipeline:write',
      params: ByName,
      readsDocument: true,
      body: StepTypeInput,
      replies: { 200: StepTypeResource, 201: StepTypeResource },
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
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      params: ByName,
      replies: { 200: page(StepTypeResource) },
      handle: async ({ params }) => ok({ items: await listVersions(app, params.name) }),
    }),
    route('DELETE', '/v1/step-types/{name}', {
      summary: 'Delete one version of a step type: `name:version`',
      allow: 'change-step-types',
      scope: 'pipeline:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeStepType(app, params.name)
        return done
      },
    }),
  ]
}
