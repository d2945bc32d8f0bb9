/**
 * The command `in-cluster delete-gitops-runtime`, run before a release is uninstalled: removes the runtime from the server, and what the app-proxy has stored in the
 * namespace.
 */
import { isFault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'
import { removeState } from '../../gitops/remove-state.ts'
import type { Printer } from '../../printer.ts'
import { isOutage, openRetryingClient, orUndefined } from '../../session/session.ts'
import { readSecretFile } from '../config.ts'
import { openOwnCluster, retryUnreachable } from '../context.ts'
import { gitopsHookConfig } from './config.ts'

/** A missing or invalid key and an unreachable server are only reported, so that the release can be uninstalled anyway. */
export async function deleteGitopsRuntime(settings: Settings, out: Printer): Promise<void> {
  const { RUNTIME: runtime, SERVER_URL: url, TOKEN_PATH: path } = gitopsHookConfig(settings.environment)
  const token = readSecretFile(path)
  if (token === undefined) reportKept(runtime, 'no API key is mounted', out)
  else {
    const client = openRetryingClient({ url, token, caFile: settings.caFile })
    try {
      const isRemoved = await retryUnreachable(() => orUndefined(client.gitopsRuntimes.delete(runtime).then(() => true)))
      out.note(`runtime ${runtime}: ${isRemoved === true ? 'removed' : 'already removed'}`)
    } catch (error) {
      if (!isOutage(error) && !isFault(error, 'unauthenticated')) throw error
      reportKept(runtime, error.message, out)
    }
  }
  const kube = openOwnCluster(settings)
  await removeState(kube, kube.namespace)
}

function reportKept(runtime: string, why: string, out: Printer): void {
  out.note(
    `Nothing was removed from the server: ${why}. Remove it with \`windlass gitops uninstall ${runtime} --platform-only\`.`,
  )
}
