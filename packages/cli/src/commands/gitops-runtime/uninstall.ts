/** The command `gitops uninstall`, in two steps: the server, then the cluster. Each can be repeated. */
import { fault, type Fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import { requireRuntimeName } from '../../gitops/names.ts'
import { keptLines, readState, removeState, type RuntimeState } from '../../gitops/remove-state.ts'
import { openGitopsTarget, type GitopsTarget, type TargetFlags } from '../../gitops/target.ts'
import { describeOwner, openTokenStore, TOKEN_SECRET } from '../../gitops/token-secret.ts'
import { nameIn } from '../../gitops/values.ts'
import type { Printer } from '../../printer.ts'
import { UNINSTALL_MS } from '../../runner/helm/helm.ts'
import { terminalPrompter } from '../../runner/init/prompter.ts'
import { valueAt, type Tree } from '../../runner/values/read-values.ts'
import { isOutage, openSession, orUndefined } from '../../session/session.ts'

interface UninstallOptions extends TargetFlags {
  readonly yes: boolean
  readonly force: boolean
  readonly platformOnly: boolean
}

/** Removes a runtime. Throws `conflict` if the namespace has another one or the token of another installation, or with `--platform-only` while its tunnel is connected. */
export async function uninstallRuntime({ args, options, out, settings }: Invocation<UninstallOptions>): Promise<void> {
  const name = requireRuntimeName(args[0])
  const { client, url } = openSession(settings)
  if (options.platformOnly) {
    if (!options.force) await requireOffline(client, name)
    await removeFromServer(client, name, out)
    return
  }
  await using target = await openGitopsTarget(options, settings)
  const values = await target.helm.values(target.release)
  const installed = nameIn(values)
  if (values !== undefined && installed !== name)
    throw fault('conflict', {
      message: `The namespace ${target.namespace} has the GitOps runtime "${installed ?? 'without a name'}".`,
      hint: 'Name the namespace of the runtime with --kube-namespace.',
    })
  const state = await readState(target.cluster.kube, {
    store: openTokenStore(target.cluster.kube, target.namespace),
    namespace: target.namespace,
    runtime: name,
    servers: [url, ...serverIn(values)],
    hasRelease: values !== undefined,
  })
  if (values === undefined && state.stored !== undefined && !state.isOwn) throw notHere(name, target, state)
  await confirm(target, { name, state, isConfirmed: options.yes, out })
  await removeFromServer(client, name, out).catch((error: unknown) => {
    if (!options.force || !isOutage(error)) throw error
    out.note(`The server was not reached, so it keeps the runtime: ${error.message}`)
  })
  out.note(`Removing the release ${target.release.name} from ${target.namespace} (up to ${UNINSTALL_MS / 60_000} min)`)
  const isRemoved = await target.helm.uninstall(target.release)
  out.line(`release/${target.release.name} ${isRemoved ? 'deleted' : 'was already deleted'}`)
  await removeState(target.cluster.kube, target.namespace, state, out)
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

interface Confirmation {
  readonly name: string
  readonly state: RuntimeState
  /** True if the user has confirmed with an option. */
  readonly isConfirmed: boolean
  readonly out: Printer
}

async function confirm({ namespace, cluster, release }: GitopsTarget, confirmation: Confirmation): Promise<void> {
  const { name, state, isConfirmed, out } = confirmation
  const lines = [
    'The following is deleted:',
    `  GitOps runtime ${name} with its tokens`,
    `  the Helm release ${release.name} in ${namespace} of ${cluster.context}`,
    ...(state.isOwn ? ['  integrations, and the Git tokens of users'] : []),
    `The following is kept: the namespace ${namespace}, Argo CD and its applications.`,
  ]
  for (const line of lines) out.note(line)
  // With --yes the same lines follow at the end.
  if (isConfirmed) return
  for (const line of keptLines(namespace, state)) out.note(line)
  if (process.stdin.isTTY !== true || !out.stderr.isTTY)
    throw fault('usage', {
      message: 'Cannot ask for confirmation without a terminal.',
      hint: 'Add --yes to delete without confirmation.',
    })
  if (!(await terminalPrompter().confirm('Delete all of this?', false)))
    throw fault('usage', { message: 'Canceled: nothing was deleted.', hint: 'Answer yes to delete, or add --yes.' })
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
