/** Data that public clients store with a build and read again, such as a report. */
import { Id } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { addBuildData, openBuildData } from '../../../builds/lifecycle/build-data.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { requireRight } from '../../../identity/actor.ts'
import { findBuildData, listBuildData } from '../../../store/builds/build-data.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import { placeOf } from '../../../store/places.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { ok, route, type Answer, type Route } from '../../route.ts'

const MAX_BYTES = 262_144

const ById = z.object({ id: Id })
const Item = z.object({
  _id: z.string(),
  metadata: z.object({ createdAt: z.string() }),
  /** Absent unless it was asked for. */
  data: z.record(z.string(), z.unknown()).optional(),
})

export function buildDataRoutes(app: App): Route[] {
  const get = async (id: string): Promise<BuildRow> =>
    requireFound(await findBuild(app.store.query, app.accountId, id), `build "${id}"`)
  return [
    route('POST', '/api/workflow/{id}/data', {
      summary: 'Store data with a build, encrypted; at most 100 items of 256 KiB',
      allow: 'annotate',
      scope: 'build:write',
      project: 'build',
      params: ById,
      body: z.record(z.string(), z.unknown()),
      maxBodyBytes: MAX_BYTES,
      replies: { 200: z.object({ _id: z.string() }) },
      async handle({ params, body, settle }) {
        const answer = (id: string): Answer => ok({ _id: id })
        const { id } = await get(params.id)
        return answer(await addBuildData(app, id, body, (tx, item) => settle(tx, answer(item))))
      },
    }),
    route('GET', '/api/workflow/{id}/data', {
      summary: 'List the data items of a build, without their data',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById,
      replies: { 200: z.object({ docs: z.array(Item) }) },
      async handle({ params }) {
        const rows = await listBuildData(app.store.query, (await get(params.id)).id)
        return ok({
          docs: rows.map(({ id, created_at: at }) => ({ _id: id, metadata: { createdAt: new Date(at).toISOString() } })),
        })
      },
    }),
    route('GET', '/api/workflow/{id}/data/{item}', {
      summary: 'Show a data item of a build, with `decrypt` its data for those who may store some',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'build',
      params: ById.extend({ item: Id }),
      query: z.object({ decrypt: z.enum(['true', 'false']).default('false') }),
      replies: { 200: Item },
      async handle({ params, query: { decrypt }, actor }) {
        const build = await get(params.id)
        const row = requireFound(
          await findBuildData(app.store.query, build.id, params.item),
          `data item "${params.item}" of the build`,
        )
        const shown = { _id: row.id, metadata: { createdAt: new Date(row.created_at).toISOString() } }
        if (decrypt === 'false') return ok(shown)
        requireRight(actor, 'annotate', placeOf(build))
        return ok({ ...shown, data: openBuildData(app, row) })
      },
    }),
  ]
}
