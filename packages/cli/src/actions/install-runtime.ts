/** `install runtime` and `uninstall runtime`. */
import { readFileSync } from 'node:fs'
import { isFault } from '@windlass/kit/faults'
import { createCluster, deleteRuntime, listAgents, listClusters, listRuntimes, putRuntime } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import type { Settings } from '../config.ts'
import type { Printer } from '../printer.ts'
import { detachInCluster, detachOnServer, findAgent, restartAgent, writeRuntimeFile } from '../runner/attach/attach.ts'
import { ensureNamespace, lastingToken } from '../runner/cluster/secrets.ts'
import { runtimeNameOf } from '../runner/init/names.ts'
import { printManifests, renderRuntime } from '../runner/init/render.ts'
import { applyAgentAccount, removeAgentAccount } from '../runner/install/agent-account.ts'
import { openInstallPlace, partsOf, type HelmFlags, type InstallPlace } from '../runner/install/place.ts'
import { addParts, removeParts } from '../runner/install/release.ts'
import { toChartValues, type InstallFacts } from '../runner/values/chart-values.ts'
import { readWishes, type ValueFlags, type Wishes } from '../runner/values/wishes.ts'
import { openSession, type Session } from '../session.ts'
import { attachRuntimeOf, type AttachOptions } from './attach-runtime.ts'

export interface InstallRuntimeOptions extends ValueFlags, HelmFlags {
  readonly runtimeName?: string | undefined
  readonly agentName?: string | undefined
  readonly dryRun: boolean
  readonly runtimeKubeContextName?: string | undefined
  readonly runtimeKubeNamespace?: string | undefined
  readonly runtimeKubeConfigPath?: string | undefined
  readonly attachRuntime?: boolean | undefined
  readonly makeDefaultRuntime?: boolean | undefined
  readonly skipReCreation?: boolean | undefined
  readonly skipClusterCreation?: boolean | undefined
  readonly clusterServiceAccount?: string | undefined
  readonly platformOnly: boolean
}

/** Makes the runtime environment and what it needs in its cluster; prints its name. */
export async function installRuntime({
  options,
  out,
  settings,
}: Invocation<InstallRuntimeOptions & AttachOptions>): Promise<void> {
  const flags = withRuntimePlace(options)
  const session = openSession(settings)
  const wishes = readWishes(flags)
  const { agentName } = options
  const name = await installRuntimeParts({ options, flags, wishes, session, settings, out, agentName })
  if (options.dryRun) return
  if (options.attachRuntime === true) await attachRuntimeOf({ options: { ...options, runtimeName: name }, out, settings })
  else if (agentName === undefined)
    out.note(
      `No agent serves it yet: windlass attach runtime --runtime-name ${name} --agent-name NAME --agent-kube-namespace NAMESPACE`,
    )
  out.line(name)
}

export function withRuntimePlace<
  T extends ValueFlags & {
    runtimeKubeNamespace?: string | undefined
    runtimeKubeContextName?: string | undefined
    runtimeKubeConfigPath?: string | undefined
  },
>(options: T): T {
  return {
    ...options,
    kubeNamespace: options.runtimeKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.runtimeKubeContextName ?? options.kubeContextName,
    kubeConfigPath: options.runtimeKubeConfigPath ?? options.kubeConfigPath,
  }
}

export interface RuntimeWork {
  readonly options: Omit<InstallRuntimeOptions, keyof ValueFlags>
  readonly flags: ValueFlags
  readonly wishes: Wishes
  readonly session: Session
  readonly settings: Settings
  readonly out: Printer
  readonly agentName: string | undefined
}

/** The parts of a runtime, for `install runtime` and `install agent --install-runtime`. Answers the runtime's name. */
export async function installRuntimeParts(work: RuntimeWork): Promise<string> {
  const { options, flags, wishes, session, settings, out } = work
  await using place = await openInstallPlace(flags, options, settings)
  const taken = options.skipReCreation === true ? [] : (await listRuntimes(session.client)).map(({ name }) => name)
  const name = wishes.installer.RuntimeEnvironmentName ?? runtimeNameOf(place.cluster.context, place.namespace, taken)
  const facts = factsFor(work, place, name)
  const values = toChartValues(wishes, { ...facts, namespace: place.namespace })
  if (options.dryRun) {
    printManifests(out, await place.helm().render(place.release, values))
    return name
  }
  if (options.skipReCreation !== true) await makeRuntime(work, place, { name, values })
  if (options.platformOnly) return name
  await ensureNamespace(place.cluster.kube, place.namespace)
  const all = await addParts(place, { wishes, facts })
  // The agent beside it brings an account of its own, and serves its own namespace.
  if (!partsOf(all).agent) await applyAgentAccount(place, all)
  else await writeRuntimeFile(place, { name, namespaces: [place.namespace] })
  if (options.skipClusterCreation !== true) await registerCluster(work, place)
  return name
}

function factsFor(
  { session, agentName }: RuntimeWork,
  place: InstallPlace,
  runtimeName: string,
): Omit<InstallFacts, 'namespace'> {
  return {
    url: session.url,
    context: place.cluster.context,
    agentName,
    runtimeName,
    tokenSecret: undefined,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: false, runtime: true, monitor: false },
  }
}

async function makeRuntime(
  { options, session }: RuntimeWork,
  place: InstallPlace,
  { name, values }: { name: string; values: ReturnType<typeof toChartValues> },
): Promise<void> {
  const { agent: named, ...body } = await renderRuntime(place.helm(), place.release, values)
  const agents = (await listAgents(session.client)).map((agent) => agent.name)
  const agent = typeof named === 'string' && agents.includes(named) ? { agent: named } : {}
  const isDefault = options.makeDefaultRuntime ?? false
  await putRuntime(session.client, { ...body, ...agent, name, ...(isDefault && { isDefault }) }, 'install runtime')
}

async function registerCluster({ options, session, wishes }: RuntimeWork, { cluster, namespace }: InstallPlace): Promise<void> {
  const name = wishes.installer.ClusterId ?? cluster.context
  if (cluster.kubeconfig === undefined || (await listClusters(session.client)).some((one) => one.name === name)) return
  const token = await lastingToken(cluster.kube, namespace, options.clusterServiceAccount ?? 'default')
  const { ca } = cluster.access
  const server = wishes.installer.KubernetesHost ?? cluster.access.server
  await createCluster(session.client, {
    name,
    provider: 'local',
    behindFirewall: true,
    server,
    token,
    namespace,
    ...(ca !== undefined && { ca }),
  })
}

/** Detaches the runtime, removes it from its cluster and from the server. Pipelines stay. */
export async function uninstallRuntime({
  options,
  out,
  settings,
}: Invocation<HelmFlags & ValueFlags & AttachOptions & { name?: string | undefined; platformOnly: boolean }>): Promise<void> {
  const session = openSession(settings)
  const name = options.name ?? options.runtimeName ?? ''
  const agent = await findAgent(session.client, options)
  await detachOnServer(session.client, agent, name)
  const agentPlace = {
    ...options,
    kubeNamespace: options.agentKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.agentKubeContextName ?? options.kubeContextName,
  }
  await using here = await openInstallPlace(agentPlace, options, settings)
  await detachInCluster(here, name)
  if (options.restartAgent === true) await restartAgent(here)
  await using there = await openInstallPlace(withRuntimePlace(options), options, settings)
  const values = await there.helm().values(there.release)
  await removeParts(there, ['runtime', 'monitor'])
  if (values !== undefined && !partsOf(values).agent) await removeAgentAccount(there, values)
  await deleteRuntime(session.client, name, { force: true }).catch((error: unknown) => {
    if (!isFault(error, 'not-found')) throw error
  })
  out.line(`Runtime ${name} was uninstalled`)
}
