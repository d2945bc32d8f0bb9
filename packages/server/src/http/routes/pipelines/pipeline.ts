import {
  Name,
  page,
  PageQuery,
  Pipeline,
  PipelineChange,
  PipelineInput,
  PipelineQuery,
  Project,
  ProjectInput,
  ProjectQuotasInput,
  Validation,
  ValidationInput,
} from '@windlass/protocol'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { nameOf, placesOf, type Actor } from '../../../identity/actor.ts'
import { requireScope } from '../../../identity/scopes.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { createPipeline, etag, findProblems, putPipeline, removePipeline, showPipeline } from '../../../pipelines/pipelines.ts'
import { listPipelinePage } from '../../../pipelines/list-pipelines.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import { validateDocument } from '../../../pipelines/validate-document.ts'
import { listProjectPage, putProject, putQuotas, removeProject, showProject } from '../../../pipelines/projects.ts'
import { findPipeline } from '../../../store/pipelines/pipelines.ts'
import { findProject } from '../../../store/pipelines/projects.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'

/** An id, or a name (URL-encoded). */
export const ByName = z.object({ name: Name })

export function pipelineRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/pipelines', {
      summary:
        'List pipelines by name or, with the scope build:read, by last build; with activity, also their newest builds and the number of their triggers',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: PipelineQuery,
      replies: { 200: page(Pipeline) },
      async handle({ query, actor }) {
        const showsBuilds = query.activity || query.order === 'last-build'
        if (showsBuilds) requireScope(actor, 'build:read')
        return ok(await listPipelinePage(app, query, placesOf(actor, showsBuilds ? 'see-builds' : 'see-pipelines')))
      },
    }),
    route('POST', '/v1/pipelines', {
      summary: 'Create a pipeline; message: why, for its versions',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'handler',
      readsDocument: true,
      query: PipelineChange,
      body: PipelineInput,
      replies: { 201: Pipeline },
      async handle({ query, body, actor, settle }) {
        const answer = (pipeline: Pipeline): Answer =>
          created(pipeline, { etag: etag(pipeline), location: `/v1/pipelines/${pipeline.id}` })
        const creation = { input: body, authorize: requireWrite(app, actor), change: { by: nameOf(actor), ...query } }
        return answer(await createPipeline(app, creation, (tx, pipeline) => settle(tx, answer(pipeline))))
      },
    }),
    route('GET', '/v1/pipelines/{name}', {
      summary: 'Show a pipeline',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'pipeline',
      params: ByName,
      replies: { 200: Pipeline },
      async handle({ params }) {
        const row = requireFound(await findPipeline(app.store.query, app.accountId, params.name), `pipeline "${params.name}"`)
        return ok(await showPipeline(app, undefined, row), { etag: etag(row) })
      },
    }),
    route('PUT', '/v1/pipelines/{name}', {
      summary:
        'Create or replace a pipeline; If-Match and If-None-Match protect against concurrent changes; message: why, for its versions',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'pipeline',
      params: ByName,
      readsDocument: true,
      query: PipelineChange,
      body: PipelineInput,
      replies: { 200: Pipeline, 201: Pipeline },
      async handle({ params, query, body, actor, headers }) {
        const precondition = { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] }
        const { pipeline, isNew } = await putPipeline(app, {
          name: params.name,
          input: body,
          precondition,
          authorize: requireWrite(app, actor),
          change: { by: nameOf(actor), ...query },
        })
        const shown = { ...pipeline, ...(await findProblems(app, pipeline)) }
        return isNew ? created(shown, { etag: etag(pipeline) }) : ok(shown, { etag: etag(pipeline) })
      },
    }),
    route('DELETE', '/v1/pipelines/{name}', {
      summary: 'Delete a pipeline and keep its builds',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'pipeline',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removePipeline(app, params.name)
        return done
      },
    }),
    route('POST', '/v1/validate', {
      summary: 'Validate a pipeline document',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
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

/** Throws `forbidden` if the project gets another name and the caller has no role for the installation. The name could tell which other projects exist. */
export async function requireSameName(
  app: App,
  actor: Actor,
  name: { readonly before: string; readonly after: string },
): Promise<void> {
  if (placesOf(actor, 'change-projects') === undefined) return
  const project = await findProject(app.store.query, app.accountId, name.before)
  if (project?.name === name.after) return
  throw fault('forbidden', { message: 'Only a user with a role for the installation may rename a project.' })
}

function projectRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/projects', {
      summary: 'List projects by name',
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'handler',
      query: PageQuery,
      replies: { 200: page(Project) },
      async handle({ query, actor }) {
        const ids = placesOf(actor, 'see-pipelines')?.projects
        const items = await listProjectPage(app, { after: query.cursor, limit: query.limit, ids })
        return ok({ items, ...present({ next: items.length === query.limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/projects', {
      summary: 'Create a project',
      allow: 'change-projects',
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
      allow: 'see-pipelines',
      scope: 'pipeline:read',
      project: 'project',
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
      allow: 'change-projects',
      scope: 'pipeline:write',
      project: 'project',
      params: ByName,
      body: ProjectInput,
      replies: { 200: Project, 201: Project },
      async handle({ params, body, actor, headers }) {
        await requireSameName(app, actor, { before: params.name, after: body.name })
        const { project, isNew } = await putProject(app, {
          name: params.name,
          input: body,
          mustBeNew: headers['if-none-match'] === '*',
        })
        return isNew ? created(project) : ok(project)
      },
    }),
    route('PUT', '/v1/projects/{name}/quotas', {
      summary: 'Replace the quotas of a project: concurrent builds, and what is kept of builds and logs',
      allow: 'set-quotas',
      scope: 'account:write',
      params: ByName,
      body: ProjectQuotasInput,
      replies: { 200: Project },
      handle: async ({ params, body }) => ok(await putQuotas(app, params.name, body)),
    }),
    route('DELETE', '/v1/projects/{name}', {
      summary: 'Delete a project that has no pipelines',
      allow: 'change-projects',
      scope: 'pipeline:write',
      project: 'project',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeProject(app, params.name)
        return done
      },
    }),
  ]
}
