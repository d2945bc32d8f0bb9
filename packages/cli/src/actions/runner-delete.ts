/** `runner delete`: what it would remove is told before anything happens. */
import { fault, isFault } from '@windlass/kit/faults'
import type { Agent, Client } from '@windlass/protocol'
import { deleteAgent, deleteCluster, deleteRuntime, getRuntime, listAgents, listClusters } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { accountSecretOf, RUNTIMES_SECRET, TOKEN_SECRET } from '../runner/cluster/secrets.ts'
import { silentAsker, terminalAsker } from '../runner/init/asker.ts'
import { openInstallPlace, type HelmFlags, type InstallPlace } from '../runner/install/place.ts'
import { logIn } from '../runner/log-in.ts'
import { readWishes, type ValueFlags } from '../runner/values/wishes.ts'
import { isTree } from '../runner/values/read-values.ts'

interface DeleteOptions extends ValueFlags, HelmFlags {
  readonly name?: string | undefined
  readonly force: boolean
  readonly keepClusterIntegration?: boolean | undefined
}

/** Removes runtime, agent and monitor of one namespace. Throws `conflict` for an agent with several runtimes. */
export async function deleteRunner({ options, out, settings }: Invocation<DeleteOptions>): Promise<void> {
  const asksTerminal = process.stdin.isTTY === true && out.stderr.isTTY
  if (!options.force && !asksTerminal)
    throw fault('usage', { message: 'There is no terminal to ask on.', hint: 'Add --force to delete without a question.' })
  const asker = options.force ? silentAsker : terminalAsker()
  const { installer } = readWishes(options)
  const { client } = await logIn(options, { settings, out })
  const place = {
    kubeContextName: installer.Context,
    kubeNamespace: installer.Namespace,
    kubeConfigPath: installer.ConfigPath,
    inCluster: installer.InCluster,
  }
  await using there = await openInstallPlace(place, options, settings)
  const values = await there.helm().values(there.release)
  const agent = await chooseAgent(client, options.name ?? agentOf(values))
  if (agent.runtimes.length > 1)
    throw fault('conflict', {
      message: `The agent ${agent.name} serves ${agent.runtimes.length} runtime environments: ${agent.runtimes.join(', ')}.`,
      hint: 'Remove all but one of them first: `windlass uninstall runtime`.',
    })
  const clusters = (await listClusters(client)).filter(({ name }) => name === there.cluster.context)
  const gone = options.keepClusterIntegration === true ? [] : clusters.map(({ name }) => name)
  for (const line of await listDoomed({ client, agent, there, clusters: gone })) out.note(line)
  if (!options.force && !(await asker.yesNo('Delete all of this?', false)))
    throw fault('usage', { message: 'Nothing was deleted.', hint: 'Answer yes to delete, or add --force.' })
  for (const runtime of agent.runtimes) await ignoreAbsent(deleteRuntime(client, runtime, { force: true }))
  await there.helm().uninstall(there.release)
  for (const name of [TOKEN_SECRET.name, RUNTIMES_SECRET])
    await there.cluster.kube.delete({ kind: 'Secret', namespace: there.namespace, name })
  await ignoreAbsent(deleteAgent(client, agent.name))
  for (const name of gone) await ignoreAbsent(deleteCluster(client, name))
  if (gone.length > 0)
    await there.cluster.kube.delete({ kind: 'Secret', namespace: there.namespace, name: accountSecretOf('default') })
  out.line(`The Runner in ${there.namespace} of ${there.cluster.context} was deleted`)
}

function agentOf(values: unknown): string | undefined {
  const global = isTree(values) ? values['global'] : undefined
  const name = isTree(global) ? global['agentName'] : undefined
  return typeof name === 'string' ? name : undefined
}

async function chooseAgent(client: Client, name: string | undefined): Promise<Agent> {
  const agents = await listAgents(client)
  const found = name === undefined ? (agents.length === 1 ? agents[0] : undefined) : agents.find((agent) => agent.name === name)
  if (found !== undefined) return found
  throw fault('not-found', {
    message: name === undefined ? 'Which agent?' : `There is no agent ${name}.`,
    hint: `Add --name; there are ${agents.map((agent) => agent.name).join(', ') || 'none'}.`,
  })
}

interface Doomed {
  readonly client: Client
  readonly agent: Agent
  readonly there: InstallPlace
  readonly clusters: readonly string[]
}

async function listDoomed({ client, agent, there, clusters }: Doomed): Promise<string[]> {
  const lines = ['This goes:', `  agent ${agent.name} and its token`]
  for (const name of agent.runtimes) {
    const runtime = await getRuntime(client, name).catch((error: unknown) => {
      if (isFault(error, 'not-found')) return undefined
      throw error
    })
    if (runtime === undefined) continue
    lines.push(`  runtime environment ${name}; pipelines that name it move to the default one`)
    if (runtime.isDefault) lines.push('    it is the default: another one takes its place, if there is one')
  }
  for (const name of clusters) lines.push(`  cluster ${name} of deployments`)
  lines.push(`  what the release ${there.release.name} brought into ${there.namespace} of ${there.cluster.context}`)
  lines.push(`This stays: the namespace ${there.namespace}, disks of builds, pipelines and builds.`)
  return lines
}

async function ignoreAbsent(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isFault(error, 'not-found')) throw error
  })
}
