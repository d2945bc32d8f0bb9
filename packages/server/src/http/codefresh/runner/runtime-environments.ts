/** Routes through which the Codefresh CLI and chart read and write runtime environments. They map to the same functions as `/v1`. */
import { defined, fault } from '@windlass/kit'
import { BASE_PREFIX, RuntimeInput, RuntimeLayerInput, spellLayer, type Runtime, type RuntimeLayer } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { readSpec } from '../../../builds/schedule/limits.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { isAllowed, nameOf, type Actor } from '../../../identity/actor.ts'
import { readRuntimeAccess, requireRuntimeAccess } from '../../../runtimes/access.ts'
import { getBase, listBases, putBase, removeBase, type BaseLayer } from '../../../runtimes/base-layers.ts'
import { hideOperatorFields } from '../../../runtimes/operator-fields.ts'
import { makeDefault, putRuntime, removeRuntime } from '../../../runtimes/runtimes.ts'
import { listShownRuntimes } from '../../../runtimes/show-runtimes.ts'
import { listVersions, showVersion } from '../../../runtimes/versions.ts'
import { findRuntime } from '../../../store/runtimes/runtimes.ts'
import { done, ok, route, type Route } from '../../route.ts'
import { imagesOf } from '../../routes/runtimes/runtime.ts'

const ByName = z.object({ name: z.string().min(1).max(300) })
const ByPlan = ByName.extend({ plan: z.string().min(1).max(100) })
const Document = z.looseObject({})
const Flag = z.stringbool().optional()
const Listing = z.object({
  limit: z.coerce.number().int().min(0).max(1000).default(1000),
  offset: z.coerce.number().int().min(0).default(0),
})
const Reading = z.object({ version: z.coerce.number().int().positive().optional(), extend: Flag, history: Flag })
const Writing = z.object({
  extend: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().max(1000).optional(),
})
const read = { allow: 'see-runners', scope: 'runtime:read' } as const
const write = { allow: 'manage-runners', scope: 'runtime:write' } as const

/** Fields that the server adds to a document and that clients send back. */
const ECHOED = [
  '_id',
  'id',
  '__v',
  'version',
  'metadata',
  'history',
  'isDefault',
  'default',
  'created',
  'lastUpdated',
  'kind',
  'apiVersion',
]

/**
 * Converts a document to a layer. Unknown fields are kept, because documents may come from other versions of the chart. Throws `request-invalid` for
 * known fields of a wrong shape.
 */
function toLayer(body: Readonly<Record<string, unknown>>): RuntimeLayer {
  const own = Object.fromEntries(Object.entries(body).filter(([key]) => !ECHOED.includes(key)))
  const parsed = RuntimeLayerInput.safeParse(own)
  const problems = (parsed.error?.issues ?? [])
    .filter(({ code }) => code !== 'unrecognized_keys')
    .map(({ path, message }) => ({ path: path.join('.'), message }))
  const [first] = problems
  if (first !== undefined) throw fault('request-invalid', { message: `${first.path}: ${first.message}`, problems })
  return parsed.data ?? Document.parse(spellLayer(own))
}

function toDocument(app: App, runtime: Runtime): Record<string, unknown> {
  const { id, name, version, changedBy, updatedAt, createdAt, isDefault, spec } = runtime
  return {
    ...spec,
    _id: id,
    version,
    metadata: {
      name,
      agent: runtime.type === 'kubernetes',
      changedBy,
      creationTime: new Date(createdAt).toISOString(),
      updatedAt: new Date(updatedAt).toISOString(),
    },
    accountId: spec['accountId'] ?? app.accountId,
    isDefault,
    default: isDefault,
  }
}

function toBase({ name, version, changedBy, layer }: BaseLayer): Record<string, unknown> {
  return { ...layer, version, metadata: { name, agent: false, changedBy }, isPublic: true }
}

function visibleTo(document: Record<string, unknown>, actor: Actor): Record<string, unknown> {
  return isAllowed(actor, 'manage-runners') ? document : { ...hideOperatorFields(document) }
}

/** Replaces the runtime's own layer with the document. Creates the runtime if it does not exist. */
async function putDocument(
  app: App,
  name: string,
  { body, query, actor }: { body: z.output<typeof Document>; query: z.output<typeof Writing>; actor: Actor },
): Promise<Record<string, unknown>> {
  const before = await findRuntime(app.store.query, app.accountId, name)
  const parents = query.extend === undefined ? {} : { extends: [query.extend].flat() }
  const shell = RuntimeInput.parse({
    name,
    ...(before !== undefined && { type: before.type }),
    ...(typeof before?.agent === 'string' && { agent: before.agent }),
  })
  const { runtime } = await putRuntime(app, {
    input: { ...shell, spec: { ...parents, ...toLayer(body) } },
    changedBy: nameOf(actor),
    description: query.description,
  })
  return toDocument(app, runtime)
}

async function showDocument(
  app: App,
  name: string,
  { version, extend, history }: z.output<typeof Reading>,
): Promise<Record<string, unknown> | Record<string, unknown>[]> {
  if (name.startsWith(BASE_PREFIX)) return toBase(await getBase(app, name, { merged: extend === true }))
  const runtime = await showVersion(app, name, { version, merged: extend === true })
  if (history !== true) return toDocument(app, runtime)
  return (await listVersions(app, name)).map(({ description, createdAt, ...kept }) => ({
    ...toDocument(app, { ...runtime, ...kept, updatedAt: createdAt }),
    ...defined({ changeDescription: description }),
  }))
}

export function runtimeEnvironmentRoutes(app: App): Route[] {
  return [...readingRoutes(app), ...writingRoutes(app), ...baseRoutes(app), ...planRoutes(app)]
}

function readingRoutes(app: App): Route[] {
  return [
    route('GET', '/api/runtime-environments', {
      summary: 'List runtime environments',
      ...read,
      query: Listing,
      replies: { 200: z.array(Document) },
      async handle({ query: { limit, offset }, actor }) {
        const all = await listShownRuntimes(app, await readRuntimeAccess(app, app.store.query, actor))
        return ok(all.slice(offset, offset + limit).map((runtime) => visibleTo(toDocument(app, runtime), actor)))
      },
    }),
    route('GET', '/api/runtime-environments/{name}', {
      summary: 'Show a runtime environment: its own layer, merged with extend, all versions with history',
      ...read,
      params: ByName,
      query: Reading,
      replies: { 200: z.union([z.array(Document), Document]) },
      async handle({ params, query, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const found = await showDocument(app, params.name, query)
        return ok(Array.isArray(found) ? found.map((each) => visibleTo(each, actor)) : visibleTo(found, actor))
      },
    }),
    route('GET', '/api/runtime-environments/{name}/base-images', {
      summary: 'List the images that a runtime environment uses for builds',
      ...read,
      params: ByName,
      replies: { 200: z.array(z.object({ component: z.string(), image: z.string() })) },
      async handle({ params, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const row = requireFound(await findRuntime(app.store.query, app.accountId, params.name), `runtime "${params.name}"`)
        return ok(imagesOf(readSpec(row)))
      },
    }),
  ]
}

function writingRoutes(app: App): Route[] {
  return [
    route('PUT', '/api/runtime-environments/{name}', {
      summary: 'Create a runtime environment, or replace its own layer',
      ...write,
      params: ByName,
      query: Writing,
      body: Document,
      replies: { 200: Document },
      handle: async ({ params, query, body, actor }) => ok(await putDocument(app, params.name, { query, body, actor })),
    }),
    route('DELETE', '/api/runtime-environments/{name}', {
      summary: 'Delete a runtime environment; force: also the default one',
      ...write,
      params: ByName,
      query: z.object({ force: Flag }),
      replies: { 204: 'nothing' },
      async handle({ params, query, actor }) {
        await removeRuntime(app, params.name, { ...query, by: nameOf(actor) })
        return done
      },
    }),
    route('PUT', '/api/runtime-environments/default/{name}', {
      summary: 'Make it the default runtime environment',
      ...write,
      params: ByName,
      replies: { 200: Document },
      handle: async ({ params }) => ok(toDocument(app, await makeDefault(app, params.name))),
    }),
  ]
}

/** Routes of base layers (on-premises), which runtimes of users extend. */
function baseRoutes(app: App): Route[] {
  const path = '/api/admin/runtime-environments'
  return [
    route('GET', path, {
      summary: 'List the layers that runtime environments extend',
      ...write,
      scope: 'runtime:read',
      query: Listing,
      replies: { 200: z.array(Document) },
      handle: async ({ query: { limit, offset } }) => ok((await listBases(app)).slice(offset, offset + limit).map(toBase)),
    }),
    route('GET', `${path}/{name}`, {
      summary: 'Show a layer that runtime environments extend',
      ...write,
      scope: 'runtime:read',
      params: ByName,
      query: Reading,
      replies: { 200: Document },
      handle: async ({ params, query }) => ok(toBase(await getBase(app, params.name, { merged: query.extend === true }))),
    }),
    route('PUT', `${path}/{name}`, {
      summary: 'Create or replace a layer that runtime environments extend',
      ...write,
      params: ByName,
      query: Writing,
      body: Document,
      replies: { 200: Document },
      async handle({ params, query, body, actor }) {
        const parents = query.extend === undefined ? {} : { extends: [query.extend].flat() }
        const layer = { ...parents, ...toLayer(body) }
        return ok(toBase(await putBase(app, { name: params.name, layer, changedBy: nameOf(actor) })))
      },
    }),
    route('DELETE', `${path}/{name}`, {
      summary: 'Delete a layer; a built-in layer of the same name applies again',
      ...write,
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeBase(app, params.name)
        return done
      },
    }),
    route('PUT', `${path}/account/modify/{name}`, {
      summary: 'Set which accounts may use a runtime environment of the platform',
      ...write,
      params: ByName,
      body: z.object({ accounts: z.array(z.string().max(100)).max(10_000) }),
      replies: { 200: Document },
      async handle({ params, body, actor }) {
        const { layer } = await getBase(app, params.name, { merged: false })
        const changed = { ...layer, accounts: body.accounts }
        return ok(toBase(await putBase(app, { name: params.name, layer: changed, changedBy: nameOf(actor) })))
      },
    }),
  ]
}

/** With a single account, the default of a plan or account is the default of this account. */
function planRoutes(app: App): Route[] {
  return ['default/{plan}/{name}', 'account/default/{plan}/{name}'].map((rest) =>
    route('PUT', `/api/admin/runtime-environments/${rest}`, {
      summary: 'Make it the default runtime environment',
      ...write,
      params: ByPlan,
      replies: { 200: Document },
      handle: async ({ params }) => ok(toDocument(app, await makeDefault(app, params.name))),
    }),
  )
}
