/** Images that builds built or pushed. */
import { Image, ImageQuery, page } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { describeImage, toImage } from '../../../images/images.ts'
import { findImage, listImages } from '../../../store/pipelines/images.ts'
import { findPipeline } from '../../../store/pipelines/pipelines.ts'
import { ok, route, type Route } from '../../route.ts'
import type { Places } from '../../../store/places.ts'

/** The id of the image on this server or on a Docker daemon, its digest, or `name:tag` (with `%2F` for slashes). */
const ByImage = z.object({ id: z.string().min(1).max(500) })

export function imageRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/images', {
      summary: 'List images of builds, newest first',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: ImageQuery,
      replies: { 200: page(Image) },
      handle: async ({ query, actor }) => ok(await listPage(app, query, placesOf(actor, 'see-builds'))),
    }),
    route('GET', '/v1/images/{id}', {
      summary: 'Show an image with its metadata and annotations',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'image',
      params: ByImage,
      replies: { 200: Image },
      async handle({ params }) {
        const { query } = app.store
        const row = requireFound(await findImage(query, app.accountId, params.id), `image "${params.id}"`)
        return ok(await describeImage(query, row))
      },
    }),
  ]
}

async function listPage(
  app: App,
  filter: z.output<typeof ImageQuery>,
  places: Places | undefined,
): Promise<{ items: Image[]; next?: string }> {
  const { query } = app.store
  const { pipeline: name, build: buildId, limit, cursor: before } = filter
  const pipeline =
    name === undefined ? undefined : requireFound(await findPipeline(query, app.accountId, name), `pipeline "${name}"`)
  const rows = await listImages(query, {
    accountId: app.accountId,
    pipelineId: pipeline?.id,
    buildId,
    places,
    name: filter.name,
    before,
    limit,
  })
  return { items: rows.map(toImage), ...present({ next: rows.length === limit ? rows.at(-1)?.id : undefined }) }
}
