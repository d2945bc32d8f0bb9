import { defined, isLoopback } from '@windlass/kit'
import { VOLUME_PATH } from '@windlass/plan'
import type { AttemptOptions } from '../attempt/input.ts'
import { hasKubeconfig, KUBECONFIG_PATH } from '../secrets/private-files.ts'

/** Returns the variables that the engine itself gives to all steps. Pure. */
export function builtinsOf({ input, serverUrl }: Pick<AttemptOptions, 'input' | 'serverUrl'>): Record<string, string> {
  return {
    ...defined({ CF_API_KEY: input.buildToken }),
    // Steps share the network of the engine, so its server address works for them. CF_URL is for links and may not be reachable.
    ...(serverUrl !== undefined && !isLoopback(serverUrl) && { WINDLASS_URL: serverUrl }),
    ...(input.buildToken !== undefined &&
      serverUrl !== undefined &&
      !isLoopback(serverUrl) && {
        CF_OIDC_REQUEST_TOKEN: input.buildToken,
        CF_OIDC_REQUEST_URL: `${serverUrl.replace(/\/+$/, '')}/v1/oidc/token`,
      }),
    CI: 'true',
    CF_BUILD_ID: input.buildId,
    CF_VOLUME_NAME: input.volumeName,
    CF_VOLUME_PATH: VOLUME_PATH,
    ...(hasKubeconfig(input) && { CF_KUBECONFIG_PATH: KUBECONFIG_PATH }),
  }
}
