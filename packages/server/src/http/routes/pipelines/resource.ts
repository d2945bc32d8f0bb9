/** Routes of contexts. */
import { Context, ContextCheck, ContextCheckInput, ContextInput, page } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { checkContext, showContextChecks } from '../../../contexts/check-context.ts'
import { showContext } from '../../../contexts/context-use.ts'
import { listShownContexts, putContext, removeContext } from '../../../contexts/contexts.ts'
import { nameOf } from '../../../identity/actor.ts'
import { readRuntimeAccess } from '../../../runtimes/access.ts'
import { ByName } from './pipeline.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

export function contextRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/contexts', {
      summary: 'List contexts',
      allow: 'see-contexts',
      scope: 'context:read',
      replies: { 200: page(Context) },
      handle: async () => ok({ items: await listShownContexts(app) }),
    }),
    route('POST', '/v1/contexts', {
      summary: 'Create a context',
      allow: 'change-contexts',
      scope: 'context:write',
      readsDocument: true,
      body: ContextInput,
      replies: { 201: Context },
      async handle({ body, settle, actor }) {
        const put = { input: body, mustBeNew: true, by: nameOf(actor) }
        return created((await putContext(app, put, (tx, context) => settle(tx, created(context)))).context)
      },
    }),
    route('GET', '/v1/contexts/{name}', {
      summary: 'Show a context and the pipelines that use it; secret fields are masked',
      allow: 'see-contexts',
      scope: 'context:read',
      params: ByName,
      replies: { 200: Context },
      handle: async ({ params }) => ok(await showContext(app, params.name)),
    }),
    route('PUT', '/v1/contexts/{name}', {
      summary: 'Create or replace a context; fields written as ***** keep their value',
      allow: 'change-contexts',
      scope: 'context:write',
      params: ByName,
      readsDocument: true,
      body: ContextInput,
      replies: { 200: Context, 201: Context },
      async handle({ params, body, headers, actor }) {
        const { context, isNew } = await putContext(app, {
          name: params.name,
          input: body,
          mustBeNew: headers['if-none-match'] === '*',
          by: nameOf(actor),
        })
        return isNew ? created(context) : ok(context)
      },
    }),
    route('GET', '/v1/contexts/{name}/checks', {
      summary: 'List the last check of a context by the agent of each runtime, the latest first',
      allow: 'see-contexts',
      scope: 'context:read',
      params: ByName,
      replies: { 200: page(ContextCheck) },
      async handle({ params, actor }) {
        const access = await readRuntimeAccess(app, app.store.query, actor)
        return ok({ items: await showContextChecks(app, params.name, access) })
      },
    }),
    route('POST', '/v1/contexts/{name}/check', {
      summary:
        'Let the agent of a runtime check where a context leads and whether its login is accepted, and wait shortly for the result',
      allow: 'change-contexts',
      scope: 'context:write',
      params: ByName,
      body: ContextCheckInput,
      replies: { 200: ContextCheck },
      isHeld: true,
      async handle({ params, body: { runtime }, actor, signal }) {
        const access = await readRuntimeAccess(app, app.store.query, actor)
        return ok(await checkContext(app, params.name, { runtime, by: nameOf(actor), access, signal }))
      },
    }),
    route('DELETE', '/v1/contexts/{name}', {
      summary: 'Delete a context',
      allow: 'change-contexts',
      scope: 'context:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeContext(app, params.name)
        return done
      },
    }),
  ]
}
