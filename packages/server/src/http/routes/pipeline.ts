import {
  Name,
  page,
  PageQuery,
  Pipeline,
  PipelineInput,
  Project,
  ProjectInput,
  Validation,
  ValidationInput,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { requireFound } from '../../builds/lifecycle/require-found.ts'
import { present } from '../../builds/lifecycle/view.ts'
import {
  createPipeline,
  etag,
  findProblems,
  listPage,
  putPipeline,
  removePipeline,
  showPipeline,
} from '../../pipelines/pipelines.ts'
import { validateDocument } from '../../pipelines/validate-document.ts'
import { listProjectPage, putProject, removeProject, showProject } from '../../pipelines/projects.ts'
import { findPipeline } from '../../store/account/pipelines.ts'
import { findProject } from '../../store/account/projects.ts'
import { created, done, ok, route, type Answer, type Route } from '../route.ts'

/** An id, or a name (URL-encoded). */
export const ByName = z.object({ name: Name })

export function pipelineRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/pipelines', {
      summary: 'List pipelines by name',
      allow: 'viewer',
      scope: 'pipeline:read',
      query: PageQuery,
      replies: { 200: page(Pipeline) },
      async handle({ query }) {
        const items = await listPage(app, { after: query.cursor, limit: query.limit })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/pipelines', {
      summary: 'Create a pipeline',
      allow: 'user',
      scope: 'pipeline:write',
      readsDocument: true,
      body: PipelineInput,
      replies: { 201: Pipeline },
      async handle({ body, settle }) {
        const answer = (pipeline: Pipeline): Answer =>
          created(pipeline, { etag: etag(pipeline), location: `/v1/pipelines/${pipeline.id}` })
        return answer(await createPipeline(app, body, (tx, pipeline) => settle(tx, answer(pipeline))))
      },
    }),
    route('GET', '/v1/pipelines/{name}', {
      summary: 'Show a pipeline',
      allow: 'viewer',
      scope: 'pipeline:read',
      params: ByName,
      replies: { 200: Pipeline },
      async handle({ params }) {
        const row = requireFound(await findPipeline(app.store.query, app.accountId, params.name), `pipeline "${params.name}"`)
        return ok(await showPipeline(app, undefined, row), { etag: etag(row) })
      },
    }),
    route('PUT', '/v1/pipelines/{name}', {
      summary: 'Create or replace a pipeline; If-Match and If-None-Match protect against concurrent changes',
      allow: 'user',
      scope: 'pipeline:write',
      params: ByName,
      readsDocument: true,
      body: PipelineInput,
      replies: { 200: Pipeline, 201: Pipeline },
      async handle({ params, body, headers }) {
        const precondition = { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] }
        const { pipeline, isNew } = await putPipeline(app, { name: params.name, input: body, precondition })
        const shown = { ...pipeline, ...(await findProblems(app, pipeline)) }
        return isNew ? created(shown, { etag: etag(pipeline) }) : ok(shown, { etag: etag(pipeline) })
      },
    }),
    route('DELETE', '/v1/pipelines/{name}', {
      summary: 'Delete a pipeline and keep its builds',
      allow: 'user',
      scope: 'pipeline:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removePipeline(app, params.name)
        return done
      },
    }),
    route('POST', '/v1/validate', {
      summary: 'Validate a pipeline document',
      allow: 'viewer',
      scope: 'pipeline:read',
      readsDocument: true,
      body: ValidationInput,
      replies: { 200: Validation },
      async handle({ body }) {
        const problems = await validateDocument(app, { text: body.document, file: body.file })
        return ok({
          valid: problems.every(({ severity }) => severity !== 'error'),
          problems: problems.map((problem) => ({ ...problem })),
        })
      },
    }),
    ...projectRoutes(app),
  ]
}

function projectRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/projects', {
      summary: 'List projects by name',
      allow: 'viewer',
      scope: 'pipeline:read',
      query: PageQuery,
      replies: { 200: page(Project) },
      async handle({ query }) {
        const items = await listProjectPage(app, { after: query.cursor, limit: query.limit })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/projects', {
      summary: 'Create a project',
      allow: 'user',
      scope: 'pipeline:write',
      body: ProjectInput,
      replies: { 201: Project },
      async handle({ body, settle }) {
        const put = { input: body, mustBeNew: true }
        return created((await putProject(app, put, (tx, project) => settle(tx, created(project)))).project)
      },
    }),
    route('GET', '/v1/projects/{name}', {
      summary: 'Show a project',
      allow: 'viewer',
      scope: 'pipeline:read',
      params: ByName,
      replies: { 200: Project },
      handle: async ({ params }) =>
        ok(
          await showProject(
            app,
            requireFound(await findProject(app.store.query, app.accountId, params.name), `project "${params.name}"`),
          ),
        ),
    }),
    route('PUT', '/v1/projects/{name}', {
      summary: 'Create or replace a project',
      allow: 'user',
      scope: 'pipeline:write',
      params: ByName,
      body: ProjectInput,
      replies: { 200: Project, 201: Project },
      async handle({ params, body, headers }) {
        const { project, isNew } = await putProject(app, {
          name: params.name,
          input: body,
          mustBeNew: headers['if-none-match'] === '*',
        })
        return isNew ? created(project) : ok(project)
      },
    }),
    route('DELETE', '/v1/projects/{name}', {
      summary: 'Delete a project that has no pipelines',
      allow: 'user',
      scope: 'pipeline:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeProject(app, params.name)
        return done
      },
    }),
  ]
}
