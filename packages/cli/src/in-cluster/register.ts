/**
 * The command `in-cluster register`, run before the agent starts: ensures its token and its runtime environment. It keeps existing ones,
 * so that every restart of the pod can run it again.
 */
import { fault, isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Agent } from '@windlass/protocol'
import { readSecretFile } from './config.ts'
import { isOutage, orUndefined } from '../session/session.ts'
import { retryUnreachable, requireAdmin, type CommandContext } from './context.ts'
import { readRuntimes } from './runtimes.ts'
import { applySecret, readSecret } from './secrets.ts'

/** Registers agent and runtime. Throws `config-invalid` without agent token and API key, `conflict` for an agent of another installation. */
export async function register(context: CommandContext): Promise<void> {
  const { config, out } = context
  const { AGENT: name, AGENT_SECRET: secret } = config
  if (name === undefined || secret === undefined)
    throw fault('config-invalid', {
      message: 'WINDLASS_IN_CLUSTER_AGENT and WINDLASS_IN_CLUSTER_AGENT_SECRET are required.',
      hint: 'Set both. The chart sets them.',
    })
  const kept = await readSecret(context.kube(), secret, config.AGENT_SECRET_KEY)
  const token = kept ?? readSecretFile(config.GIVEN_AGENT_TOKEN_PATH)
  let isRefused = false
  try {
    const known = token === undefined ? undefined : await retryUnreachable(() => agentOfToken(context.server.withToken(token)))
    isRefused = known === undefined
    const made = known === undefined ? await create(context, name) : undefined
    const fresh = made?.token ?? token
    if (fresh !== undefined && fresh !== kept) await storeToken(context, secret, fresh)
    const agent = known?.name ?? made?.name ?? name
    out.note(`agent ${agent}: ${made === undefined ? 'known' : 'registered'}`)
    if (context.admin !== undefined) await ensureRuntime(context, context.admin, agent)
  } catch (error) {
    // With a token that the server has refused, the agent would only end. The next start of this container registers it.
    if (kept === undefined || isRefused || !isOutage(error)) throw error
    // The agent has its token, and waits for the server itself.
    out.note('The server cannot be reached; the agent starts with its stored token.')
  }
}

/** Returns the agent of a token; undefined if the token is unknown or revoked. */
async function agentOfToken(agent: ApiClient): Promise<Agent | undefined> {
  try {
    return await agent.agents.self()
  } catch (error) {
    if (isFault(error, 'unauthenticated')) return undefined
    throw error
  }
}

/** Creates an agent, or a new token for an agent whose Secret was lost. An agent that is online belongs to another installation. */
async function create(context: CommandContext, name: string): Promise<{ name: string; token: string }> {
  const admin = requireAdmin(context)
  const existing = await retryUnreachable(() => orUndefined(admin.agents.get(name)))
  if (existing === undefined) return admin.agents.create({ name })
  if (existing.status === 'online')
    throw fault('conflict', {
      message: `An agent named "${name}" already exists and is online.`,
      hint: 'Use a unique name for each installation: set global.context, or global.agentName and global.runtimeName.',
    })
  return admin.agents.renewToken(name)
}

function storeToken(context: CommandContext, name: string, token: string): Promise<void> {
  const { config } = context
  const owner = config.OWNER === undefined ? undefined : ({ kind: 'Deployment', name: config.OWNER } as const)
  return applySecret(context.kube(), { name, values: { [config.AGENT_SECRET_KEY]: token }, owner })
}

/** Creates the runtime if it does not exist, and attaches it to the agent. `apply-runtime` updates an existing one. */
async function ensureRuntime({ config, out }: CommandContext, admin: ApiClient, agent: string): Promise<void> {
  const name = config.RUNTIME
  const runtime = await orUndefined(admin.runtimes.get(name))
  if (runtime === undefined) {
    const wanted = readRuntimes(config.RUNTIMES_DIR).find((one) => one.name === name)
    await admin.runtimes.put(name, wanted?.body ?? { name, agent }, { headers: { 'if-none-match': '*' } })
    out.note(`runtime ${name}: created`)
  }
  const { runtimes } = await admin.agents.get(agent)
  if (runtimes.includes(name)) return
  await admin.agents.patch(agent, { addRuntimes: [name] })
  out.note(`runtime ${name}: attached to ${agent}`)
}
