/** Routes through which public clients start, read and steer builds, which they call workflows. */
import { defined, fault } from '@windlass/kit'
import { BUILD_STATUSES } from '@windlass/plan'
import { BuildInput, Id, Name } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { startBuild } from '../../../builds/create/start.ts'
import { decideApproval } from '../../../builds/lifecycle/approve.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { nameOf, placesOf } from '../../../identity/actor.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import { searchBuilds } from '../../../store/builds/lists/search.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { done, ok, route, type Answer, type Call, type Route } from '../../route.ts'
import { RunInput, toBuildInput } from './build-requests.ts'
import { toPublicBuild } from './public-build.ts'

const ById = z.object({ id: Id })
const Texts = z
  .union([z.string().max(500), z.array(z.string().max(500)).max(200)])
  .transform((one) => [one].flat())
  .optional()
const Statuses = z
  .union([z.string(), z.array(z.string()).max(20)])
  .transform((one) => [one].flat())
  .pipe(z.array(z.enum(BUILD_STATUSES)))
  .optional()
/** A day, such as 2026-1-31; its start as epoch milliseconds. */
const Day = z
  .string()
  .regex(/^\d{4}-\d{1,2}-\d{1,2}$/, 'must be a date such as 2026-01-31')
  .transform((text) => {
    const [year = 0, month = 1, day = 1] = text.split('-').map(Number)
    return Date.UTC(year, month - 1, day)
  })
  .optional()
const Repeated = z.object({ reqId: z.string().max(200).optional() })
const Document = z.looseObject({})

const reads = { allow: 'see-builds', scope: 'build:read' } as const
const writes = { allow: 'start-builds', scope: 'build:write' } as const
const DAY_MS = 86_400_000

export function publicBuildRoutes(app: App): Route[] {
  return [...startRoutes(app), ...readRoutes(app), ...decisionRoutes(app)]
}

type Caller = Pick<Call<unknown, unknown, unknown>, 'actor' | 'settle' | 'headers'>

/** Starts a build. The answer is its id as a JSON string: clients would read an unquoted id of digits as a number. */
async function start(
  app: App,
  { actor, settle }: Caller,
  request: z.output<typeof BuildInput>,
  kind: 'manual' | 'restart',
): Promise<Answer> {
  const answer = ({ id }: BuildRow): Answer =>
    ok(JSON.stringify(id), { 'content-type': 'application/json', 'cache-control': 'no-store', location: `/v1/builds/${id}` })
  return answer(await startBuild(app, { actor, request, kind, within: (tx, build) => settle(tx, answer(build)) }))
}

/**
 * Throws `request-invalid` for a GET with effects that a browser may send without its user: a session has other calls for these, and a prefetched link was
 * not followed.
 */
function requireDirect({ actor, headers }: Pick<Caller, 'actor' | 'headers'>): void {
  const isPrefetched = headers['sec-purpose'] !== undefined || headers['purpose'] !== undefined
  if (!isPrefetched && (actor.kind !== 'key' || actor.session === undefined)) return
  throw fault('request-invalid', {
    message: 'This call has effects and is not accepted from a browser.',
    hint: 'Use the calls of /v1, or send an API key.',
  })
}

function startRoutes(app: App): Route[] {
  const common = { ...writes, project: 'handler', readsDocument: true, body: RunInput, replies: { 200: z.string() } } as const
  return [
    route('POST', '/api/pipelines/run/{name}', {
      summary: 'Start a build of a pipeline; returns its id as a JSON string. A repeated `reqId` starts nothing',
      ...common,
      params: z.object({ name: Name }),
      query: Repeated,
      repeatKey: 'reqId',
      handle: (call) => start(app, call, toBuildInput(call.params.name, call.body), 'manual'),
    }),
    route('POST', '/api/pipelines/run', {
      summary: 'Start a build of a document; returns its id as a JSON string',
      ...common,
      query: Repeated,
      repeatKey: 'reqId',
      handle: (call) => start(app, call, toBuildInput(undefined, call.body), 'manual'),
    }),
    route('GET', '/api/builds/rebuild/{id}', {
      summary: 'Run a build again with the same document, variables and commit; returns the id of the new one as a JSON string',
      ...writes,
      project: 'build',
      hasEffect: true,
      params: ById,
      readsDocument: true,
      replies: { 200: z.string() },
      async handle(call) {
        requireDirect(call)
        return start(app, call, BuildInput.parse({ restartOf: call.params.id }), 'restart')
      },
    }),
  ]
}

function readRoutes(app: App): Route[] {
  return [
    route('GET', '/api/builds/{id}', {
      summary: 'Show a build',
      ...reads,
      project: 'build',
      params: ById,
      replies: { 200: Document },
      async handle({ params: { id } }) {
        const row = requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
        return ok(await toPublicBuild(app.store.query, row))
      },
    }),
    route('GET', '/api/workflow', {
      summary: 'List builds, newest first',
      ...reads,
      project: 'handler',
      query: z.object({
        limit: z.coerce.number().int().min(1).max(1000).default(25),
        page: z.coerce.number().int().min(1).max(1_000_000).default(1),
        status: Statuses,
        /** All builds are of the trigger `build`. */
        trigger: Texts,
        pipeline: Texts,
        branchName: Texts,
        revision: Texts,
        pipelineTriggerId: Texts,
        startDate: Day,
        endDate: Day,
      }),
      replies: { 200: z.object({ workflows: z.object({ docs: z.array(Document), count: z.int() }) }) },
      async handle({ query: { limit, page, startDate, endDate, trigger, ...query }, actor }) {
        const { status, pipeline: pipelines, branchName: branches, revision: revisions, pipelineTriggerId: triggerNames } = query
        const isOther = trigger !== undefined && !trigger.includes('build')
        const filter = {
          accountId: app.accountId,
          places: placesOf(actor, 'see-builds'),
          ...defined({ status, pipelines, branches, revisions, triggerNames }),
          ...(startDate !== undefined && { from: startDate }),
          ...(endDate !== undefined && { before: endDate + DAY_MS }),
        }
        const found = isOther
          ? { rows: [], count: 0 }
          : await searchBuilds(app.store.query, filter, { limit, offset: (page - 1) * limit })
        const docs = []
        for (const row of found.rows) docs.push(await toPublicBuild(app.store.query, row))
        return ok({ workflows: { docs, count: found.count } })
      },
    }),
  ]
}

function decisionRoutes(app: App): Route[] {
  const decisions = [
    { verb: 'approve', decision: 'approved' },
    { verb: 'deny', decision: 'denied' },
  ] as const
  return decisions.map(({ verb, decision }) =>
    route('GET', `/api/workflow/{id}/pending-approval/${verb}`, {
      summary: verb === 'approve' ? 'Approve the step that waits for approval' : 'Deny the step that waits for approval',
      allow: 'decide-approvals',
      scope: 'build:write',
      project: 'build',
      hasEffect: true,
      params: ById,
      replies: { 204: 'nothing' },
      async handle(call) {
        requireDirect(call)
        await decideApproval(app, call.params.id, { decision, by: { name: nameOf(call.actor), type: 'user' } })
        return done
      },
    }),
  )
}
