/** What the control plane has: the settings of the account for GitOps, and where the runtime is reached. It is asked with the key of the caller, so its own rights count too. */
import { appProxyCalls } from '@windlass/client/app-proxy'
import { fault, isFault } from '@windlass/kit'
import type { Client, GitopsRuntime, GitopsSettings } from '@windlass/protocol'

export interface ControlPlane {
  /** Returns the settings. Throws `control-plane-unreachable`. */
  settings(key: string): Promise<GitopsSettings>
  /** Returns what the server knows of a runtime. Throws `not-found`, and like `settings`. */
  runtime(key: string, name: string): Promise<GitopsRuntime>
  /** Chooses the shared repository. Throws `conflict` if the account has another one, and like `settings`. */
  choose(key: string, sharedRepository: string): Promise<GitopsSettings>
}

/** `client`: of the control plane, without a token. */
export function openControlPlane(client: Client): ControlPlane {
  const calls = (key: string): ReturnType<typeof appProxyCalls> => appProxyCalls(client.withToken(key))
  return {
    settings: (key) => calls(key).settings().catch(refuse),
    async runtime(key, name) {
      try {
        return await calls(key).runtime(name)
      } catch (error) {
        if (isFault(error, 'not-found')) throw error
        return refuse(error)
      }
    },
    choose: (key, sharedRepository) => calls(key).chooseSettings({ sharedRepository }).catch(refuse),
  }
}

function refuse(error: unknown): never {
  if (isFault(error, 'not-found', 'not-supported'))
    throw fault(
      'control-plane-refused',
      {
        message: 'The server does not know the settings of accounts for GitOps.',
        hint: 'Upgrade the server before the GitOps runtimes.',
      },
      error,
    )
  if (isFault(error, 'server-unreachable', 'unavailable', 'proxy-answered', 'internal'))
    throw fault('control-plane-unreachable', { message: `The control plane does not answer. ${error.message}` }, error)
  throw error
}
