/** Routes for Runner installers: agents, clusters, certificates and the progress of installations. The shapes are documented in `protocol/agent/runner.ts`. */
import {
  Agent,
  AgentCreated,
  AgentInput,
  AgentPatch,
  AgentRemoval,
  CertificateRequest,
  Cluster,
  ClusterInput,
  Id,
  Installation,
  InstallationEventInput,
  InstallationInput,
  page,
  SignedCertificate,
} from '@windlass/protocol'
import { z } from 'zod'
import { changeAgent, createAgent, listShownAgents, removeAgent, rotateToken, showAgent } from '../../../agents/agents.ts'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { signCertificate } from '../../../certificates/certificates.ts'
import { addCluster, listClusters, removeCluster, showCluster } from '../../../clusters/clusters.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import {
  addInstallationEvent,
  beginInstallation,
  listShownInstallations,
  showInstallation,
} from '../../../installations/installations.ts'
import { findAgent } from '../../../store/runtimes/agents.ts'
import { countHeldTasks } from '../../../store/runtimes/tasks.ts'
import { nameOf } from '../../../identity/actor.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

const ById = z.object({ id: Id })
const MAX_LISTED = 500

export function agentResourceRoutes(app: App, authenticator: Authenticator): Route[] {
  const find = async (name: string): Promise<z.output<typeof Agent>> =>
    showAgent(app, requireFound(await findAgent(app.store.query, app.accountId, name), `agent "${name}"`))
  return [
    route('GET', '/v1/agents', {
      summary: 'List agents',
      allow: 'see-runners',
      scope: 'agent:read',
      replies: { 200: page(Agent) },
      handle: async () => ok({ items: await listShownAgents(app) }),
    }),
    route('POST', '/v1/agents', {
      summary: 'Register an agent, or restore one by its token; the token is returned only once',
      allow: 'manage-runners',
      scope: 'agent:write',
      body: AgentInput,
      replies: { 201: AgentCreated },
      handle: async ({ body, settle }) => created(await createAgent(app, body, (tx, agent) => settle(tx, created(agent)))),
    }),
    route('GET', '/v1/agents/{name}', {
      summary: 'Show an agent',
      allow: 'see-runners',
      scope: 'agent:read',
      params: ByName,
      replies: { 200: Agent },
      async handle({ params }) {
        const agent = await find(params.name)
        return ok({ ...agent, tasks: await countHeldTasks(app.store.query, agent.id) })
      },
    }),
    route('PUT', '/v1/agents/{name}', {
      summary: 'Replace the name and runtimes of an agent',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      body: AgentInput.omit({ token: true }),
      replies: { 200: Agent },
      handle: async ({ params, body, actor }) => ok(await changeAgent(app, params.name, body, nameOf(actor))),
    }),
    route('PATCH', '/v1/agents/{name}', {
      summary: 'Rename an agent, replace its runtimes, or add and remove single ones',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      body: AgentPatch,
      replies: { 200: Agent },
      handle: async ({ params, body, actor }) => ok(await changeAgent(app, params.name, body, nameOf(actor))),
    }),
    route('POST', '/v1/agents/{name}/token', {
      summary: 'Create a new token for an agent and revoke the old one at once',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      replies: { 201: AgentCreated },
      async handle({ params, settle }) {
        const agent = await rotateToken(app, params.name, (tx, renewed) => settle(tx, created(renewed)))
        authenticator.forget(agent.id)
        return created(agent)
      },
    }),
    route('DELETE', '/v1/agents/{name}', {
      summary: 'Delete an agent and revoke its token; force: its cluster no longer exists, and its builds run again elsewhere',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      query: AgentRemoval,
      replies: { 204: 'nothing' },
      async handle({ params, query, actor }) {
        authenticator.forget(await removeAgent(app, params.name, { ...query, by: nameOf(actor) }))
        return done
      },
    }),
    route('GET', '/v1/agent', {
      summary: 'Show the agent of this token',
      allow: 'agent',
      scope: 'none',
      replies: { 200: Agent },
      handle: async ({ actor }) => ok(await find('id' in actor ? actor.id : '')),
    }),
  ]
}

export function clusterRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/clusters', {
      summary: 'List clusters that deploy steps can use',
      allow: 'see-runners',
      scope: 'cluster:read',
      replies: { 200: page(Cluster) },
      handle: async () => ok({ items: await listClusters(app) }),
    }),
    route('POST', '/v1/clusters', {
      summary: 'Add a cluster',
      allow: 'manage-runners',
      scope: 'cluster:write',
      body: ClusterInput,
      replies: { 201: Cluster },
      handle: async ({ body, settle, actor }) =>
        created(await addCluster(app, body, { by: nameOf(actor), within: (tx, cluster) => settle(tx, created(cluster)) })),
    }),
    route('GET', '/v1/clusters/{name}', {
      summary: 'Show a cluster',
      allow: 'see-runners',
      scope: 'cluster:read',
      params: ByName,
      replies: { 200: Cluster },
      handle: async ({ params }) => ok(await showCluster(app, params.name)),
    }),
    route('DELETE', '/v1/clusters/{name}', {
      summary: 'Remove a cluster from the server; the cluster itself does not change',
      allow: 'manage-runners',
      scope: 'cluster:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeCluster(app, params.name)
        return done
      },
    }),
  ]
}

export function installationRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/certificates', {
      summary: 'Sign the certificate of the Docker daemons of a namespace',
      allow: 'runner',
      scope: 'certificate:write',
      body: CertificateRequest,
      replies: { 201: SignedCertificate },
      handle: async ({ body }) => created(await signCertificate(app, body)),
    }),
    route('POST', '/v1/installations', {
      summary: 'Start to report the progress of an installation',
      allow: 'manage-runners',
      scope: 'installation:write',
      body: InstallationInput,
      replies: { 201: Installation },
      handle: async ({ body, settle }) =>
        created(await beginInstallation(app, body, (tx, installation) => settle(tx, created(installation)))),
    }),
    route('GET', '/v1/installations', {
      summary: 'List installations, newest first',
      allow: 'see-runners',
      scope: 'installation:read',
      replies: { 200: page(Installation) },
      handle: async () => ok({ items: await listShownInstallations(app, MAX_LISTED) }),
    }),
    route('GET', '/v1/installations/{id}', {
      summary: 'Show an installation with its events',
      allow: 'see-runners',
      scope: 'installation:read',
      params: ById,
      replies: { 200: Installation },
      handle: async ({ params }) => ok(await showInstallation(app, params.id)),
    }),
    route('POST', '/v1/installations/{id}/events', {
      summary: 'Report a step of an installation',
      allow: 'manage-runners',
      scope: 'installation:write',
      params: ById,
      body: InstallationEventInput,
      replies: { 201: Installation },
      handle: async ({ params, body, settle }) =>
        created(await addInstallationEvent(app, params.id, body, (tx, installation) => settle(tx, created(installation)))),
    }),
  ]
}
