/** Contexts for public clients. Secret fields are always masked, also if a client asks for their values. */
import { ContextInput, Name, type Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { nameOf } from '../../../identity/actor.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { toContext } from '../../../contexts/context-data.ts'
import { listShownContexts, putContext, removeContext } from '../../../contexts/contexts.ts'
import { findContext } from '../../../store/account/contexts.ts'
import { done, ok, requireShape, route, type Answer, type Route } from '../../route.ts'
import { fromPublicType, isOfType } from './context-types.ts'
import { Document, Texts } from '../documents.ts'

const ByName = z.object({ name: Name })
const reads = { allow: 'see-contexts', scope: 'context:read' } as const
const writes = { allow: 'change-contexts', scope: 'context:write' } as const

const Type = z.string().max(100)
const Data = z.record(z.string(), z.unknown())
const ContextBody = z.object({
  metadata: z.looseObject({ name: Name, default: z.boolean().optional() }),
  spec: z.looseObject({ type: Type, data: Data.default({}) }),
})
/** A change. Absent fields keep their value. */
const ContextChange = z.object({
  metadata: z.looseObject({ name: Name.optional(), default: z.boolean().optional() }).default({}),
  spec: z.looseObject({ type: Type.optional(), data: Data.optional() }).default({}),
})

function toPublicContext({ name, type, isDefault, data }: Context): Record<string, unknown> {
  return { apiVersion: 'v1', kind: 'context', metadata: { name, default: isDefault, system: false }, spec: { type, data } }
}

function toInput({ metadata, spec }: z.output<typeof ContextBody>): ContextInput {
  const { type, data } = fromPublicType(spec.type, spec.data)
  return requireShape(ContextInput, { name: metadata.name, type, isDefault: metadata.default ?? false, data })
}

export function publicContextRoutes(app: App): Route[] {
  return [...readRoutes(app), ...writeRoutes(app)]
}

async function getContext(app: App, name: string): Promise<Context> {
  return toContext(requireFound(await findContext(app.store.query, app.accountId, name), `context "${name}"`))
}

function readRoutes(app: App): Route[] {
  return [
    route('GET', '/api/contexts', {
      summary: 'List contexts; secret fields are masked',
      ...reads,
      query: z.object({ type: Texts }),
      replies: { 200: z.array(Document) },
      async handle({ query: { type } }) {
        const types = type === undefined ? undefined : [type].flat()
        const isWanted = (one: Context): boolean => types === undefined || types.some((wanted) => isOfType(one.type, wanted))
        return ok((await listShownContexts(app)).filter(isWanted).map(toPublicContext))
      },
    }),
    route('GET', '/api/contexts/{name}', {
      summary: 'Show a context; secret fields are masked',
      ...reads,
      params: ByName,
      replies: { 200: Document },
      handle: async ({ params }) => ok(toPublicContext(await getContext(app, params.name))),
    }),
  ]
}

function writeRoutes(app: App): Route[] {
  const common = { ...writes, readsDocument: true, replies: { 200: Document } } as const
  return [
    // Clients send the slash at the end.
    route('POST', '/api/contexts/', {
      summary: 'Create a context',
      ...common,
      body: ContextBody,
      async handle({ body, settle, actor }) {
        const answer = (context: Context): Answer => ok(toPublicContext(context))
        const put = { input: toInput(body), mustBeNew: true, by: nameOf(actor) }
        return answer((await putContext(app, put, (tx, context) => settle(tx, answer(context)))).context)
      },
    }),
    route('PUT', '/api/contexts/{name}', {
      summary: 'Replace a context; fields written as ***** keep their value',
      ...common,
      params: ByName,
      body: ContextBody,
      async handle({ params: { name }, body, actor }) {
        await getContext(app, name)
        const put = { name, input: toInput(body), mustBeNew: false, by: nameOf(actor) }
        return ok(toPublicContext((await putContext(app, put)).context))
      },
    }),
    route('PATCH', '/api/contexts/{name}', {
      summary: 'Change fields of a context and keep the others',
      ...common,
      params: ByName,
      body: ContextChange,
      async handle({ params: { name }, body: { metadata, spec }, actor }) {
        const before = await getContext(app, name)
        const changed = fromPublicType(spec.type ?? before.type, spec.data ?? {})
        const data = changed.type === before.type ? { ...before.data, ...changed.data } : changed.data
        const isDefault = metadata.default ?? before.isDefault
        const input = requireShape(ContextInput, { name: metadata.name ?? before.name, type: changed.type, isDefault, data })
        return ok(toPublicContext((await putContext(app, { name, input, mustBeNew: false, by: nameOf(actor) })).context))
      },
    }),
    route('DELETE', '/api/contexts/{name}', {
      summary: 'Delete a context',
      ...writes,
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeContext(app, params.name)
        return done
      },
    }),
  ]
}
