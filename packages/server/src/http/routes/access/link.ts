/** Links for people without an account, what they show, and badges. */
import {
  BadgeLinkInput,
  BuildLinkInput,
  Id,
  Link,
  LINK_HEADER,
  LinkCreated,
  page,
  PageQuery,
  SharedBuild,
  SharedLogQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { readBadge, type BadgeImage, type BadgeRequest } from '../../../links/badge.ts'
import { createBadgeLink, createBuildLink, listLinkPage, removeLink } from '../../../links/links.ts'
import { describeShared, requireShown } from '../../../links/shared-build.ts'
import { serveLog } from '../../../logs/serve.ts'
import { created, done, ok, route, type Answer, type Call, type Route } from '../../route.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { NO_STORE } from './session.ts'

const ById = z.object({ id: Id })
/** Wrong links per minute and address. */
const LINKS_PER_MINUTE = 60
const Part = z.string().min(1).max(160)
export const BadgeQuery = z.object({ branch: z.string().max(500).optional(), token: z.string().max(300).optional() })

export function linkRoutes(app: App): Route[] {
  return [...manage(app), ...shared(app), ...badges(app)]
}

function manage(app: App): Route[] {
  const answer = (link: LinkCreated): Answer => created(link, NO_STORE)
  return [
    route('POST', '/v1/builds/{id}/links', {
      summary: 'Create a link that shows the status and log of a build without an account, until it ends or is deleted',
      allow: 'share-builds',
      scope: 'build:write',
      project: 'build',
      params: ById,
      body: BuildLinkInput,
      replies: { 201: LinkCreated },
      handle: async ({ params, body, actor, settle }) =>
        answer(await createBuildLink(app, params.id, { actor, ...body, within: (tx, link) => settle(tx, answer(link)) })),
    }),
    route('POST', '/v1/pipelines/{name}/badge-links', {
      summary: 'Create an address of the badge of a pipeline that is not public',
      allow: 'share-builds',
      scope: 'build:write',
      project: 'pipeline',
      params: ByName,
      body: BadgeLinkInput,
      replies: { 201: LinkCreated },
      handle: async ({ params, body, actor, settle }) =>
        answer(await createBadgeLink(app, params.name, { actor, ...body, within: (tx, link) => settle(tx, answer(link)) })),
    }),
    route('GET', '/v1/links', {
      summary: 'List links, oldest first',
      allow: 'share-builds',
      scope: 'build:read',
      project: 'handler',
      query: PageQuery,
      replies: { 200: page(Link) },
      async handle({ query: { cursor, limit }, actor }) {
        const items = await listLinkPage(app, actor, { after: cursor, limit })
        return ok({ items, ...present({ next: items.length === limit ? items.at(-1)?.id : undefined }) })
      },
    }),
    route('DELETE', '/v1/links/{id}', {
      summary: 'Delete a link, which is refused from then on',
      allow: 'share-builds',
      scope: 'build:write',
      project: 'handler',
      params: ById,
      replies: { 204: 'nothing' },
      async handle({ params, actor }) {
        await removeLink(app, actor, params.id)
        return done
      },
    }),
  ]
}

/** Returns the secret of the link in a header, so that it is in no address. */
function linkIn({ headers }: Pick<Call<unknown, unknown, unknown>, 'headers'>): string | undefined {
  const link = headers[LINK_HEADER]
  return typeof link === 'string' ? link : undefined
}

function shared(app: App): Route[] {
  return [
    route('GET', '/v1/shared/builds/{id}', {
      summary: 'Show a build with a link (header x-windlass-link), or a build of a public pipeline',
      allow: 'public',
      scope: 'none',
      params: ById,
      perMinute: LINKS_PER_MINUTE,
      replies: { 200: SharedBuild },
      handle: async (call) => ok(await describeShared(app, await requireShown(app, call.params.id, linkIn(call))), NO_STORE),
    }),
    route('GET', '/v1/shared/builds/{id}/log', {
      summary: 'Read the log of a build with a link (header x-windlass-link), or of a build of a public pipeline',
      allow: 'public',
      scope: 'none',
      params: ById,
      query: SharedLogQuery,
      perMinute: LINKS_PER_MINUTE,
      replies: { 200: 'text', 206: 'text' },
      isHeld: true,
      async handle(call) {
        const { params, query, headers, actor, reply, signal } = call
        const { build } = await requireShown(app, params.id, linkIn(call))
        using _reader = app.readers.take(actor, 1, reply.request.ip)
        await serveLog(app, { build, query, range: headers.range, reply, signal })
        return 'stream'
      },
    }),
  ]
}

function badges(app: App): Route[] {
  const summary = 'Badge with the status of the latest build of a pipeline, as SVG; needs a token unless the pipeline is public'
  const replies = { 200: 'text', 404: 'text' } as const
  return [
    route('GET', '/badges/{name}', {
      summary,
      allow: 'public',
      scope: 'none',
      params: z.object({ name: Part }),
      query: BadgeQuery,
      replies,
      handle: ({ params, query }) => badge(app, { pipeline: params.name, ...optional(query) }),
    }),
    route('GET', '/badges/{project}/{name}', {
      summary,
      allow: 'public',
      scope: 'none',
      params: z.object({ project: Part, name: Part }),
      query: BadgeQuery,
      replies,
      handle: ({ params, query }) => badge(app, { pipeline: `${params.project}/${params.name}`, ...optional(query) }),
    }),
  ]
}

function optional({ branch, token }: z.output<typeof BadgeQuery>): Pick<BadgeRequest, 'branch' | 'token'> {
  return { branch, token }
}

async function badge(app: App, request: BadgeRequest): Promise<Answer> {
  return toAnswer(await readBadge(app, { ...request, pipeline: request.pipeline.replace(/\.svg$/, '') }))
}

/** Image proxies of forges keep images unless they are told to ask again. */
export function toAnswer({ isFound, svg }: BadgeImage): Answer {
  const headers = {
    'content-type': 'image/svg+xml; charset=utf-8',
    'cache-control': 'no-cache, max-age=0',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  return { status: isFound ? 200 : 404, body: svg, headers }
}
