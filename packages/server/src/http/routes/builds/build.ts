import { defined, fault } from '@windlass/kit'
import { isFinalBuild, type TriggerKind } from '@windlass/plan'
import {
  ApprovalInput,
  Build,
  BuildComparison,
  BuildComparisonQuery,
  BuildCounts,
  BuildCountsQuery,
  BuildInput,
  BuildPlan,
  BuildQuery,
  BuildUsage,
  BuildUsageQuery,
  FeedPage,
  FeedQuery,
  FollowQuery,
  Id,
  page,
  RelatedBuilds,
  RestartInput,
  WaitQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { decideApproval } from '../../../builds/lifecycle/approve.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { feedTopic } from '../../../builds/lifecycle/edit.ts'
import { confirmAttempt } from '../../../builds/lifecycle/ends/confirm-gone.ts'
import { terminateBuild } from '../../../builds/lifecycle/ends/terminate.ts'
import { toFullBuild, present, toBuild } from '../../../builds/lifecycle/view.ts'
import { compareBuilds } from '../../../builds/list/compare-builds.ts'
import { findComparedBuild } from '../../../builds/list/compared-build.ts'
import { countBuilds, listBuildPage } from '../../../builds/list/list-builds.ts'
import { relatedBuilds } from '../../../builds/list/related.ts'
import { explainWaits } from '../../../builds/list/waits.ts'
import { describePlan } from '../../../builds/preview/build-plan.ts'
import { startBuild } from '../../../builds/create/start.ts'
import { readUsage } from '../../../builds/usage/build-usage.ts'
import { follow } from '../../../feed/follow.ts'
import { readEvents, readFeed } from '../../../feed/feed.ts'
import { mayReadTerminals } from '../../../logs/stream-right.ts'
import { nameOf, placesOf } from '../../../identity/actor.ts'
import { readUntil } from '../../../read-until.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import { placeOf } from '../../../store/places.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { created, ok, route, type Answer, type Call, type Route } from '../../route.ts'

const ById = z.object({ id: Id })
const AttemptPath = ById.extend({ attempt: z.coerce.number().int().positive() })
const MAX_HELD_MS = 60_000

export function buildRoutes(app: App): Route[] {
  return [...changes(app), ...reads(app), ...streams(app)]
}

function changes(app: App): Route[] {
  return [
    route('POST', '/v1/builds', {
      summary: 'Start a build of a stored pipeline, or of a document',
      allow: 'start-builds',
      scope: 'build:write',
      project: 'handler',
      readsDocument: true,
      body: BuildInput,
      replies: { 201: Build },
      handle: (call) => start(app, call, call.body, call.body.restartOf === undefined ? 'manual' : 'restart'),
    }),
    route('POST', '/v1/builds/{id}/restart', {
      summary:
        'Run a build again with the same document, variables and commit; `from`: start at the failed step or at the named step',
      allow: 'start-builds',
      scope: 'build:write',
      project: 'build',
      params: ById,
      readsDocument: true,
      body: RestartInput,
      replies: { 201: Build },
      handle: (call) => start(app, call, toRestart(call.params.id, call.body), 'restart'),
    }),
    route('POST', '/v1/builds/{id}/terminate', {
      summary: 'Terminate a build; steps can only terminate builds that their build has started',
      allow: 'end-builds',
      scope: 'build:write',
      project: 'build',
      params: ById,
      replies: { 200: Build },
      async handle({ params, actor, settle }) {
        if (actor.kind === 'build') await requireChild(app, params.id, actor.buildId)
        const answer = (build: BuildRow): Answer => ok(toBuild(build))
        return answer(await terminateBuild(app, params.id, nameOf(actor), (tx, build) => settle(tx, answer(build))))
      },
    }),
    route('POST', '/v1/builds/{id}/attempts/{attempt}/confirm-gone', {
      summary: 'Confirm that nothing of a lost attempt is left because its cluster no longer exists; the build may run again',
      allow: 'manage-runners',
      scope: 'build:write',
      params: AttemptPath,
      replies: { 200: Build },
      handle: async ({ params: { id, attempt }, actor }) =>
        ok(await toFullBuild(app, await confirmAttempt(app, { buildId: id, attempt, by: nameOf(actor) }))),
    }),
    decisionRoute(app, 'approve'),
    decisionRoute(app, 'deny'),
  ]
}

/** Throws `forbidden` unless the build was started by the steps of the other one. */
export async function requireChild(app: App, id: string, parent: string): Promise<void> {
  const row = requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
  if (row.parent_id !== parent)
    throw fault('forbidden', { message: 'The steps of a build can only terminate builds that it has started.' })
}

function toRestart(id: string, { from, ...more }: z.output<typeof RestartInput>): z.output<typeof BuildInput> {
  return BuildInput.parse({ ...more, restartOf: id, ...defined({ restartFrom: from }) })
}

function decisionRoute(app: App, verb: 'approve' | 'deny'): Route {
  return route('POST', `/v1/builds/{id}/${verb}`, {
    summary: verb === 'approve' ? 'Approve a step that waits for approval' : 'Deny a step that waits for approval',
    allow: 'decide-approvals',
    scope: 'build:write',
    project: 'build',
    params: ById,
    body: ApprovalInput,
    replies: { 200: Build },
    async handle({ params, body, actor }) {
      const by = { name: nameOf(actor), type: 'user' }
      const decision = verb === 'approve' ? 'approved' : 'denied'
      return ok(await toFullBuild(app, await decideApproval(app, params.id, { ...body, decision, by })))
    },
  })
}

async function start(
  app: App,
  { actor, settle }: Pick<Call<unknown, unknown, unknown>, 'actor' | 'settle'>,
  request: z.output<typeof BuildInput>,
  kind: TriggerKind,
): Promise<Answer> {
  const answer = (build: BuildRow): Answer => created(toBuild(build), { location: `/v1/builds/${build.id}` })
  return answer(await startBuild(app, { actor, request, kind, within: (tx, build) => settle(tx, answer(build)) }))
}

function reads(app: App): Route[] {
  return [
    route('GET', '/v1/builds', {
      summary: 'List builds, newest first',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: BuildQuery,
      replies: { 200: page(Build) },
      handle: async ({ query, actor }) => ok(await listBuildPage(app, query, placesOf(actor, 'see-builds'))),
    }),
    route('GET', '/v1/builds/counts', {
      summary: 'Count builds by their status, project, pipeline, branch, initiator, runtime, trigger or reason',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: BuildCountsQuery,
      replies: { 200: BuildCounts },
      handle: async ({ query, actor }) => ok(await countBuilds(app, query, placesOf(actor, 'see-builds'))),
    }),
    route('GET', '/v1/builds/{id}', {
      summary: 'Show a build with its steps and attempts',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      replies: { 200: Build },
      async handle({ params, actor }) {
        const row = await getBuild(app, params.id)
        const waits = await explainWaits(app, [row], placesOf(actor, 'see-builds'))
        return ok({ ...(await toFullBuild(app, row)), ...present({ waiting: waits.get(row.id) }) })
      },
    }),
    route('GET', '/v1/builds/{id}/plan', {
      summary: 'Show the plan of a build: its steps, variables and images, and the document; without secret values',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      replies: { 200: BuildPlan },
      handle: async ({ params }) => ok(await describePlan(app, (await getBuild(app, params.id)).id)),
    }),
    route('GET', '/v1/builds/{id}/related', {
      summary: 'Show the parent, children and repetitions of a build, and its neighbors on the branch',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      replies: { 200: RelatedBuilds },
      handle: async ({ params, actor }) =>
        ok(await relatedBuilds(app, await getBuild(app, params.id), placesOf(actor, 'see-builds'))),
    }),
    route('GET', '/v1/builds/{id}/compare', {
      summary: 'Compare a build with another one: commit, document, variables, images, runtime and steps',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: BuildComparisonQuery,
      replies: { 200: BuildComparison },
      async handle({ params, query, actor }) {
        const build = await getBuild(app, params.id)
        const other = await findComparedBuild(app, build, { id: query.with, seen: placesOf(actor, 'see-builds') })
        return ok(await compareBuilds(app, build, other))
      },
    }),
    route('GET', '/v1/builds/{id}/usage', {
      summary: 'Show memory and processors of the steps of a build over time, and the phases of the steps',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: BuildUsageQuery,
      replies: { 200: BuildUsage },
      handle: async ({ params, query }) => ok(await readUsage(app, (await getBuild(app, params.id)).id, query)),
    }),
    route('GET', '/v1/builds/{id}/wait', {
      summary: 'Wait for the end of a build',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: WaitQuery,
      replies: { 200: Build },
      isHeld: true,
      handle: async ({ params, query, signal }) =>
        ok(await toFullBuild(app, await awaitEnd(app, params.id, { timeoutMs: query.timeoutMs, signal }))),
    }),
  ]
}

async function getBuild(app: App, id: string): Promise<BuildRow> {
  return requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
}

async function awaitEnd(
  app: App,
  id: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<BuildRow> {
  return readUntil(app, {
    topic: feedTopic(id),
    waitMs: Math.min(timeoutMs, MAX_HELD_MS),
    signal,
    read: () => getBuild(app, id),
    isDone: ({ status }) => isFinalBuild(status),
  })
}

function streams(app: App): Route[] {
  return [
    route('GET', '/v1/builds/{id}/feed', {
      summary: 'Read events and log of a build from a position, or only events',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: FeedQuery,
      replies: { 200: FeedPage },
      async handle({ params, query, actor }) {
        const build = await getBuild(app, params.id)
        const items = query.logs
          ? await readFeed(app, build, { ...query, hidesTerminals: !mayReadTerminals(actor, placeOf(build)) })
          : await readEvents(app, build, query)
        return ok({ items, next: items.at(-1)?.position ?? query.after })
      },
    }),
    route('GET', '/v1/builds/{id}/follow', {
      summary: 'Follow events and log of a build (server-sent events; resume by Last-Event-ID)',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: FollowQuery,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, headers, actor, reply, signal }) {
        const build = await getBuild(app, params.id)
        using _reader = app.readers.take(actor)
        const last = Number(headers['last-event-id'])
        await follow(app, reply, {
          buildId: params.id,
          hidesTerminals: !mayReadTerminals(actor, placeOf(build)),
          after: Number.isSafeInteger(last) && last > 0 ? last : query.after,
          signal,
        })
        return 'stream'
      },
    }),
  ]
}
