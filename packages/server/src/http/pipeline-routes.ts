import { Name, page, PageQuery, Pipeline, PipelineInput, ProblemDocument, Project, ProjectInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/require-found.ts'
import { present } from '../builds/view.ts'
import { createPipeline, etag, listPage, putPipeline, removePipeline, showPipeline } from '../pipelines/pipelines.ts'
import { validateDocument } from '../pipelines/validate-document.ts'
import { listProjectPage, putProject, removeProject, showProject } from '../pipelines/projects.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import { created, done, ok, route, type Route } from './route.ts'

/** An id, or a name (URL-encoded). */
export const ByName = z.object({ name: Name })

const Validation = z.object({ valid: z.boolean(), problems: ProblemDocument.shape.problems.unwrap() })

export function pipelineRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/pipelines', {
      summary: 'List pipelines by name',
      allow: 'viewer',
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
      body: PipelineInput,
      replies: { 201: Pipeline },
      async handle({ body }) {
        const pipeline = await createPipeline(app, body)
        return created(await withProblems(app, pipeline), { etag: etag(pipeline), location: `/v1/pipelines/${pipeline.id}` })
      },
    }),
    route('GET', '/v1/pipelines/{name}', {
      summary: 'Show a pipeline',
      allow: 'viewer',
      params: ByName,
      replies: { 200: Pipeline },
      async handle({ params }) {
        const row = requireFound(await findPipeline(app.store.query, app.accountId, params.name), `pipeline ${params.name}`)
        return ok(await showPipeline(app, undefined, row), { etag: etag(row) })
      },
    }),
    route('PUT', '/v1/pipelines/{name}', {
      summary: 'Create or replace a pipeline; If-Match and If-None-Match guard against others',
      allow: 'user',
      params: ByName,
      body: PipelineInput,
      replies: { 200: Pipeline, 201: Pipeline },
      async handle({ params, body, headers }) {
        const precondition = { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] }
        const { pipeline, isNew } = await putPipeline(app, { name: params.name, input: body, precondition })
        const shown = await withProblems(app, pipeline)
        return isNew ? created(shown, { etag: etag(pipeline) }) : ok(shown, { etag: etag(pipeline) })
      },
    }),
    route('DELETE', '/v1/pipelines/{name}', {
      summary: 'Delete a pipeline; its builds stay',
      allow: 'user',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removePipeline(app, params.name)
        return done
      },
    }),
    route('POST', '/v1/validate', {
      summary: 'Check a pipeline document',
      allow: 'viewer',
      body: z.object({ document: z.string().max(1_048_576), file: z.string().max(1000).default('pipeline.yaml') }),
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

/** What is wrong with the document of a pipeline that was just stored, which does not keep it from being stored. */
async function withProblems(app: App, pipeline: Pipeline): Promise<Pipeline> {
  const problems = await validateDocument(app, { text: pipeline.document, file: 'pipeline.yaml' })
  return problems.length === 0 ? pipeline : { ...pipeline, problems: problems.map((problem) => ({ ...problem })) }
}

function projectRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/projects', {
      summary: 'List projects by name',
      allow: 'viewer',
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
      body: ProjectInput,
      replies: { 201: Project },
      handle: async ({ body }) => created((await putProject(app, { input: body, mustBeNew: true })).project),
    }),
    route('GET', '/v1/projects/{name}', {
      summary: 'Show a project',
      allow: 'viewer',
      params: ByName,
      replies: { 200: Project },
      handle: async ({ params }) =>
        ok(
          await showProject(
            app,
            requireFound(await findProject(app.store.query, app.accountId, params.name), `project ${params.name}`),
          ),
        ),
    }),
    route('PUT', '/v1/projects/{name}', {
      summary: 'Create or replace a project',
      allow: 'user',
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
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeProject(app, params.name)
        return done
      },
    }),
  ]
}
