/** Routes of the base layers of runtime environments. */
import { page, RuntimeBase, RuntimeBaseInput, RuntimeBaseQuery } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { getBase, listBases, putBase, removeBase, type BaseLayer } from '../../../runtimes/base-layers.ts'
import { nameOf } from '../../../identity/actor.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { done, ok, route, type Route } from '../../route.ts'

/** Only for admins: base layers may have fields of the operator. */
const read = { allow: 'manage-runners', scope: 'runtime:read' } as const
const write = { allow: 'manage-runners', scope: 'runtime:write' } as const

export function runtimeBaseRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtime-bases', {
      summary: 'List the base layers of runtime environments',
      ...read,
      replies: { 200: page(RuntimeBase) },
      handle: async () => ok({ items: (await listBases(app)).map(toBase) }),
    }),
    route('GET', '/v1/runtime-bases/{name}', {
      summary: 'Show a base layer; `merged` includes everything that it extends',
      ...read,
      params: ByName,
      query: RuntimeBaseQuery,
      replies: { 200: RuntimeBase },
      handle: async ({ params, query }) => ok(toBase(await getBase(app, params.name, { merged: query.merged === true }))),
    }),
    route('PUT', '/v1/runtime-bases/{name}', {
      summary: 'Create or replace a base layer',
      ...write,
      params: ByName,
      body: RuntimeBaseInput,
      replies: { 200: RuntimeBase },
      handle: async ({ params, body, actor }) =>
        ok(toBase(await putBase(app, { name: params.name, layer: body.spec, changedBy: nameOf(actor) }))),
    }),
    route('DELETE', '/v1/runtime-bases/{name}', {
      summary: 'Delete a stored base layer; a built-in layer of the same name applies again',
      ...write,
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeBase(app, params.name)
        return done
      },
    }),
  ]
}

function toBase({ name, version, changedBy, layer }: BaseLayer): RuntimeBase {
  return { name, version, changedBy, spec: layer }
}
