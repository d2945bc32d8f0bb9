/** Routes of the versions and branches of pipelines. */
import {
  BranchQuery,
  Name,
  page,
  Pipeline,
  PipelineDiff,
  PipelineDiffQuery,
  PipelineVersion,
  PipelineVersionContent,
  PipelineVersionsQuery,
  SeenBranch,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { nameOf } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import { etag, findProblems } from '../../../pipelines/pipelines.ts'
import { listBranches } from '../../../pipelines/branches.ts'
import { diffVersions, listVersionPage, restoreVersion, showVersion } from '../../../pipelines/versions.ts'
import { ByName } from './pipeline.ts'
import { ok, route, type Route } from '../../route.ts'

const ByVersion = z.object({ name: Name, version: z.coerce.number().int().positive() })

export function pipelineVersionRoutes(app: App): Route[] {
  const reads = { allow: 'see-pipelines', scope: 'pipeline:read', project: 'pipeline' } as const
  return [
    route('GET', '/v1/pipelines/{name}/branches', {
      summary: 'List branches and tags that builds of a pipeline or events for it had, the latest first',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'pipeline',
      params: ByName,
      query: BranchQuery,
      replies: { 200: page(SeenBranch) },
      handle: async ({ params, query }) => ok({ items: await listBranches(app, params.name, query) }),
    }),
    route('GET', '/v1/pipelines/{name}/versions', {
      summary: 'List the versions of a pipeline, newest first: who changed it, when and why',
      ...reads,
      params: ByName,
      query: PipelineVersionsQuery,
      replies: { 200: page(PipelineVersion) },
      handle: async ({ params, query }) => ok(await listVersionPage(app, params.name, query)),
    }),
    route('GET', '/v1/pipelines/{name}/versions/{version}', {
      summary: 'Show the document and the settings of a version of a pipeline, without the values of encrypted variables',
      ...reads,
      params: ByVersion,
      replies: { 200: PipelineVersionContent },
      handle: async ({ params }) => ok(await showVersion(app, params.name, params.version)),
    }),
    route('GET', '/v1/pipelines/{name}/versions/{version}/diff', {
      summary: 'Compare a version of a pipeline with another one, by default the one before it',
      ...reads,
      params: ByVersion,
      query: PipelineDiffQuery,
      replies: { 200: PipelineDiff },
      handle: async ({ params: { name, version }, query }) => ok(await diffVersions(app, name, { version, other: query.with })),
    }),
    route('POST', '/v1/pipelines/{name}/versions/{version}/restore', {
      summary:
        'Write a version of a pipeline again as a new version; encrypted variables keep their values of now, and If-Match protects against concurrent changes',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'pipeline',
      params: ByVersion,
      readsDocument: true,
      replies: { 200: Pipeline },
      async handle({ params: { name, version }, headers, actor }) {
        const precondition = { ifMatch: headers['if-match'] }
        const authorize = requireWrite(app, actor)
        const pipeline = await restoreVersion(app, name, { version, precondition, authorize, by: nameOf(actor) })
        return ok({ ...pipeline, ...(await findProblems(app, pipeline)) }, { etag: etag(pipeline) })
      },
    }),
  ]
}
