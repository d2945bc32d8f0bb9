/** The commands of the old `venona` installer, implemented with the current ones. */
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Runtime } from '@windlass/protocol'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { readConfigFile } from '../../session/config-file.ts'
import type { Settings } from '../../config.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { formatAge } from '../../format/time.ts'
import { printValue } from '../../format/output.ts'
import { TOKEN_SECRET } from '../../runner/cluster/secrets.ts'
import { agentNameOf, DEFAULT_NAMESPACE } from '../../runner/init/names.ts'
import { openInstallTarget, type HelmFlags, type InstallTarget } from '../../runner/install/target.ts'
import { namespaceOf } from '../../runner/runtime-document.ts'
import { openSession, orUndefined } from '../../session/session.ts'
import { installAgent } from '../install/agent.ts'
import { installRuntime } from '../install/runtime.ts'
import { upgradeRunner } from '../runner/upgrade.ts'

interface Globals extends HelmFlags {
  readonly apiHost: string | undefined
  readonly apiToken: string | undefined
  readonly context: string | undefined
  readonly kubeConfigPath: string | undefined
  readonly kubeContextName: string | undefined
}

const LONGEST_CLUSTER_NAME = 20

/** Resolves the server: flags or `--context`, then CODEFRESH_API_HOST and CODEFRESH_API_TOKEN, then the current settings. */
function settingsOf(options: Globals, settings: Settings): Settings {
  const { environment } = settings
  const named =
    options.context === undefined
      ? undefined
      : readConfigFile(settings.configFile).contexts.find(({ name }) => name === options.context)
  if (options.context !== undefined && named === undefined)
    throw fault('not-found', {
      message: `The context "${options.context}" does not exist.`,
      hint: 'List them with `windlass auth contexts`.',
    })
  return {
    ...settings,
    url: options.apiHost ?? named?.url ?? environment['CODEFRESH_API_HOST'] ?? settings.url,
    apiKey: options.apiToken ?? named?.apiKey ?? environment['CODEFRESH_API_TOKEN'] ?? settings.apiKey,
    caFile: named?.caFile ?? settings.caFile,
  }
}

function targetFlagsOf(options: Globals, settings: Settings, namespace?: string) {
  return {
    kubeConfigPath: options.kubeConfigPath,
    kubeContextName: options.kubeContextName ?? settings.environment['KUBE_CONTEXT'],
    kubeNamespace: namespace ?? settings.environment['KUBE_NAMESPACE'],
  }
}

interface InstallOptions extends Globals {
  readonly setValue: readonly string[]
  readonly setFile: readonly string[]
  readonly inCluster: boolean | undefined
  readonly clusterName: string | undefined
  readonly runtimeEnvironment: string | undefined
  readonly kubeNamespace: string | undefined
  readonly storageClass: string | undefined
  readonly kubeNodeSelector: string | undefined
  readonly buildNodeSelector: string | undefined
  readonly buildAnnotations: readonly string[]
  readonly skipRuntimeInstallation: boolean | undefined
  readonly onlyRuntimeEnvironment: boolean | undefined
  readonly setDefault: boolean | undefined
  readonly dryRun: boolean
}

/** Throws `usage` for flags that exclude each other. */
export function checkVenonaInstall(
  options: Pick<InstallOptions, 'clusterName' | 'runtimeEnvironment' | 'skipRuntimeInstallation' | 'onlyRuntimeEnvironment'>,
): void {
  if (options.skipRuntimeInstallation === true && options.onlyRuntimeEnvironment === true)
    throw fault('usage', {
      message: '--skip-runtime-installation and --only-runtime-environment cannot be combined.',
      hint: 'Remove one of them.',
    })
  if (options.skipRuntimeInstallation === true && options.runtimeEnvironment === undefined)
    throw fault('usage', {
      message: '--skip-runtime-installation needs --runtime-environment.',
      hint: 'Name an existing runtime environment.',
    })
  if ((options.clusterName?.length ?? 0) > LONGEST_CLUSTER_NAME)
    throw fault('usage', {
      message: `--cluster-name has more than ${LONGEST_CLUSTER_NAME} characters.`,
      hint: 'Choose a shorter name.',
    })
}

/** Runs `venona install`. */
export async function venonaInstall({ options, out, settings: given, args }: Invocation<InstallOptions>): Promise<void> {
  checkVenonaInstall(options)
  const settings = settingsOf(options, given)
  const targetFlags = { ...targetFlagsOf(options, settings, options.kubeNamespace), inCluster: options.inCluster }
  const common = {
    ...targetFlags,
    helm: options.helm,
    chart: options.chart,
    setValue: options.setValue,
    setFile: options.setFile,
    storageClassName: options.storageClass,
    kubeNodeSelector: options.kubeNodeSelector,
    buildNodeSelector: options.buildNodeSelector,
    buildAnnotations: options.buildAnnotations,
    dryRun: options.dryRun,
    makeDefaultRuntime: options.setDefault,
    platformOnly: false,
  }
  const runtimeName = options.runtimeEnvironment ?? options.clusterName
  if (options.onlyRuntimeEnvironment === true)
    return installRuntime({
      args,
      out,
      settings,
      options: { ...common, runtimeName, skipReCreation: options.runtimeEnvironment !== undefined },
    })
  const name =
    options.clusterName === undefined ? undefined : await freeAgentName(settings, options.clusterName, targetFlags.kubeNamespace)
  const installsRuntime = options.skipRuntimeInstallation !== true
  await installAgent({ args, out, settings, options: { ...common, name, runtimeName, installRuntime: installsRuntime } })
}

async function freeAgentName(settings: Settings, cluster: string, namespace: string | undefined): Promise<string> {
  const taken = (await openSession(settings).client.agents.list()).items.map(({ name }) => name)
  return agentNameOf(cluster, namespace ?? DEFAULT_NAMESPACE, taken)
}

/** Runs `venona status [NAME]`, which prints two tables. */
export async function venonaStatus({
  args,
  options,
  out,
  settings: given,
}: Invocation<Globals & { output: 'json' | undefined }>): Promise<void> {
  const settings = settingsOf(options, given)
  const { client } = openSession(settings)
  const [name] = args
  const runtimes = name === undefined ? (await client.runtimes.list()).items : [await client.runtimes.get(name)]
  if (options.output === 'json') return printValue(out, runtimes, 'json')
  for (const line of await statusTable(client, runtimes)) out.line(line)
  const [only] = runtimes
  if (name === undefined || only === undefined) return
  await using targetFlags = await openInstallTarget(targetFlagsOf(options, settings, namespaceOf(only)), options, settings)
  out.line()
  for (const line of alignColumns([['KIND', 'NAME', 'STATUS'], ...(await listObjects(targetFlags))])) out.line(line)
}

async function statusTable(client: ApiClient, runtimes: readonly Runtime[]): Promise<string[]> {
  const { items: agents } = await client.agents.list()
  const now = systemClock.now()
  const rows = runtimes.map((runtime) => {
    const agent = agents.find(({ runtimes: served }) => served.includes(runtime.name))
    const seen = agent?.lastSeenAt
    const message =
      seen === undefined
        ? 'Not reported any message yet'
        : (agent?.message ?? (agent?.status === 'online' ? 'All good' : 'Not reporting'))
    return [runtime.name, message, seen === undefined ? '' : `${formatAge(seen, now)} ago`]
  })
  return alignColumns([['RUNTIME NAME', 'LAST MESSAGE', 'REPORTED'], ...rows])
}

const Shown = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z
    .looseObject({ phase: z.string().optional(), readyReplicas: z.int().optional(), replicas: z.int().optional() })
    .optional(),
})

async function listObjects({ cluster, namespace }: InstallTarget): Promise<string[][]> {
  const rows: string[][] = []
  for (const kind of ['Deployment', 'DaemonSet', 'Pod', 'PersistentVolumeClaim'] as const)
    for (const object of await cluster.kube.list({ kind, namespace })) {
      const { metadata, status } = Shown.parse(object)
      const ready = status?.replicas === undefined ? '' : `${status.readyReplicas ?? 0}/${status.replicas} ready`
      rows.push([kind, metadata.name, status?.phase ?? ready])
    }
  return rows
}

/** Runs `venona upgrade NAME`. */
export async function venonaUpgrade({
  args,
  options,
  out,
  settings: given,
}: Invocation<Globals & { dryRun: boolean }>): Promise<void> {
  const settings = settingsOf(options, given)
  const runtime = await openSession(settings).client.runtimes.get(args[0] ?? '')
  const targetFlags = targetFlagsOf(options, settings, namespaceOf(runtime))
  if (options.dryRun)
    return out.note(`The Runner in ${targetFlags.kubeNamespace ?? DEFAULT_NAMESPACE} would be upgraded for ${runtime.name}.`)
  await upgradeRunner({
    args: [],
    out,
    settings,
    options: { ...targetFlags, helm: options.helm, chart: options.chart, runtimeName: runtime.name, yes: true },
  })
}

/** Runs `venona delete NAME…`. Continues after a failure; the exit code is then 1. */
export async function venonaDelete({
  args,
  options,
  out,
  settings: given,
}: Invocation<Globals & { revertTo: string | undefined; inCluster: boolean | undefined }>): Promise<number> {
  const settings = settingsOf(options, given)
  const { client } = openSession(settings)
  if (options.revertTo !== undefined) await client.runtimes.makeDefault(options.revertTo)
  let failures = 0
  for (const name of args) {
    try {
      await deleteOld(client, { name, options, settings })
      out.line(`Deleted ${name}`)
    } catch (error) {
      failures += 1
      out.note(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return failures === 0 ? EXIT.success : EXIT.failed
}

async function deleteOld(
  client: ApiClient,
  { name, options, settings }: { name: string; options: Globals & { inCluster: boolean | undefined }; settings: Settings },
): Promise<void> {
  const runtime = await client.runtimes.get(name)
  const agent = (await client.agents.list()).items.find(({ runtimes }) => runtimes.includes(name))
  await client.runtimes.delete(name, { query: { force: true } })
  const targetFlags = { ...targetFlagsOf(options, settings, namespaceOf(runtime)), inCluster: options.inCluster }
  await using target = await openInstallTarget(targetFlags, options, settings)
  await target.helm().uninstall(target.release)
  // Keep an agent that serves other runtimes.
  if (agent === undefined || agent.runtimes.length > 1) return
  await target.cluster.kube.delete({ kind: 'Secret', namespace: target.namespace, name: TOKEN_SECRET.name })
  await orUndefined(client.agents.delete(agent.name))
}
