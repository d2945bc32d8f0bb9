/** Calls of the server that are about agents, runtimes, clusters and installations; the other paths stand in `api.ts`. */
import { randomUUID } from 'node:crypto'
import {
  Agent,
  AgentCreated,
  Cluster,
  Installation,
  Monitor,
  Runtime,
  RuntimeDiff,
  RuntimeImages,
  RuntimeVersion,
  page,
  type AgentPatch,
  type Client,
  type ClusterInput,
  type InstallationEventInput,
  type InstallationInput,
} from '@windlass/protocol'
import type { z } from 'zod'

const enc = encodeURIComponent

export type NewAgent = z.infer<typeof AgentCreated>

export async function listAgents(client: Client): Promise<Agent[]> {
  return (await client.call('GET', '/v1/agents', page(Agent))).items
}

/** By name or id. Throws `not-found`. */
export function getAgent(client: Client, name: string): Promise<Agent> {
  return client.call('GET', `/v1/agents/${enc(name)}`, Agent)
}

/** With the token of an agent that was deleted, it comes back as the same one. Throws `conflict` for a name in use. */
export function createAgent(
  client: Client,
  body: { name: string; runtimes?: readonly string[]; token?: string | undefined },
): Promise<NewAgent> {
  return client.call('POST', '/v1/agents', AgentCreated, { body, headers: { 'idempotency-key': randomUUID() } })
}

export function patchAgent(client: Client, name: string, body: AgentPatch): Promise<Agent> {
  return client.call('PATCH', `/v1/agents/${enc(name)}`, Agent, { body })
}

export async function deleteAgent(client: Client, name: string): Promise<void> {
  await client.text('DELETE', `/v1/agents/${enc(name)}`)
}

/** A new token; the old one is worth nothing at once. */
export function renewToken(client: Client, name: string): Promise<NewAgent> {
  return client.call('POST', `/v1/agents/${enc(name)}/token`, AgentCreated, { body: {} })
}

/** Whose token this is; asked with the token itself. Throws `unauthenticated`. */
export function whichAgent(client: Client): Promise<Agent> {
  return client.call('GET', '/v1/agent', Agent)
}

export async function listRuntimes(client: Client): Promise<Runtime[]> {
  return (await client.call('GET', '/v1/runtimes', page(Runtime))).items
}

/** One runtime; an older version of it, or with all that it extends. Throws `not-found`. */
export function getRuntime(
  client: Client,
  name: string,
  query: { version?: number | undefined; merged?: boolean | undefined } = {},
): Promise<Runtime> {
  return client.call('GET', `/v1/runtimes/${enc(name)}`, Runtime, { query })
}

/** Makes or replaces it: a new version of its specification. */
export function putRuntime(client: Client, body: { name: string }, description?: string): Promise<Runtime> {
  return client.call('PUT', `/v1/runtimes/${enc(body.name)}`, Runtime, { body, query: { description } })
}

export async function deleteRuntime(client: Client, name: string, { force }: { force: boolean }): Promise<void> {
  await client.text('DELETE', `/v1/runtimes/${enc(name)}`, { query: force ? { force: true } : {} })
}

export function makeDefaultRuntime(client: Client, name: string): Promise<Runtime> {
  return client.call('POST', `/v1/runtimes/${enc(name)}/default`, Runtime, { body: {} })
}

export async function listRuntimeVersions(client: Client, name: string): Promise<RuntimeVersion[]> {
  return (await client.call('GET', `/v1/runtimes/${enc(name)}/versions`, page(RuntimeVersion))).items
}

export function diffRuntime(
  client: Client,
  name: string,
  query: { from: number; to?: number | undefined },
): Promise<RuntimeDiff> {
  return client.call('GET', `/v1/runtimes/${enc(name)}/diff`, RuntimeDiff, { query })
}

export async function listRuntimeImages(client: Client, name: string): Promise<{ component: string; image: string }[]> {
  return (await client.call('GET', `/v1/runtimes/${enc(name)}/images`, RuntimeImages)).items
}

/** The monitors of agents that are there; those of deleted ones report no more. */
export async function listMonitors(client: Client): Promise<Monitor[]> {
  const [monitors, agents] = await Promise.all([client.call('GET', '/v1/monitors', page(Monitor)), listAgents(client)])
  return monitors.items.filter(({ agentId }) => agents.some(({ id }) => id === agentId))
}

export async function listClusters(client: Client): Promise<Cluster[]> {
  return (await client.call('GET', '/v1/clusters', page(Cluster))).items
}

export function createCluster(client: Client, body: ClusterInput): Promise<Cluster> {
  return client.call('POST', '/v1/clusters', Cluster, { body })
}

export async function deleteCluster(client: Client, name: string): Promise<void> {
  await client.text('DELETE', `/v1/clusters/${enc(name)}`)
}

export function createInstallation(client: Client, body: InstallationInput): Promise<Installation> {
  return client.call('POST', '/v1/installations', Installation, { body })
}

export function reportInstallation(client: Client, id: string, body: InstallationEventInput): Promise<Installation> {
  return client.call('POST', `/v1/installations/${enc(id)}/events`, Installation, { body })
}
