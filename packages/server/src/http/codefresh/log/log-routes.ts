/** Routes of logs for public clients: where the log of a build is, its status, and the whole log as one document. */
import { fault } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { Id } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { terminateBuild } from '../../../builds/lifecycle/ends/terminate.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { calledUrl } from '../../../tasks/engine-url.ts'
import { hidden, nameOf, placesOf, requireRight, type Actor } from '../../../identity/actor.ts'
import { placeOf } from '../../../store/places.ts'
import { requireChild } from '../../routes/builds/build.ts'
import { done, ok, route, type Call, type Route } from '../../route.ts'
import { serveArchive } from './archive.ts'
import { LOG_PREFIX, logUrl } from './log-host.ts'
import { LINK_MS, requireLogRight, signLogRight, SOCKET_MS } from './log-right.ts'

const ById = z.object({ id: Id })
const Right = z.string().min(1).max(1000)
const NO_STORE = { 'cache-control': 'no-store' }

const reads = { allow: 'see-logs', scope: 'build:read' } as const

/** The id of the progress of a build is the id of the build. */
export function logRoutes(app: App): Route[] {
  return [...progressRoutes(app), ...linkRoutes(app)]
}

function progressRoutes(app: App): Route[] {
  return [
    route('GET', '/api/progress/{id}', {
      summary: 'Show where the log of a build is: a socket while it runs, a link when it has ended',
      ...reads,
      project: 'build',
      params: ById,
      replies: { 200: z.looseObject({}) },
      async handle({ params, actor, ...call }) {
        const build = await getBuild(app, params.id)
        const base = baseUrl(app, call)
        const isLive = !isFinalBuild(build.status) && logUrl(base) !== undefined
        const location = isLive
          ? { type: 'firebase' }
          : { type: 'archive', url: await archiveLink(app, { base, actor, id: build.id }) }
        const { id, status } = build
        return ok({ _id: id, account: app.accountId, workflowId: id, status, location }, NO_STORE)
      },
    }),
    route('DELETE', '/api/progress/{id}', {
      summary: 'Terminate a build; does nothing if it has ended',
      allow: 'end-builds',
      scope: 'build:write',
      project: 'build',
      params: ById,
      replies: { 204: 'nothing' },
      async handle({ params: { id }, actor }) {
        if (actor.kind === 'build') await requireChild(app, id, actor.buildId)
        if (!isFinalBuild((await getBuild(app, id)).status)) await terminateBuild(app, id, nameOf(actor))
        return done
      },
    }),
    route('GET', '/api/user/firebaseAuth', {
      summary: 'Create a token for the log socket of a build',
      ...reads,
      project: 'handler',
      query: z.object({ progressId: Id }),
      replies: { 200: z.object({ accessToken: z.string(), url: z.string(), newStructure: z.literal(true) }) },
      async handle({ query, actor, ...call }) {
        const buildId = await requireLogOf(app, actor, query.progressId)
        const url = logUrl(baseUrl(app, call))
        if (url === undefined)
          throw fault('not-supported', {
            message: 'Public clients cannot use the log socket at the URL of this server.',
            hint: 'Use a host name with three labels, such as ci.example.com, or read the log when the build has ended.',
          })
        const accessToken = await signLogRight(app, { actor, buildId, lifeMs: SOCKET_MS })
        return ok({ accessToken, url, newStructure: true }, NO_STORE)
      },
    }),
  ]
}

/** Routes that clients call without their key. */
function linkRoutes(app: App): Route[] {
  return [
    route('GET', `/${LOG_PREFIX}/{id}/status.json`, {
      summary: 'Show the status of a build to a reader of its log',
      allow: 'public',
      scope: 'none',
      params: ById,
      query: z.object({ auth: Right }),
      replies: { 200: 'text' },
      async handle({ params, query }) {
        await requireLogRight(app, params.id, query.auth)
        const { status } = await getBuild(app, params.id)
        return ok(JSON.stringify(status), { 'content-type': 'application/json', ...NO_STORE })
      },
    }),
    route('GET', `/${LOG_PREFIX}/{id}/archive.json`, {
      summary: 'Read the whole log of a build; held until the build has ended',
      allow: 'public',
      scope: 'none',
      params: ById,
      query: z.object({ right: Right }),
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ params, query, reply, signal }) {
        const { actor } = await requireLogRight(app, params.id, query.right)
        using _reader = app.readers.take(actor)
        await serveArchive(app, { buildId: params.id, reply, signal })
        return 'stream'
      },
    }),
  ]
}

interface Link {
  readonly base: string
  readonly actor: Call<unknown, unknown, unknown>['actor']
  readonly id: string
}

async function archiveLink(app: App, { base, actor, id }: Link): Promise<string> {
  const right = await signLogRight(app, { actor, buildId: id, lifeMs: LINK_MS })
  return `${base}/${LOG_PREFIX}/${id}/archive.json?right=${encodeURIComponent(right)}`
}

/** Returns the base URL at which the caller reaches this server. */
function baseUrl(app: App, { reply, headers }: Pick<Call<unknown, unknown, unknown>, 'reply' | 'headers'>): string {
  return app.configuredUrl ?? calledUrl(reply.request.protocol, headers.host) ?? app.advertisedUrl()
}

/** Returns the id of a build whose log the caller may read. Throws `forbidden`, and `not-found`, also for a build that the caller must not know. */
async function requireLogOf(app: App, actor: Actor, id: string): Promise<string> {
  const build = await findBuild(app.store.query, app.accountId, id)
  if (build === undefined && placesOf(actor, reads.allow) !== undefined) throw hidden()
  const found = requireFound(build, `build ${id}`)
  requireRight(actor, reads.allow, placeOf(found))
  return found.id
}

async function getBuild(app: App, id: string): Promise<BuildRow> {
  return requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
}
