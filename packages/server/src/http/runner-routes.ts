/** What installers of a Runner use: agents, clusters, certificates and the progress of installations; the shapes stand in `protocol/runner.ts`. */
import {
  Agent,
  AgentCreated,
  AgentInput,
  AgentPatch,
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
import { changeAgent, createAgent, listShownAgents, removeAgent, rotateToken, showAgent } from '../agents/agents.ts'
import type { App } from '../app.ts'
import { requireFound } from '../builds/require-found.ts'
import { signCertificate } from '../certificates/certificates.ts'
import { addCluster, listClusters, removeCluster, showCluster } from '../clusters/clusters.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import {
  addInstallationEvent,
  beginInstallation,
  listShownInstallations,
  showInstallation,
} from '../installations/installations.ts'
import { findAgent } from '../store/agents.ts'
import { ByName } from './pipeline-routes.ts'
import { created, done, ok, route, type Route } from './route.ts'

const ById = z.object({ id: Id })
const MAX_LISTED = 500

export function agentResourceRoutes(app: App, authenticator: Authenticator): Route[] {
  const find = async (name: string): Promise<z.output<typeof Agent>> =>
    showAgent(app, requireFound(await findAgent(app.store.query, app.accountId, name), `agent ${name}`))
  return [
    route('GET', '/v1/agents', {
      summary: 'List agents',
      allow: 'viewer',
      replies: { 200: page(Agent) },
      handle: async () => ok({ items: await listShownAgents(app) }),
    }),
    route('POST', '/v1/agents', {
      summary: 'Register an agent, or bring one back by its token; the token is answered once',
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
      handle: async ({ params }) => ok(await find(params.name)),
    }),
    route('PUT', '/v1/agents/{name}', {
      summary: 'Replace name and runtimes of an agent',
      allow: 'admin',
      params: ByName,
      body: AgentInput.omit({ token: true }),
      replies: { 200: Agent },
      handle: async ({ params, body }) => ok(await changeAgent(app, params.name, body)),
    }),
    route('PATCH', '/v1/agents/{name}', {
      summary: 'Rename an agent, or replace its runtimes',
      allow: 'admin',
      params: ByName,
      body: AgentPatch,
      replies: { 200: Agent },
      handle: async ({ params, body }) => ok(await changeAgent(app, params.name, body)),
    }),
    route('POST', '/v1/agents/{name}/token', {
      summary: 'Give an agent a new token; the old one is worth nothing at once',
      allow: 'admin',
      params: ByName,
      replies: { 201: AgentCreated },
      async handle({ params }) {
        const agent = await rotateToken(app, params.name)
        authenticator.forget(agent.id)
        return created(agent)
      },
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
    route('GET', '/v1/agent', {
      summary: 'Show the agent whose token this is',
      allow: 'agent',
      replies: { 200: Agent },
      handle: async ({ actor }) => ok(await find('id' in actor ? actor.id : '')),
    }),
  ]
}

export function clusterRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/clusters', {
      summary: 'List clusters that deploy steps can use',
      allow: 'viewer',
      replies: { 200: page(Cluster) },
      handle: async () => ok({ items: await listClusters(app) }),
    }),
    route('POST', '/v1/clusters', {
      summary: 'Add a cluster',
      allow: 'admin',
      body: ClusterInput,
      replies: { 201: Cluster },
      handle: async ({ body }) => created(await addCluster(app, body)),
    }),
    route('GET', '/v1/clusters/{name}', {
      summary: 'Show a cluster',
      allow: 'viewer',
      params: ByName,
      replies: { 200: Cluster },
      handle: async ({ params }) => ok(await showCluster(app, params.name)),
    }),
    route('DELETE', '/v1/clusters/{name}', {
      summary: 'Remove a cluster; nothing in it changes',
      allow: 'admin',
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
      body: CertificateRequest,
      replies: { 201: SignedCertificate },
      handle: async ({ body }) => created(await signCertificate(app, body)),
    }),
    route('POST', '/v1/installations', {
      summary: 'Begin to report the progress of an installation',
      allow: 'admin',
      body: InstallationInput,
      replies: { 201: Installation },
      handle: async ({ body }) => created(await beginInstallation(app, body)),
    }),
    route('GET', '/v1/installations', {
      summary: 'List installations, newest first',
      allow: 'viewer',
      replies: { 200: page(Installation) },
      handle: async () => ok({ items: await listShownInstallations(app, MAX_LISTED) }),
    }),
    route('GET', '/v1/installations/{id}', {
      summary: 'Show an installation with its events',
      allow: 'viewer',
      params: ById,
      replies: { 200: Installation },
      handle: async ({ params }) => ok(await showInstallation(app, params.id)),
    }),
    route('POST', '/v1/installations/{id}/events', {
      summary: 'Report a step of an installation',
      allow: 'admin',
      params: ById,
      body: InstallationEventInput,
      replies: { 201: Installation },
      handle: async ({ params, body }) => created(await addInstallationEvent(app, params.id, body)),
    }),
  ]
}
