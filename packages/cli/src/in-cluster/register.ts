/**
 * `in-cluster register`: before the agent starts, it has a token and a runtime environment. What is there stays as it is, so that every
 * restart of the pod may run this again.
 */
import { fault, isFault } from '@windlass/kit/faults'
import { Agent, AgentCreated, Runtime, type Client } from '@windlass/protocol'
import type { z } from 'zod'
import { readSecretFile } from './config.ts'
import { orAbsent, pathOf, patiently, requireAdmin, type Place } from './place.ts'
import { readRuntimes } from './runtimes.ts'
import { keepSecret, readSecret } from './secrets.ts'

/** Registers agent and runtime. Throws `config-invalid` without agent token and API key, `conflict` for an agent that lives elsewhere. */
export async function register(place: Place): Promise<void> {
  const { config, out } = place
  const { AGENT: name, AGENT_SECRET: secret } = config
  if (name === undefined || secret === undefined)
    throw fault('config-invalid', { message: 'WINDLASS_IN_CLUSTER_AGENT and WINDLASS_IN_CLUSTER_AGENT_SECRET are required.' })
  const kept = await readSecret(place.kube(), secret, config.AGENT_SECRET_KEY)
  const token = kept ?? readSecretFile(config.GIVEN_AGENT_TOKEN_PATH)
  try {
    const known = token === undefined ? undefined : await patiently(() => whose(place.server.withToken(token)))
    const made = known === undefined ? await create(place, name) : undefined
    const fresh = made?.token ?? token
    if (fresh !== undefined && fresh !== kept) await keepToken(place, secret, fresh)
    const agent = known?.name ?? made?.name ?? name
    out.note(`agent ${agent}: ${made === undefined ? 'known' : 'registered'}`)
    if (place.admin !== undefined) await ensureRuntime(place, place.admin, agent)
  } catch (error) {
    if (kept === undefined || !isFault(error, 'server-unreachable')) throw error
    // The agent has what it needs and waits for the server by itself.
    out.note('The server cannot be reached; the agent starts with the token it has.')
  }
}

/** The agent behind a token; undefined when the server does not know it (any more). */
async function whose(agent: Client): Promise<Agent | undefined> {
  try {
    return await agent.call('GET', '/v1/agent', Agent)
  } catch (error) {
    if (isFault(error, 'unauthenticated')) return undefined
    throw error
  }
}

/** A new agent, or a new token of one whose Secret was lost. An agent that is alive belongs to another installation. */
async function create(place: Place, name: string): Promise<z.output<typeof AgentCreated>> {
  const admin = requireAdmin(place)
  const existing = await patiently(() => orAbsent(admin.call('GET', pathOf('agents', name), Agent)))
  if (existing === undefined) return admin.call('POST', '/v1/agents', AgentCreated, { body: { name } })
  if (existing.status === 'online')
    throw fault('conflict', {
      message: `There is an agent ${name} already, and it is online.`,
      hint: 'Each installation needs a name of its own: set global.context, or global.agentName and global.runtimeName.',
    })
  return admin.call('POST', `${pathOf('agents', name)}/token`, AgentCreated)
}

function keepToken(place: Place, name: string, token: string): Promise<void> {
  const { config } = place
  const owner = config.OWNER === undefined ? undefined : ({ kind: 'Deployment', name: config.OWNER } as const)
  return keepSecret(place.kube(), { name, values: { [config.AGENT_SECRET_KEY]: token }, owner })
}

/** Makes the runtime where there is none, and has the agent serve it. An existing one is left to `apply-runtime`. */
async function ensureRuntime({ config, out }: Place, admin: Client, agent: string): Promise<void> {
  const name = config.RUNTIME
  const runtime = await orAbsent(admin.call('GET', pathOf('runtimes', name), Runtime))
  if (runtime === undefined) {
    const wanted = readRuntimes(config.RUNTIMES_DIR).find((one) => one.name === name)
    await admin.call('PUT', pathOf('runtimes', name), Runtime, {
      body: wanted?.body ?? { name, agent },
      headers: { 'if-none-match': '*' },
    })
    out.note(`runtime ${name}: created`)
  }
  const { runtimes } = await admin.call('GET', pathOf('agents', agent), Agent)
  if (runtimes.includes(name)) return
  await admin.call('PUT', pathOf('agents', agent), Agent, { body: { name: agent, runtimes: [...runtimes, name] } })
  out.note(`runtime ${name}: attached to ${agent}`)
}
