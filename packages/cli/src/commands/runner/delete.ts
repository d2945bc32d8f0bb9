/** The command `runner delete`, which lists what it removes and asks first. */
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { isRecord } from '@windlass/kit/json'
import type { Agent } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { appProxyNameOf, APP_PROXY_SECRET } from '../../runner/app-proxy/address.ts'
import { removeAppProxyState } from '../../runner/app-proxy/remove.ts'
import { accountSecretOf, RUNTIMES_SECRET, TOKEN_SECRET } from '../../runner/cluster/secrets.ts'
import { UNINSTALL_MS } from '../../runner/helm/helm.ts'
import { deletionConfirmation } from '../../runner/init/prompter.ts'
import { openInstallTarget, partsOf, targetOf, type HelmFlags, type InstallTarget } from '../../runner/install/target.ts'
import { logIn } from '../../runner/log-in.ts'
import { readInstallValues, type ValueFlags } from '../../runner/values/install-values.ts'
import { orUndefined } from '../../session/session.ts'

interface DeleteOptions extends ValueFlags, HelmFlags {
  readonly name?: string | undefined
  readonly yes: boolean
  readonly force: boolean
  readonly keepClusterIntegration?: boolean | undefined
}

/** Removes the runtime, agent and monitor of a namespace. Throws `conflict` for an agent with several runtimes. */
export async function deleteRunner({ options, out, settings }: Invocation<DeleteOptions>): Promise<void> {
  const confirm = deletionConfirmation(options.yes || options.force, out.stderr)
  const { installer } = readInstallValues(options)
  const { client } = await logIn(options, { settings, out })
  await using target = await openInstallTarget(targetOf(installer), options, settings)
  const values = await target.helm().values(target.release)
  const agent = await chooseAgent(client, options.name ?? agentOf(values))
  if (agent.runtimes.length > 1)
    throw fault('conflict', {
      message: `The agent ${agent.name} serves ${agent.runtimes.length} runtime environments: ${agent.runtimes.join(', ')}.`,
      hint: 'Remove all but one of them first: `windlass uninstall runtime`.',
    })
  const clusters = (await client.clusters.list()).items.filter(({ name }) => name === target.cluster.context)
  const removed = options.keepClusterIntegration === true ? [] : clusters.map(({ name }) => name)
  for (const line of await describeDeletion({ client, agent, target, clusters: removed, hasProxy: partsOf(values).appProxy }))
    out.note(line)
  await confirm('Delete all of this?')
  for (const runtime of agent.runtimes) await orUndefined(client.runtimes.delete(runtime, { query: { force: true } }))
  out.note(`Removing the release ${target.release.name} from ${target.namespace} (up to ${UNINSTALL_MS / 60_000} min)`)
  await target.helm().uninstall(target.release)
  const [runtime] = agent.runtimes
  if (partsOf(values).appProxy)
    await removeAppProxyState({
      client,
      kube: target.cluster.kube,
      namespace: target.namespace,
      secret: APP_PROXY_SECRET,
      name: runtime === undefined ? undefined : appProxyNameOf(runtime),
    })
  for (const name of [TOKEN_SECRET.name, RUNTIMES_SECRET])
    await target.cluster.kube.delete({ kind: 'Secret', namespace: target.namespace, name })
  await orUndefined(client.agents.delete(agent.name))
  for (const name of removed) await orUndefined(client.clusters.delete(name))
  if (removed.length > 0)
    await target.cluster.kube.delete({ kind: 'Secret', namespace: target.namespace, name: accountSecretOf('default') })
  out.line(`The Runner in ${target.namespace} of ${target.cluster.context} was deleted`)
}

function agentOf(values: unknown): string | undefined {
  const global = isRecord(values) ? values['global'] : undefined
  const name = isRecord(global) ? global['agentName'] : undefined
  return typeof name === 'string' ? name : undefined
}

async function chooseAgent(client: ApiClient, name: string | undefined): Promise<Agent> {
  const { items: agents } = await client.agents.list()
  const found = name === undefined ? (agents.length === 1 ? agents[0] : undefined) : agents.find((agent) => agent.name === name)
  if (found !== undefined) return found
  throw fault('not-found', {
    message: name === undefined ? 'No agent was given.' : `The agent "${name}" does not exist.`,
    hint: `Add --name with an existing agent: ${agents.map((agent) => agent.name).join(', ') || 'none'}.`,
  })
}

interface Deletion {
  readonly client: ApiClient
  readonly agent: Agent
  readonly target: InstallTarget
  readonly clusters: readonly string[]
  readonly hasProxy: boolean
}

async function describeDeletion({ client, agent, target, clusters, hasProxy }: Deletion): Promise<string[]> {
  const lines = ['The following is deleted:', `  agent ${agent.name} and its token`]
  for (const name of agent.runtimes) {
    const runtime = await orUndefined(client.runtimes.get(name))
    if (runtime === undefined) continue
    lines.push(`  runtime environment ${name}; its pipelines move to the default one`)
    if (runtime.isDefault) lines.push('    it is the default: another runtime environment becomes the default, if there is one')
  }
  for (const name of clusters) lines.push(`  cluster ${name}, registered for deployments`)
  if (hasProxy) lines.push('  the app-proxy, its Git integrations and the Git tokens of users')
  lines.push(`  the Helm release ${target.release.name} in ${target.namespace} of ${target.cluster.context}`)
  lines.push(`The following is kept: the namespace ${target.namespace}, disks of builds, pipelines and builds.`)
  return lines
}
