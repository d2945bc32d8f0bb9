/** The command `gitops uninstall`, in two steps: the server, then the cluster. Each can be repeated. */
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import { CHART, findInstalledChart, removeChartObjects, type InstalledChart } from '../../gitops/installed-chart.ts'
import { requireRuntimeName } from '../../gitops/names.ts'
import {
  HOOKS,
  keptLines,
  readState,
  removeApplications,
  removeHook,
  removeState,
  type RuntimeState,
} from '../../gitops/remove-state.ts'
import { openGitopsTarget, type GitopsTarget, type TargetFlags } from '../../gitops/target.ts'
import { describeOwner, openTokenStore, TOKEN_SECRET } from '../../gitops/token-secret.ts'
import { accessOf, nameIn } from '../../gitops/values.ts'
import type { Printer } from '../../printer.ts'
import { UNINSTALL_MS } from '../../runner/helm/helm.ts'
import { deletionConfirmation, type ConfirmDeletion } from '../../runner/init/prompter.ts'
import { valueAt, type Tree } from '../../runner/values/read-values.ts'
import { isOutage, openSession, orUndefined } from '../../session/session.ts'
import { foldersOf, removeFiles } from '../gitops-repository/remove-files.ts'

interface UninstallOptions extends TargetFlags {
  readonly yes: boolean
  readonly force: boolean
  readonly platformOnly: boolean
  readonly cleanRepository: boolean
  readonly runtimeUrl?: string | undefined
}

/** What the namespace has of the runtime. */
interface Found {
  /** Values of the Helm release; undefined without one. */
  readonly values: Tree | undefined
  /** What Argo CD has installed; undefined with a release. */
  readonly chart: InstalledChart | undefined
  readonly state: RuntimeState
}

/** Removes a runtime. Throws `conflict` if the namespace has another one or the token of another installation, or with `--platform-only` while its tunnel is connected. */
export async function uninstallRuntime({ args, options, out, settings }: Invocation<UninstallOptions>): Promise<void> {
  const name = requireRuntimeName(args[0])
  const { client, url } = openSession(settings)
  if (options.platformOnly) return removePlatformOnly(client, { name, options, out })
  const confirm = deletionConfirmation(options.yes, out.stderr)
  await using target = await openGitopsTarget(options, settings)
  const found = await findRuntime(target, name, url)
  await announce(target, { name, found, options, confirm, out })
  if (options.cleanRepository) {
    const runtimeUrl = options.runtimeUrl ?? found.chart?.url ?? accessOf(found.values ?? {}).url
    await cleanRepository(client, settings, { name, runtimeUrl, isForced: options.force, out })
  }
  await removeFromServer(client, name, out).catch((error: unknown) => {
    if (!isOutage(error)) throw error
    if (!options.force) throw unreachable(error, name)
    out.note(`The server was not reached, so it keeps the runtime: ${error.message}`)
    out.note(`When it is back, remove it there: windlass gitops uninstall ${name} --platform-only`)
  })
  await removeFromCluster(target, { name, found, out })
}

interface Removal {
  readonly name: string
  readonly options: UninstallOptions
  readonly out: Printer
}

async function removePlatformOnly(client: ApiClient, { name, options, out }: Removal): Promise<void> {
  if (options.cleanRepository)
    throw fault('usage', {
      message: '--clean-repository needs the runtime, and --platform-only is for one that does not exist any more.',
      hint: `Remove ${foldersOf(name)} from the repository with git.`,
    })
  if (!options.force) await requireOffline(client, name)
  await removeFromServer(client, name, out)
}

/** Reads what is there. Throws `conflict` for another runtime, another release, and the token of another installation. */
async function findRuntime(target: GitopsTarget, name: string, url: string): Promise<Found> {
  const { cluster, helm, namespace, release } = target
  const values = await helm.values(release)
  const chart = values === undefined ? await findInstalledChart(cluster.kube, namespace) : undefined
  const installed = nameIn(values) ?? chart?.runtime
  if ((values !== undefined || chart !== undefined) && installed !== name)
    throw fault('conflict', {
      message: `The namespace ${namespace} has the GitOps runtime "${installed ?? 'without a name'}".`,
      hint: 'Name the namespace of the runtime with --kube-namespace.',
    })
  if (chart?.release !== undefined)
    throw fault('conflict', {
      message: `The GitOps runtime "${name}" is in the Helm release "${chart.release}" of the namespace ${namespace}. Nothing was deleted.`,
      hint: `Remove that with \`helm uninstall ${chart.release} --namespace ${namespace}\`, then run this command again for what it leaves.`,
    })
  const state = await readState(cluster.kube, {
    store: openTokenStore(cluster.kube, namespace),
    namespace,
    runtime: name,
    servers: [url, ...serverIn(values), ...(chart?.server === undefined ? [] : [chart.server])],
    hasRelease: values !== undefined || chart !== undefined,
  })
  const isNothing = values === undefined && chart === undefined
  if (isNothing && state.stored !== undefined && !state.isOwn) throw notHere(name, target, state)
  return { values, chart, state }
}

/** Returns the URL of the server that the values of a release name. */
function serverIn(values: Tree | undefined): string[] {
  const url = valueAt(values ?? {}, ['global', 'codefresh', 'url'])
  return typeof url === 'string' ? [url] : []
}

function notHere(name: string, { namespace, release }: GitopsTarget, { stored }: RuntimeState): Fault {
  return fault('conflict', {
    message:
      `The namespace ${namespace} has no release ${release.name}, and its Secret ${TOKEN_SECRET.name} ` +
      `${describeOwner(stored ?? {})}. Nothing was deleted.`,
    hint: `Name the namespace of the runtime with --kube-namespace, or remove "${name}" from the server only with --platform-only.`,
  })
}

interface Announcement {
  readonly name: string
  readonly found: Found
  readonly options: UninstallOptions
  readonly confirm: ConfirmDeletion
  readonly out: Printer
}

/** Says what is deleted and what is kept, and asks. */
async function announce({ namespace, cluster, release }: GitopsTarget, announcement: Announcement): Promise<void> {
  const { name, found, options, confirm, out } = announcement
  const { state, chart } = found
  const what = chart === undefined ? `the Helm release ${release.name}` : 'the objects that Argo CD has installed'
  const lines = [
    'The following is deleted:',
    `  GitOps runtime ${name} with its tokens`,
    `  ${what} in ${namespace} of ${cluster.context}`,
    ...(state.isOwn
      ? [
          '  integrations, and the Git tokens of users',
          '  the applications of the runtime itself, without what they have applied',
        ]
      : []),
    ...(options.cleanRepository ? [`  ${foldersOf(name)} in the shared configuration repository`] : []),
    `The following is kept: the namespace ${namespace}, Argo CD, and the applications of users${options.cleanRepository ? '' : '; the files in the shared configuration repository'}.`,
  ]
  for (const line of lines) out.note(line)
  // With --yes the same lines follow at the end.
  if (!options.yes) for (const line of keptLines(namespace, state)) out.note(line)
  await confirm('Delete all of this?')
}

interface Cleaning {
  readonly name: string
  readonly runtimeUrl: string | undefined
  readonly isForced: boolean
  readonly out: Printer
}

/** Removes the files of the runtime, which its app-proxy does while the server knows it. Throws if it cannot, before anything else is deleted, unless it is forced. */
async function cleanRepository(
  client: ApiClient,
  settings: Settings,
  { name, runtimeUrl, isForced, out }: Cleaning,
): Promise<void> {
  const byHand = `remove ${foldersOf(name)} from it with git`
  try {
    const { sharedRepository } = await client.gitopsSettings.get()
    if (sharedRepository === undefined) return out.note('The account has no shared configuration repository to clean.')
    // An earlier call has removed the runtime from the server, so nothing reaches its app-proxy any more.
    if ((await orUndefined(client.tunnels.get(name))) === undefined)
      return out.note(`The server does not know the runtime any more. If ${sharedRepository} has its files, ${byHand}.`)
    return await removeFiles(settings, { runtime: name, url: runtimeUrl, out })
  } catch (error) {
    if (!isFault(error)) throw error
    if (isForced) return out.note(`The shared configuration repository was not changed: ${error.message} To clean it, ${byHand}.`)
    throw fault(
      error.code,
      {
        ...error.details,
        message: `The shared configuration repository was not changed, and nothing was deleted. ${error.message}`,
        hint: `${error.hint} Or leave out --clean-repository, and ${byHand}.`,
      },
      error,
    )
  }
}

async function removeFromCluster(
  { cluster: { kube }, helm, namespace, release }: GitopsTarget,
  { name, found, out }: { readonly name: string; readonly found: Found; readonly out: Printer },
): Promise<void> {
  const { chart, state } = found
  await removeApplications(kube, { namespace, runtime: name }, state, out)
  if (chart === undefined) {
    out.note(`Removing the release ${release.name} from ${namespace} (up to ${UNINSTALL_MS / 60_000} min)`)
    const isRemoved = await helm.uninstall(release)
    out.line(`release/${release.name} ${isRemoved ? 'deleted' : 'was already deleted'}`)
  } else {
    await removeChartObjects(kube, namespace)
    out.line(`chart/${CHART} deleted`)
  }
  await removeHook(kube, namespace, HOOKS.remove)
  await removeState(kube, namespace, state, out)
}

async function requireOffline(client: ApiClient, name: string): Promise<void> {
  const tunnel = await orUndefined(client.tunnels.get(name))
  if (tunnel === undefined || tunnel.status === 'offline') return
  throw fault('conflict', {
    message: `The GitOps runtime "${name}" is connected (${tunnel.status}).`,
    hint: 'Remove it from its cluster as well: run the command without --platform-only, or add --force.',
  })
}

async function removeFromServer(client: ApiClient, name: string, out: Printer): Promise<void> {
  const isRemoved = await orUndefined(client.gitopsRuntimes.delete(name).then(() => true))
  out.line(`gitops-runtime/${name} ${isRemoved === true ? 'deleted' : 'was already deleted'}`)
}

function unreachable(error: Fault, name: string): Fault {
  return fault(
    error.code,
    {
      ...error.details,
      message: `Nothing was deleted from the cluster. ${error.message}`,
      hint: `${error.hint} To remove the runtime from its cluster only, add --force; the server keeps it until \`windlass gitops uninstall ${name} --platform-only\`.`,
    },
    error,
  )
}
