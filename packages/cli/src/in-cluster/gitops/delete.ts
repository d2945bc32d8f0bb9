/**
 * The command `in-cluster delete-gitops-runtime`, run before a release is uninstalled: removes the runtime from the server, and what the app-proxy has stored in the
 * namespace.
 */
import type { ApiClient } from '@windlass/client'
import { isFault } from '@windlass/kit/faults'
import type { Kube } from '@windlass/kube'
import type { Settings } from '../../config.ts'
import { readState, removeApplications, removeState, type RuntimeState } from '../../gitops/remove-state.ts'
import { accessWith } from '../../gitops/runtime-token.ts'
import { openTokenStore } from '../../gitops/token-secret.ts'
import type { Printer } from '../../printer.ts'
import { isOutage, openRetryingClient, orUndefined } from '../../session/session.ts'
import { readSecretFile } from '../config.ts'
import { openOwnCluster, retryUnreachable } from '../context.ts'
import { gitopsHookConfig, type GitopsHookConfig } from './config.ts'

/**
 * A missing, invalid or insufficient key, an unreachable server, and a runtime that is not proven to be the one of this namespace are only reported, so that the release can
 * be uninstalled anyway.
 */
export async function deleteGitopsRuntime(
  settings: Settings,
  out: Printer,
  kube: Kube = openOwnCluster(settings),
): Promise<void> {
  const config = gitopsHookConfig(settings.environment)
  const { RUNTIME: runtime, SERVER_URL: url, TOKEN_PATH: path } = config
  const { namespace } = kube
  const store = openTokenStore(kube, namespace, config.SECRET)
  const state = await readState(kube, { store, namespace, runtime, servers: [url], hasRelease: true })
  const key = readSecretFile(path)
  const client = key === undefined ? undefined : openRetryingClient({ url, token: key, caFile: settings.caFile })
  const why = client === undefined ? 'no API key is mounted' : await removeProven(client, { config, state, out })
  if (why !== undefined)
    out.note(
      `The server keeps the runtime ${runtime}: ${why}. Remove it with \`windlass gitops uninstall ${runtime} --platform-only\` ` +
        'if no other cluster has it.',
    )
  await removeApplications(kube, { namespace, runtime }, state, out)
  await removeState(kube, namespace, state, out)
}

interface Removal {
  readonly config: GitopsHookConfig
  readonly state: RuntimeState
  readonly out: Printer
}

/**
 * Removes the runtime if the token of this namespace is one of it: another cluster may have a runtime of the same name, after this one was taken for lost. Returns why it
 * was kept.
 */
async function removeProven(client: ApiClient, { config, state, out }: Removal): Promise<string | undefined> {
  const { RUNTIME: runtime, ACCOUNT_ID: accountId } = config
  const token = state.stored?.token
  if (token === undefined) return `the Secret ${config.SECRET} has no token of it`
  if (!state.isOwn) return `the Secret ${config.SECRET} is of another installation`
  try {
    const access = await retryUnreachable(() => accessWith(client, runtime, token))
    if (access?.accountId !== accountId) return `the token of the Secret ${config.SECRET} is not one of it`
    const isRemoved = await retryUnreachable(() => orUndefined(client.gitopsRuntimes.delete(runtime).then(() => true)))
    out.note(`runtime ${runtime}: ${isRemoved === true ? 'removed' : 'already removed'}`)
    return undefined
  } catch (error) {
    if (!isOutage(error) && !isFault(error, 'unauthenticated', 'forbidden', 'scope-missing')) throw error
    return error.message
  }
}
