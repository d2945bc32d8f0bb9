/** Contexts and agents. */
import { Agent, AgentCreated, AgentInput, Context, ContextInput, page } from '@windlass/protocol'
import { createAgent, listShownAgents, removeAgent, replaceAgent, showAgent } from '../agents/agents.ts'
import type { App } from '../app.ts'
import { requireFound } from '../builds/require-found.ts'
import { toContext } from '../contexts/context-data.ts'
import { listShownContexts, putContext, removeContext } from '../contexts/contexts.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { findAgent } from '../store/agents.ts'
import { findContext } from '../store/contexts.ts'
import { ByName } from './pipeline-routes.ts'
import { created, done, ok, route, type Route } from './route.ts'

export function contextRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/contexts', {
      summary: 'List contexts',
      allow: 'viewer',
      replies: { 200: page(Context) },
      handle: async () => ok({ items: await listShownContexts(app) }),
    }),
    route('POST', '/v1/contexts', {
      summary: 'Create a context',
      allow: 'admin',
      body: ContextInput,
      replies: { 201: Context },
      handle: async ({ body }) => created((await putContext(app, { input: body, mustBeNew: true })).context),
    }),
    route('GET', '/v1/contexts/{name}', {
      summary: 'Show a context; secret fields are masked',
      allow: 'viewer',
      params: ByName,
      replies: { 200: Context },
      handle: async ({ params }) =>
        ok(toContext(requireFound(await findContext(app.store.query, app.accountId, params.name), `context ${params.name}`))),
    }),
    route('PUT', '/v1/contexts/{name}', {
      summary: 'Create or replace a context; fields written as ***** keep their value',
      allow: 'admin',
      params: ByName,
      body: ContextInput,
      replies: { 200: Context, 201: Context },
      async handle({ params, body, headers }) {
        const { context, isNew } = await putContext(app, {
          name: params.name,
          input: body,
          mustBeNew: headers['if-none-match'] === '*',
        })
        return isNew ? created(context) : ok(context)
      },
    }),
    route('DELETE', '/v1/contexts/{name}', {
      summary: 'Delete a context',
      allow: 'admin',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeContext(app, params.name)
        return done
      },
    }),
  ]
}

export function agentResourceRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    route('GET', '/v1/agents', {
      summary: 'List agents',
      allow: 'viewer',
      replies: { 200: page(Agent) },
      handle: async () => ok({ items: await listShownAgents(app) }),
    }),
    route('POST', '/v1/agents', {
      summary: 'Register an agent; the token is answered once',
      allow: 'admin',
      body: AgentInput,
      replies: { 201: AgentCreated },
      handle: async ({ body }) => created(await createAgent(app, body)),
    }),
    route('GET', '/v1/agents/{name}', {
      summary: 'Show an agent',
      allow: 'viewer',
      params: ByName,
      replies: { 200: Agent },
      handle: async ({ params }) =>
        ok(
          await showAgent(
            app,
            requireFound(await findAgent(app.store.query, app.accountId, params.name), `agent ${params.name}`),
          ),
        ),
    }),
    route('PUT', '/v1/agents/{name}', {
      summary: 'Replace the runtimes of an agent',
      allow: 'admin',
      params: ByName,
      body: AgentInput,
      replies: { 200: Agent },
      handle: async ({ params, body }) => ok(await replaceAgent(app, params.name, body)),
    }),
    route('DELETE', '/v1/agents/{name}', {
      summary: 'Remove an agent and revoke its token',
      allow: 'admin',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        authenticator.forget(await removeAgent(app, params.name))
        return done
      },
    }),
  ]
}
