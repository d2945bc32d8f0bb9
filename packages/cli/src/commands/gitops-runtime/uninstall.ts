/** The command `gitops uninstall`, in two steps: the server, then the cluster. Each can be repeated. */
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import { requireRuntimeName } from '../../gitops/names.ts'
import { removeState } from '../../gitops/remove-state.ts'
import { openGitopsTarget, type GitopsTarget, type TargetFlags } from '../../gitops/target.ts'
import { nameIn } from '../../gitops/values.ts'
import type { Printer } from '../../printer.ts'
import { UNINSTALL_MS } from '../../runner/helm/helm.ts'
import { terminalPrompter } from '../../runner/init/prompter.ts'
import { isOutage, openSession, orUndefined } from '../../session/session.ts'

interface UninstallOptions extends TargetFlags {
  readonly yes: boolean
  readonly force: boolean
  readonly platformOnly: boolean
}

/** Removes a runtime. Throws `conflict` if the namespace has another one, or with `--platform-only` while its tunnel is connected. */
export async function uninstallRuntime({ args, options, out, settings }: Invocation<UninstallOptions>): Promise<void> {
  const name = requireRuntimeName(args[0])
  const { client } = openSession(settings)
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
  await confirm(name, target, { options, out })
  await removeFromServer(client, name, out).catch((error: unknown) => {
    if (!options.force || !isOutage(error)) throw error
    out.note(`The server was not reached, so it keeps the runtime: ${error.message}`)
  })
  out.note(`Removing the release ${target.release.name} from ${target.namespace} (up to ${UNINSTALL_MS / 60_000} min)`)
  const isRemoved = await target.helm.uninstall(target.release)
  out.line(`release/${target.release.name} ${isRemoved ? 'deleted' : 'was already deleted'}`)
  await removeState(target.cluster.kube, target.namespace)
}

interface Confirmation {
  readonly options: Pick<UninstallOptions, 'yes'>
  readonly out: Printer
}

async function confirm(
  name: string,
  { namespace, cluster, release }: GitopsTarget,
  { options, out }: Confirmation,
): Promise<void> {
  const lines = [
    'The following is deleted:',
    `  GitOps runtime ${name} with its tokens`,
    `  the Helm release ${release.name} in ${namespace} of ${cluster.context}`,
    '  integrations, and the Git tokens of users',
    `The following is kept: the namespace ${namespace}, Argo CD and its applications.`,
  ]
  for (const line of lines) out.note(line)
  if (options.yes) return
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
