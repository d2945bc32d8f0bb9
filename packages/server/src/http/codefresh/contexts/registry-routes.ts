/** Registries and images for public clients. A registry is a context of type `registry`. */
import { fault } from '@windlass/kit'
import { ContextInput, Name, type Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { listShownContexts, putContext, removeContext } from '../../../contexts/contexts.ts'
import { toImage } from '../../../images/images.ts'
import { findContext } from '../../../store/account/contexts.ts'
import { listImages } from '../../../store/pipelines/images.ts'
import type { ImageRow } from '../../../store/schema/schema.ts'
import { done, ok, requireShape, route, type Answer, type Route } from '../../route.ts'
import { Page, Range, Texts, type Document } from '../documents.ts'
import { nameOf, placesOf } from '../../../identity/actor.ts'

const reads = { allow: 'see-contexts', scope: 'context:read' } as const
const writes = { allow: 'change-contexts', scope: 'context:write' } as const

const RegistryBody = z.object({
  name: Name,
  domain: z.string().min(1).max(500),
  username: z.string().max(1000),
  password: z.string().max(65_536),
  behindFirewall: z.boolean().optional(),
})

const PublicRegistry = z.object({
  _id: z.string(),
  name: z.string(),
  kind: z.literal('standard'),
  provider: z.literal('other'),
  domain: z.string(),
  behindFirewall: z.boolean(),
  default: z.boolean(),
})

/** Engines call registries from their cluster, so a firewall in front of the registry makes no difference. */
function toPublicRegistry({ id, name, isDefault, data }: Context): z.output<typeof PublicRegistry> {
  const domain = typeof data['domain'] === 'string' ? data['domain'] : ''
  return { _id: id, name, kind: 'standard', provider: 'other', domain, behindFirewall: false, default: isDefault }
}

function toInput({ name, domain, username, password }: z.output<typeof RegistryBody>): ContextInput {
  return requireShape(ContextInput, { name, type: 'registry', data: { domain, username, password } })
}

export function publicRegistryRoutes(app: App): Route[] {
  return [
    route('GET', '/api/registries', {
      summary: 'List registries',
      ...reads,
      replies: { 200: z.array(PublicRegistry) },
      handle: async () => ok((await listShownContexts(app)).filter(({ type }) => type === 'registry').map(toPublicRegistry)),
    }),
    route('POST', '/api/registries/test', {
      summary: 'Check the form of a registry. Its credentials are used first by a build: the server does not call registries',
      ...writes,
      body: RegistryBody,
      replies: { 204: 'nothing' },
      async handle({ body }) {
        toInput(body)
        return done
      },
    }),
    route('POST', '/api/registries', {
      summary: 'Add a registry',
      ...writes,
      body: RegistryBody,
      replies: { 200: PublicRegistry },
      async handle({ body, settle, actor }) {
        const answer = (context: Context): Answer => ok(toPublicRegistry(context))
        const put = { input: toInput(body), mustBeNew: true, by: nameOf(actor) }
        return answer((await putContext(app, put, (tx, context) => settle(tx, answer(context)))).context)
      },
    }),
    route('DELETE', '/api/registries/{id}', {
      summary: 'Remove a registry',
      ...writes,
      params: z.object({ id: z.string().min(1).max(300) }),
      replies: { 204: 'nothing' },
      async handle({ params: { id } }) {
        const { type } = requireFound(await findContext(app.store.query, app.accountId, id), `registry "${id}"`)
        if (type !== 'registry') throw fault('not-found', { message: `Registry "${id}" does not exist.` })
        await removeContext(app, id)
        return done
      },
    }),
    imagesRoute(app),
  ]
}

/** Newest images that are searched. */
const MAX_SEARCHED = 2000

function imagesRoute(app: App): Route {
  return route('GET', '/api/images', {
    summary: 'List images of builds, newest first, of all registries',
    allow: 'see-builds',
    scope: 'build:read',
    project: 'handler',
    query: Range.extend({
      tag: Texts,
      sha: z.string().max(300).optional(),
      /** Part of the name. */
      imageDisplayNameRegex: Texts,
      'filter[internalImageId]': z.string().max(300).optional(),
    }),
    replies: { 200: Page },
    async handle({ query: { limit, offset, tag, sha, imageDisplayNameRegex: name, 'filter[internalImageId]': id }, actor }) {
      const rows = await listImages(app.store.query, {
        accountId: app.accountId,
        places: placesOf(actor, 'see-builds'),
        limit: MAX_SEARCHED,
      })
      const isFound = (row: ImageRow): boolean => {
        const { tags, digest, imageId } = toImage(row)
        const isNamed = name === undefined || [name].flat().some((part) => row.name.includes(part))
        const isTagged = tag === undefined || [tag].flat().some((one) => tags.includes(one))
        const isThis = id === undefined || withoutAlgorithm(imageId).startsWith(withoutAlgorithm(id))
        return isNamed && isTagged && isThis && (sha === undefined || digest === sha)
      }
      const found = rows.filter(isFound)
      return ok({ docs: found.slice(offset, offset + limit).map(toPublicImage), count: found.length })
    },
  })
}

function withoutAlgorithm(imageId: string): string {
  return imageId.replace(/^sha256:/, '')
}

function toPublicImage(row: ImageRow): z.output<typeof Document> {
  const { id, imageId, name, createdAt, sizeBytes = 0, digest = '', tags } = toImage(row)
  const [registry = '', ...path] = name.split('/')
  const repository = path.join('/')
  return {
    _id: id,
    internalImageId: withoutAlgorithm(imageId),
    imageDisplayName: name,
    created: new Date(createdAt).toISOString(),
    size: sizeBytes,
    sha: digest,
    metadata: {},
    repoDigest: digest === '' ? '' : `${name}@${digest}`,
    tags: tags.map((tag) => ({ _id: `${id}-${tag}`, tag, registry, repository })),
  }
}
