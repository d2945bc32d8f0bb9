/** From wishes and answers to one installation: which cluster, which namespace, which names. Asks only for what nobody said. */
import { fault } from '@windlass/kit/faults'
import { listAgents, listMonitors, listRuntimes } from '../../api-runner.ts'
import type { Settings } from '../../config.ts'
import type { Session } from '../../session.ts'
import { listContexts, openCluster, type OpenCluster } from '../cluster/open-cluster.ts'
import type { Wishes } from '../values/wishes.ts'
import type { Asker } from './asker.ts'
import { agentNameOf, freeNamespace, runtimeNameOf } from './names.ts'
import type { Choices } from './plan.ts'
import type { InstallState } from './state.ts'

/** Flags of `runner init` that stand for no value of the installer. */
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
  readonly wishes: Wishes
  readonly flags: InitFlags
  readonly asker: Asker
  readonly settings: Settings
  /** Absent in a dry run without a server. */
  readonly session: Session | undefined
  /** An installation that goes on: its answers are not asked for again. */
  readonly before: InstallState | undefined
}

/** Throws `config-invalid` without a cluster. The cluster must be disposed of by the caller. */
export async function prepare(input: PrepareInput): Promise<Prepared> {
  const { wishes, before, session } = input
  const cluster = await chooseCluster(input)
  const namespace = before?.namespace ?? (await chooseNamespace(input, cluster))
  const { installer } = wishes
  const [agents, runtimes] =
    session === undefined ? [[], []] : await Promise.all([listAgents(session.client), listRuntimes(session.client)])
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
    throw fault('conflict', { message: `There is an agent ${input.flags.name} already.`, hint: 'Choose another --name.' })
  const fallback = runtimes.find(({ isDefault }) => isDefault)?.name
  const isReported =
    session !== undefined &&
    (await listMonitors(session.client)).some((one) => one.cluster === cluster.context && one.status === 'online')
  const choices = await choose(input, { fallback, inCluster: cluster.kubeconfig === undefined, isReported })
  return { cluster, names: { context: cluster.context, namespace, agentName, runtimeName }, choices }
}

async function chooseCluster({ wishes, asker, settings, before }: PrepareInput): Promise<OpenCluster> {
  const { ConfigPath, Context, InCluster } = wishes.installer
  const given = before?.context === 'in-cluster' ? undefined : (before?.context ?? Context)
  const choice = { kubeconfig: ConfigPath, context: given, inCluster: InCluster }
  if (given !== undefined || InCluster === true || !asker.asks) return openCluster(choice, settings)
  const { names, current } = listContexts(ConfigPath, settings)
  const initial = current ?? names[0] ?? ''
  const context = await asker.choose('Kubernetes context', { options: names, initial })
  return openCluster({ ...choice, context }, settings)
}

async function chooseNamespace({ wishes, asker, flags }: PrepareInput, { kube }: OpenCluster): Promise<string> {
  if (wishes.installer.Namespace !== undefined) return wishes.installer.Namespace
  // A dry run promises to ask the cluster nothing that could fail for lack of rights.
  const taken = flags.dryRun ? [] : (await kube.list({ kind: 'Namespace' })).map(({ metadata }) => metadata.name)
  return asker.text('Namespace', freeNamespace(taken))
}

async function choose(
  { wishes, asker, flags, before }: PrepareInput,
  found: { fallback: string | undefined; inCluster: boolean; isReported: boolean },
): Promise<Choices> {
  const { installer } = wishes
  const isFirst = found.fallback === undefined
  const asksMore = asker.asks && !flags.dryRun
  const makeDefault =
    before?.makeDefault ??
    flags.setDefaultRuntime ??
    (isFirst ||
      (asksMore && (await asker.yesNo(`Make it the default runtime environment, in place of ${found.fallback}?`, false))))
  const byHelm = flags.generateHelmValuesFile !== undefined
  const question = byHelm ? 'Create a demo pipeline?' : 'Run a demo pipeline at the end?'
  const wantsDemo = flags.execDemoPipeline ?? (!flags.dryRun && (asksMore ? await asker.yesNo(question, true) : true))
  return {
    skipTest: installer.SkipClusterTest ?? false,
    skipIntegration: installer.SkipClusterIntegration ?? false,
    inCluster: found.inCluster,
    // One monitor reports a cluster; a further Runner in it needs none.
    monitor:
      before?.monitor ?? ((installer.Monitor?.Enabled ?? true) && installer.SkipClusterIntegration !== true && !found.isReported),
    makeDefault,
    demo: before?.demo ?? (wantsDemo ? (byHelm ? 'create' : 'run') : 'none'),
    helmValuesFile: flags.generateHelmValuesFile,
    dryRun: flags.dryRun,
  }
}
