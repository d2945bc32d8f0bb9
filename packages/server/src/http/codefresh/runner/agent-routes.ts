/** Routes of agent protocol v1, and of public clients that manage agents. The shapes are documented in `protocol/agent/protocol-v1.ts`. */
import { defined, fault, isFault } from '@windlass/kit'
import { AgentStatus, ProtocolV1Task, ProtocolV1TaskStatus, type Agent } from '@windlass/protocol'
import { z } from 'zod'
import { changeAgent, createAgent, listShownAgents, removeAgent, showAgent } from '../../../agents/agents.ts'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { nameOf, type Actor } from '../../../identity/actor.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import { findAgent, findAgentById } from '../../../store/runtimes/agents.ts'
import type { AgentRow } from '../../../store/schema/schema.ts'
import { calledUrl } from '../../../tasks/engine-url.ts'
import { noteAlive, pollTasks } from '../../../tasks/protocol-v1.ts'
import { takeStatus } from '../../../tasks/protocol-v1-reports.ts'
import { done, ok, route, type Answer, type Route } from '../../route.ts'

/** How long a poll is held while there are no tasks, so that agents get new tasks at once. Milliseconds. */
const HOLD_MS = 10_000

const ByAgent = z.object({ agent: z.string().min(1).max(300) })
const Nothing = 'nothing'

/** Returns the agent of the token. The path may contain its id, or a current or former name. Throws `forbidden` if the path names another agent. */
async function agentOf(app: App, actor: Actor, named: string): Promise<AgentRow> {
  const agent = actor.kind === 'agent' ? await findAgentById(app.store.query, actor.id) : undefined
  if (agent === undefined) throw fault('forbidden')
  if (named === agent.id || named === agent.name) return agent
  if ((await findAgent(app.store.query, app.accountId, named)) !== undefined)
    throw fault('forbidden', { message: `This token belongs to the agent ${agent.name}, not to ${named}.` })
  return agent
}

/** `cf-classic-runner/2.0.10 cf-classic-runtime/10.5.2` -> `2.0.10`. */
function versionIn(userAgent: string | undefined): string | undefined {
  return /^cf-classic-runner\/([\w.+-]{1,50})/.exec(userAgent ?? '')?.[1]
}

export function protocolV1Routes(app: App): Route[] {
  return [
    route('GET', '/api/agent/{agent}/tasks', {
      summary: 'Tasks for an agent of protocol v1',
      allow: 'agent',
      scope: 'none',
      params: ByAgent,
      query: z.object({ waitForStatusReport: z.string().optional() }),
      replies: { 200: z.array(ProtocolV1Task) },
      isHeld: true,
      async handle({ params, query, headers, actor, signal, reply }) {
        const agent = await agentOf(app, actor, params.agent)
        const reports = query.waitForStatusReport === 'true'
        const version = versionIn(headers['user-agent'])
        const serverUrl = calledUrl(reply.request.protocol, headers.host)
        return ok(await pollTasks(app, agent, { reports, version, serverUrl, waitMs: reports ? HOLD_MS : 0, signal }))
      },
    }),
    route('POST', '/api/agent/{agent}/tasks/{task}/statuses', {
      summary: 'Report the result of a task of protocol v1',
      allow: 'agent',
      scope: 'none',
      params: ByAgent.extend({ task: z.string().max(100) }),
      body: ProtocolV1TaskStatus,
      replies: { 204: Nothing },
      async handle({ params, body, actor }) {
        const agent = await agentOf(app, actor, params.agent)
        if (!(await takeStatus(app, agent.id, params.task, body)))
          throw fault('not-found', { message: `Task ${params.task} does not exist.` })
        return done
      },
    }),
    route('PUT', '/api/agent/{agent}/status', {
      summary: 'Report the status of an agent of protocol v1',
      allow: 'agent',
      scope: 'none',
      params: ByAgent,
      body: AgentStatus,
      replies: { 204: Nothing },
      async handle({ params, body, headers, actor, reply }) {
        const agent = await agentOf(app, actor, params.agent)
        const serverUrl = calledUrl(reply.request.protocol, headers.host)
        await noteAlive(app, agent.id, { version: versionIn(headers['user-agent']), serverUrl, message: body.message })
        return done
      },
    }),
  ]
}

const PublicAgent = z.object({
  id: z.string(),
  _id: z.string(),
  name: z.string(),
  account: z.string(),
  runtimes: z.array(z.string()),
  status: z.object({ healthStatus: z.string(), reportedAt: z.string(), message: z.string() }).optional(),
  token: z.string().optional(),
})

function toPublic(agent: Agent): z.output<typeof PublicAgent> {
  const { id, name, accountId: account, runtimes, health: healthStatus, lastSeenAt, message = '' } = agent
  const isKnown = healthStatus !== undefined && lastSeenAt !== undefined
  const status = isKnown ? { healthStatus, reportedAt: new Date(lastSeenAt).toISOString(), message } : undefined
  return { id, _id: id, name, account, runtimes, ...defined({ status }) }
}

export function publicAgentRoutes(app: App, authenticator: Authenticator): Route[] {
  const show = async (name: string): Promise<z.output<typeof PublicAgent>> =>
    toPublic(await showAgent(app, requireFound(await findAgent(app.store.query, app.accountId, name), `agent "${name}"`)))
  const read = { allow: 'see-runners', scope: 'agent:read' } as const
  const write = { allow: 'manage-runners', scope: 'agent:write' } as const
  const Runtimes = z.array(z.string().max(150)).max(500)
  return [
    route('GET', '/api/agents', {
      summary: 'List agents',
      ...read,
      query: z.object({ name: z.string().optional() }),
      replies: { 200: z.array(PublicAgent) },
      handle: async ({ query }) =>
        ok((await listShownAgents(app)).filter(({ name }) => query.name === undefined || name === query.name).map(toPublic)),
    }),
    route('POST', '/api/agents', {
      summary: 'Register an agent; the token is returned only once',
      ...write,
      body: z.object({ name: z.string().min(1).max(150), runtimes: Runtimes.optional() }),
      replies: { 200: PublicAgent },
      async handle({ body: { name, runtimes = [] }, settle }) {
        const answer = (agent: Agent & { token: string }): Answer => ok({ ...toPublic(agent), token: agent.token })
        const within: Parameters<typeof createAgent>[2] = (tx, agent) => settle(tx, answer(agent))
        const agent = await createAgent(app, { name, runtimes }, within).catch((error: unknown) => {
          if (!isFault(error, 'conflict')) throw error
          throw fault('conflict', { message: `Agent name duplication: agent "${name}" already exists.` }, error)
        })
        return answer(agent)
      },
    }),
    route('GET', '/api/agents/name/{agent}', {
      summary: 'Show an agent by its name',
      ...read,
      params: ByAgent,
      replies: { 200: PublicAgent },
      handle: async ({ params }) => ok(await show(params.agent)),
    }),
    route('GET', '/api/agent/{agent}', {
      summary: 'Show an agent',
      ...read,
      params: ByAgent,
      replies: { 200: PublicAgent },
      handle: async ({ params }) => ok(await show(params.agent)),
    }),
    route('PUT', '/api/agent/{agent}', {
      summary: 'Rename an agent, or replace its runtimes',
      ...write,
      params: ByAgent,
      body: z.object({ name: z.string().min(1).max(150).optional(), runtimes: Runtimes.optional() }),
      replies: { 200: PublicAgent },
      handle: async ({ params, body, actor }) => ok(toPublic(await changeAgent(app, params.agent, body, nameOf(actor)))),
    }),
    route('DELETE', '/api/agent/{agent}', {
      summary: 'Delete an agent and revoke its token',
      ...write,
      params: ByAgent,
      replies: { 204: Nothing },
      async handle({ params, actor }) {
        authenticator.forget(await removeAgent(app, params.agent, { by: nameOf(actor) }))
        return done
      },
    }),
  ]
}
