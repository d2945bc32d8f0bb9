/** The commands `install runtime` and `uninstall runtime`. */
import { readFileSync } from 'node:fs'
import { defined } from '@windlass/kit/defined'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import { detachInCluster, detachOnServer, findAgent, restartAgent, writeRuntimeFile } from '../../runner/attach/attach.ts'
import { ensureNamespace, lastingToken } from '../../runner/cluster/secrets.ts'
import { runtimeNameOf } from '../../runner/init/names.ts'
import { printManifests, renderRuntime } from '../../runner/init/render.ts'
import { revokeTokenRenewal } from '../../runner/attach/token-renewal.ts'
import { applyAgentAccount, removeAgentAccount } from '../../runner/install/agent-account.ts'
import { openInstallTarget, partsOf, type HelmFlags, type InstallTarget } from '../../runner/install/target.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { addParts, removeParts } from '../../runner/install/release.ts'
import { toChartValues, type InstallFacts } from '../../runner/values/chart-values.ts'
import { readInstallValues, type ValueFlags, type InstallValues } from '../../runner/values/install-values.ts'
import { withClusterUrl } from '../../runner/cluster-url.ts'
import { openSession, orUndefined, type Session } from '../../session/session.ts'
import { agentFlags, attachRuntimeOf, type AttachOptions } from './attach-runtime.ts'

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

/** Creates the runtime environment and its objects in the cluster. Prints its name. */
export async function installRuntime({
  options,
  out,
  settings,
}: Invocation<InstallRuntimeOptions & AttachOptions>): Promise<void> {
  const flags = withRuntimeTarget(options)
  const current = openSession(settings)
  const session = options.platformOnly || options.dryRun ? current : await withClusterUrl(current, out)
  const installValues = readInstallValues(flags)
  const { agentName } = options
  const name = await installRuntimeParts({ options, flags, installValues, session, settings, out, agentName })
  if (options.dryRun) return
  if (options.attachRuntime === true) await attachRuntimeOf({ options: { ...options, runtimeName: name }, out, settings })
  else if (agentName === undefined)
    out.note(
      `No agent serves it yet. Attach it: windlass attach runtime --runtime-name ${name} --agent-name NAME --agent-kube-namespace NAMESPACE`,
    )
  out.line(name)
}

export function withRuntimeTarget<
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

export interface RuntimeInstallation {
  readonly options: Omit<InstallRuntimeOptions, keyof ValueFlags>
  readonly flags: ValueFlags
  readonly installValues: InstallValues
  readonly session: Session
  readonly settings: Settings
  readonly out: Printer
  readonly agentName: string | undefined
}

/** Installs the parts of a runtime, for `install runtime` and `install agent --install-runtime`. Resolves to its name. */
export async function installRuntimeParts(work: RuntimeInstallation): Promise<string> {
  const { options, flags, installValues, session, settings, out } = work
  await using target = await openInstallTarget(flags, options, settings)
  const taken = options.skipReCreation === true ? [] : (await session.client.runtimes.list()).items.map(({ name }) => name)
  const name = installValues.installer.RuntimeEnvironmentName ?? runtimeNameOf(target.cluster.context, target.namespace, taken)
  const facts = factsFor(work, target, name)
  const values = toChartValues(installValues, { ...facts, namespace: target.namespace })
  if (options.dryRun) {
    printManifests(out, await target.helm().render(target.release, values))
    return name
  }
  if (options.skipReCreation !== true) await makeRuntime(work, target, { name, values })
  if (options.platformOnly) return name
  await ensureNamespace(target.cluster.kube, target.namespace)
  out.note(`Installing with Helm (up to ${INSTALL_MS / 60_000} min)`)
  const all = await addParts(target, { installValues, facts })
  // An agent in the same release has its own service account and serves its own namespace.
  if (!partsOf(all).agent) await applyAgentAccount(target, all)
  else await writeRuntimeFile(target, { name, namespaces: [target.namespace] })
  if (options.skipClusterCreation !== true) await registerCluster(work, target)
  return name
}

function factsFor(
  { session, agentName }: RuntimeInstallation,
  target: InstallTarget,
  runtimeName: string,
): Omit<InstallFacts, 'namespace'> {
  return {
    url: session.clusterUrl ?? session.url,
    context: target.cluster.context,
    agentName,
    runtimeName,
    tokenSecret: undefined,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: false, runtime: true, monitor: false },
  }
}

async function makeRuntime(
  { options, session }: RuntimeInstallation,
  target: InstallTarget,
  { name, values }: { name: string; values: ReturnType<typeof toChartValues> },
): Promise<void> {
  const { agent: named, ...body } = await renderRuntime(target.helm(), target.release, values)
  const agents = (await session.client.agents.list()).items.map((agent) => agent.name)
  const agent = named !== undefined && agents.includes(named) ? { agent: named } : {}
  const isDefault = options.makeDefaultRuntime ?? false
  const wanted = { ...body, ...agent, name, ...(isDefault && { isDefault }) }
  await session.client.runtimes.put(name, wanted, { query: { description: 'install runtime' } })
}

async function registerCluster(
  { options, session, installValues }: RuntimeInstallation,
  { cluster, namespace }: InstallTarget,
): Promise<void> {
  const name = installValues.installer.ClusterId ?? cluster.context
  if (cluster.kubeconfig === undefined || (await session.client.clusters.list()).items.some((one) => one.name === name)) return
  const token = await lastingToken(cluster.kube, namespace, options.clusterServiceAccount ?? 'default')
  const { ca } = cluster.access
  const server = installValues.installer.KubernetesHost ?? cluster.access.server
  await session.client.clusters.create({
    name,
    provider: 'local',
    behindFirewall: true,
    server,
    token,
    namespace,
    ...defined({ ca }),
  })
}

type UninstallRuntimeOptions = Omit<AttachOptions, 'tokenLifetime' | 'platformOnly'> & HelmFlags & { name?: string | undefined }

/** Detaches the runtime, and removes it from its cluster and from the server. Pipelines are kept. */
export async function uninstallRuntime({ options, out, settings }: Invocation<UninstallRuntimeOptions>): Promise<void> {
  const session = openSession(settings)
  const name = options.name ?? options.runtimeName ?? ''
  const agent = await findAgent(session.client, options)
  // An interrupted call is repeated: the runtime is deleted last.
  const runtime = await orUndefined(session.client.runtimes.get(name))
  await detachOnServer(session.client, agent, name, runtime !== undefined && runtime.agent === undefined)
  await using agentTarget = await openInstallTarget(agentFlags(options), options, settings)
  await detachInCluster(agentTarget, name)
  if (options.restartAgent === true) await restartAgent(agentTarget)
  await using runtimeTarget = await openInstallTarget(withRuntimeTarget(options), options, settings)
  const values = await runtimeTarget.helm().values(runtimeTarget.release)
  await removeParts(runtimeTarget, ['runtime', 'monitor'])
  if (values !== undefined && !partsOf(values).agent) await removeAgentAccount(runtimeTarget, values)
  const { runtimeKubeServiceAccount: account } = options
  if (account !== undefined)
    await revokeTokenRenewal(runtimeTarget.cluster.kube, { runtime: name, namespace: runtimeTarget.namespace, name: account })
  await orUndefined(session.client.runtimes.delete(name, { query: { force: true } }))
  out.line(`Runtime ${name} was uninstalled`)
}
