/** Routes over all builds: the queue, approvals, search, the preview of a build, and actions with several builds. */
import {
  ApprovalItem,
  ApprovalQuery,
  BuildActionInput,
  BuildActionResults,
  page,
  PlanAnswer,
  PlanInput,
  Queue,
  SearchQuery,
  SearchResults,
} from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { actOnBuilds } from '../../../builds/list/bulk.ts'
import { listApprovalPage } from '../../../builds/list/list-approvals.ts'
import { readQueue } from '../../../builds/list/queue.ts'
import { search } from '../../../builds/list/search.ts'
import { previewBuild } from '../../../builds/preview/preview-build.ts'
import { placesOf } from '../../../identity/actor.ts'
import { ok, route, type Route } from '../../route.ts'

export function queueRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/queue', {
      summary: 'Show why builds wait, by cause, with the builds that hold each limit',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      replies: { 200: Queue },
      handle: async ({ actor }) => ok(await readQueue(app, placesOf(actor, 'see-builds'))),
    }),
    route('GET', '/v1/approvals', {
      summary: 'List the approvals of all builds: open ones, or decided ones',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: ApprovalQuery,
      replies: { 200: page(ApprovalItem) },
      handle: async ({ query, actor }) => ok(await listApprovalPage(app, actor, query)),
    }),
    route('GET', '/v1/search', {
      summary: 'Search builds by number or commit, and pipelines, projects, runtimes and contexts by name',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: SearchQuery,
      replies: { 200: SearchResults },
      handle: async ({ query, actor }) => ok(await search(app, actor, query)),
    }),
    route('POST', '/v1/plan', {
      summary: 'Show what a build would do and why it would wait, without starting it',
      allow: 'start-builds',
      scope: 'build:write',
      project: 'handler',
      unaudited: 'stores nothing',
      readsDocument: true,
      body: PlanInput,
      replies: { 200: PlanAnswer },
      handle: async ({ body, actor }) => ok(await previewBuild(app, actor, body)),
    }),
    route('POST', '/v1/builds/actions', {
      summary: 'Terminate, restart, approve or deny up to 200 builds; the answer has a result for each',
      allow: 'end-builds',
      scope: 'build:write',
      project: 'handler',
      readsDocument: true,
      body: BuildActionInput,
      replies: { 200: BuildActionResults },
      handle: async ({ body, actor, headers, settle }) => {
        const key = headers['idempotency-key']
        return ok(await actOnBuilds(app, { actor, input: body, key: typeof key === 'string' ? key : undefined, settle }))
      },
    }),
  ]
}
