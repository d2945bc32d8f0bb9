/** Determines cluster, namespace, names and choices of an installation. Prompts only for missing settings. */
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'
import { listLiveMonitors } from '../list-monitors.ts'
import type { Session } from '../../session/session.ts'
import { wantsAppProxy } from '../app-proxy/address.ts'
import { listContexts, openCluster, type OpenCluster } from '../cluster/open-cluster.ts'
import type { InstallValues } from '../values/install-values.ts'
import type { Prompter } from './prompter.ts'
import { agentNameOf, freeNamespace, runtimeNameOf } from './names.ts'
import type { Choices } from './plan.ts'
import type { InstallState } from './state.ts'

/** Flags of `runner init` that do not set an installer value. */
export interface InitFlags {
  readonly name?: string | undefined
  readonly setDefaultRuntime?: boolean | undefined
  readonly execDemoPipeline?: boolean | undefined
  readonly dryRun: boolean
  readonly generateHelmValuesFile?: string | undefined
}

export interface Prepared {
  readonly cluster: OpenCluster
  readonly names: {
    readonly context: string
    readonly namespace: string
    readonly agentName: string
    readonly runtimeName: string
  }
  readonly choices: Choices
}

export interface PrepareInput {
  readonly installValues: InstallValues
  readonly flags: InitFlags
  readonly prompter: Prompter
  readonly settings: Settings
  /** Undefined in a dry run without a server. */
  readonly session: Session | undefined
  /** An interrupted installation to continue, whose answers are reused. */
  readonly before: InstallState | undefined
}

/** Prepares the installation. The caller must dispose of the cluster. Throws `config-invalid` without a cluster. */
export async function prepare(input: PrepareInput): Promise<Prepared> {
  const { installValues, before, session } = input
  const cluster = await chooseCluster(input)
  const namespace = before?.namespace ?? (await chooseNamespace(input, cluster))
  const { installer } = installValues
  const [agents, runtimes] =
    session === undefined ? [[], []] : [(await session.client.agents.list()).items, (await session.client.runtimes.list()).items]
  const taken = { agents: agents.map(({ name }) => name), runtimes: runtimes.map(({ name }) => name) }
  const agentName = before?.agentName ?? input.flags.name ?? agentNameOf(cluster.context, namespace, taken.agents)
  const runtimeName =
    before?.runtimeName ?? installer.RuntimeEnvironmentName ?? runtimeNameOf(cluster.context, namespace, taken.runtimes)
  if (
    before === undefined &&
    input.flags.name !== undefined &&
    taken.agents.includes(input.flags.name) &&
    installer.AgentToken === undefined
  )
    throw fault('conflict', { message: `The agent "${input.flags.name}" already exists.`, hint: 'Choose another --name.' })
  const fallback = runtimes.find(({ isDefault }) => isDefault)?.name
  const isReported =
    session !== undefined &&
    (await listLiveMonitors(session.client)).some((one) => one.cluster === cluster.context && one.status === 'online')
  const choices = await choose(input, { fallback, inCluster: cluster.kubeconfig === undefined, isReported })
  return { cluster, names: { context: cluster.context, namespace, agentName, runtimeName }, choices }
}

async function chooseCluster({ installValues, prompter, settings, before }: PrepareInput): Promise<OpenCluster> {
  const { ConfigPath, Context, InCluster } = installValues.installer
  const given = before?.context === 'in-cluster' ? undefined : (before?.context ?? Context)
  const choice = { kubeconfig: ConfigPath, context: given, inCluster: InCluster }
  if (given !== undefined || InCluster === true || !prompter.isInteractive) return openCluster(choice, settings)
  const { names, current } = listContexts(ConfigPath, settings)
  const initial = current ?? names[0] ?? ''
  const context = await prompter.choose('Kubernetes context', { options: names, initial })
  return openCluster({ ...choice, context }, settings)
}

async function chooseNamespace({ installValues, prompter, flags }: PrepareInput, { kube }: OpenCluster): Promise<string> {
  if (installValues.installer.Namespace !== undefined) return installValues.installer.Namespace
  // A dry run must not fail for lack of permissions, so it does not query the cluster.
  const taken = flags.dryRun ? [] : (await kube.list({ kind: 'Namespace' })).map(({ metadata }) => metadata.name)
  return prompter.text('Namespace', freeNamespace(taken))
}

async function choose(
  { installValues, prompter, flags, before }: PrepareInput,
  found: { fallback: string | undefined; inCluster: boolean; isReported: boolean },
): Promise<Choices> {
  const { installer } = installValues
  const isFirst = found.fallback === undefined
  const asksMore = prompter.isInteractive && !flags.dryRun
  const makeDefault =
    before?.makeDefault ??
    flags.setDefaultRuntime ??
    (isFirst ||
      (asksMore && (await prompter.confirm(`Make it the default runtime environment instead of ${found.fallback}?`, false))))
  const byHelm = flags.generateHelmValuesFile !== undefined
  const question = byHelm ? 'Create a demo pipeline?' : 'Run a demo pipeline at the end?'
  const wantsDemo = flags.execDemoPipeline ?? (!flags.dryRun && (asksMore ? await prompter.confirm(question, true) : true))
  return {
    skipTest: installer.SkipClusterTest ?? false,
    skipIntegration: installer.SkipClusterIntegration ?? false,
    inCluster: found.inCluster,
    // A cluster needs only one monitor.
    monitor:
      before?.monitor ?? ((installer.Monitor?.Enabled ?? true) && installer.SkipClusterIntegration !== true && !found.isReported),
    appProxy: wantsAppProxy(installValues),
    makeDefault,
    demo: before?.demo ?? (wantsDemo ? (byHelm ? 'create' : 'run') : 'none'),
    helmValuesFile: flags.generateHelmValuesFile,
    dryRun: flags.dryRun,
  }
}
