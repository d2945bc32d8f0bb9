import { fault } from '@windlass/kit'
import { BUILD_STATUSES, isFinalBuild } from '@windlass/plan'
import { ApprovalInput, Build, BuildInput, FeedItem, Id, LogQuery, page, PageQuery, RestartInput } from '@windlass/protocol'
import { z } from 'zod'
import { storedForms } from '../annotations/annotations.ts'
import type { App } from '../app.ts'
import { decideApproval } from '../builds/approve.ts'
import { createBuild } from '../builds/create.ts'
import { requireFound } from '../builds/require-found.ts'
import { requireSpace } from '../builds/disk-space.ts'
import { feedTopic } from '../builds/edit.ts'
import { terminateBuild } from '../builds/terminate.ts'
import { describeBuild, present, toBuild, toBuilds } from '../builds/view.ts'
import { follow } from '../feed/follow.ts'
import { readFeed } from '../feed/feed.ts'
import type { Actor } from '../identity/actor.ts'
import { serveLog } from '../logs/serve.ts'
import { findBuild, listBuilds } from '../store/builds.ts'
import { findPipeline } from '../store/pipelines.ts'
import type { BuildRow } from '../store/schema.ts'
import { created, ok, route, type Answer, type Call, type Route } from './route.ts'

/** The annotation of a child build that names its parent. */
const PREDECESSOR = 'cf_predecessor'
const ById = z.object({ id: Id })
const Statuses = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(BUILD_STATUSES)))
const Filter = PageQuery.extend({
  /** Several, separated by commas. */
  status: Statuses.optional(),
  pipeline: z.string().max(300).optional(),
  branch: z.string().max(500).optional(),
  /** `name` or `name=value`; several must all hold. */
  annotation: z.union([z.string().max(1000), z.array(z.string().max(1000)).max(20)]).optional(),
})
const Position = z.coerce.number().int().nonnegative().default(0)
const MAX_HELD_MS = 60_000
/** A request holds a document and variables of a mebibyte each. */
const MAX_BODY_BYTES = 8_388_608

export function nameOf(actor: Actor): string {
  return actor.kind === 'key' || actor.kind === 'build' ? actor.name : actor.kind
}

export function buildRoutes(app: App): Route[] {
  return [...changes(app), ...reads(app), ...streams(app)]
}

function changes(app: App): Route[] {
  return [
    route('POST', '/v1/builds', {
      summary: 'Start a build of a stored pipeline, or of a document',
      allow: 'run',
      body: BuildInput,
      maxBodyBytes: MAX_BODY_BYTES,
      replies: { 201: Build },
      handle: (call) => start(app, call, call.body, call.body.restartOf === undefined ? 'manual' : 'restart'),
    }),
    route('POST', '/v1/builds/{id}/restart', {
      summary:
        'Run a build again: same document, variables and commit; `from`: only from the failed step on, or from the step named',
      allow: 'user',
      params: ById,
      body: RestartInput,
      maxBodyBytes: MAX_BODY_BYTES,
      replies: { 201: Build },
      handle: (call) => start(app, call, toRestart(call.params.id, call.body), 'restart'),
    }),
    route('POST', '/v1/builds/{id}/terminate', {
      summary: 'Terminate a build; the steps of a build only those that it has started',
      allow: 'run',
      params: ById,
      replies: { 200: Build },
      async handle({ params, actor }) {
        if (actor.kind === 'build') await requireParent(app, params.id, actor.buildId)
        return ok(toBuild(await terminateBuild(app, params.id, nameOf(actor))))
      },
    }),
    decisionRoute(app, 'approve'),
    decisionRoute(app, 'deny'),
  ]
}

/** A build that the steps of another one start is its child, whatever they say. */
function withParent(request: z.output<typeof BuildInput>, parent: string): z.output<typeof BuildInput> {
  return { ...request, annotations: { ...request.annotations, [PREDECESSOR]: parent } }
}

async function requireParent(app: App, id: string, parent: string): Promise<void> {
  const row = requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
  const { annotations } = await describeBuild(app, row)
  if (annotations?.[PREDECESSOR] !== parent)
    throw fault('forbidden', { message: 'The steps of a build may terminate only builds that it has started.' })
}

function toRestart(id: string, { from, ...more }: z.output<typeof RestartInput>): z.output<typeof BuildInput> {
  return BuildInput.parse({ ...more, restartOf: id, ...(from !== undefined && { restartFrom: from }) })
}

function decisionRoute(app: App, verb: 'approve' | 'deny'): Route {
  return route('POST', `/v1/builds/{id}/${verb}`, {
    summary: verb === 'approve' ? 'Approve what a step of a build waits for' : 'Deny what a step of a build waits for',
    allow: 'user',
    params: ById,
    body: ApprovalInput,
    replies: { 200: Build },
    async handle({ params, body, actor }) {
      const by = { name: nameOf(actor), type: 'user' }
      const decision = verb === 'approve' ? 'approved' : 'denied'
      return ok(await describeBuild(app, await decideApproval(app, params.id, { ...body, decision, by })))
    },
  })
}

async function start(
  app: App,
  call: Pick<Call<unknown, unknown, unknown>, 'actor' | 'settle'>,
  request: z.output<typeof BuildInput>,
  trigger: string,
): Promise<Answer> {
  await requireSpace(app)
  const answer = (build: BuildRow): Answer => created(toBuild(build), { location: `/v1/builds/${build.id}` })
  const build = await createBuild(app, {
    request: call.actor.kind === 'build' ? withParent(request, call.actor.buildId) : request,
    trigger: call.actor.kind === 'build' ? 'build' : trigger,
    initiator: nameOf(call.actor),
    within: (tx, row) => call.settle(tx, answer(row)),
  })
  return answer(build)
}

function reads(app: App): Route[] {
  return [
    route('GET', '/v1/builds', {
      summary: 'List builds, newest first',
      allow: 'viewer',
      query: Filter,
      replies: { 200: page(Build) },
      handle: async ({ query }) => ok(await listPage(app, query)),
    }),
    route('GET', '/v1/builds/{id}', {
      summary: 'Show a build with its steps and attempts',
      allow: 'viewer',
      params: ById,
      replies: { 200: Build },
      handle: async ({ params }) => ok(await describeBuild(app, await getBuild(app, params.id))),
    }),
    route('GET', '/v1/builds/{id}/wait', {
      summary: 'Wait for the end of a build',
      allow: 'viewer',
      params: ById,
      query: z.object({ timeoutMs: z.coerce.number().int().min(0).default(30_000) }),
      replies: { 200: Build },
      isHeld: true,
      handle: async ({ params, query, signal }) =>
        ok(await describeBuild(app, await awaitEnd(app, params.id, { timeoutMs: query.timeoutMs, signal }))),
    }),
  ]
}

async function getBuild(app: App, id: string): Promise<BuildRow> {
  return requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
}

async function listPage(app: App, query: z.output<typeof Filter>): Promise<{ items: Build[]; next?: string }> {
  const before = query.cursor === undefined ? undefined : Number(query.cursor)
  if (before !== undefined && !Number.isSafeInteger(before))
    throw fault('request-invalid', { message: 'The cursor is not one of this list.' })
  const pipeline = query.pipeline === undefined ? undefined : await findPipeline(app.store.query, app.accountId, query.pipeline)
  const filter = pipeline === undefined ? { pipeline: query.pipeline } : { pipelineId: pipeline.id }
  const { status, branch, limit } = query
  const annotations = [query.annotation ?? []].flat().map(readAnnotationFilter)
  const page = { status, branch, annotations, before, limit }
  const rows = await listBuilds(app.store.query, { accountId: app.accountId, ...filter, ...page })
  return {
    items: await toBuilds(app, rows),
    ...present({ next: rows.length === limit ? rows.at(-1)?.number.toString() : undefined }),
  }
}

function readAnnotationFilter(text: string): { name: string; values: string[] } {
  const at = text.indexOf('=')
  return at < 0 ? { name: text, values: [] } : { name: text.slice(0, at), values: storedForms(text.slice(at + 1)) }
}

async function awaitEnd(
  app: App,
  id: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<BuildRow> {
  const until = app.clock.monotonic() + Math.min(timeoutMs, MAX_HELD_MS)
  using watch = app.store.watch(feedTopic(id))
  for (;;) {
    const build = await getBuild(app, id)
    const rest = until - app.clock.monotonic()
    if (isFinalBuild(build.status) || rest <= 0 || signal.aborted) return build
    await watch.next(Math.min(rest, app.store.pollMs), signal)
  }
}

function streams(app: App): Route[] {
  return [
    route('GET', '/v1/builds/{id}/feed', {
      summary: 'Read events and log of a build from a position on',
      allow: 'viewer',
      params: ById,
      query: z.object({ after: Position, limit: z.coerce.number().int().min(1).max(1000).default(200) }),
      replies: { 200: z.object({ items: z.array(FeedItem), next: z.int() }) },
      async handle({ params, query }) {
        await getBuild(app, params.id)
        const items = await readFeed(app.store, app.logs, params.id, query)
        return ok({ items, next: items.at(-1)?.position ?? query.after })
      },
    }),
    route('GET', '/v1/builds/{id}/follow', {
      summary: 'Follow events and log of a build (server-sent events; resume by Last-Event-ID)',
      allow: 'viewer',
      params: ById,
      query: z.object({ after: Position }),
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, headers, reply, signal }) {
        await getBuild(app, params.id)
        const last = Number(headers['last-event-id'])
        await follow(app, reply, {
          buildId: params.id,
          after: Number.isSafeInteger(last) && last > 0 ? last : query.after,
          signal,
        })
        return 'stream'
      },
    }),
    route('GET', '/v1/builds/{id}/log', {
      summary: 'Read the log of a build: one stream, or all in order',
      allow: 'viewer',
      params: ById,
      query: LogQuery,
      replies: { 200: 'text', 206: 'text' },
      isHeld: true,
      async handle({ params, query, headers, reply, signal }) {
        await getBuild(app, params.id)
        await serveLog(app, { buildId: params.id, query, range: headers.range, reply, signal })
        return 'stream'
      },
    }),
  ]
}
