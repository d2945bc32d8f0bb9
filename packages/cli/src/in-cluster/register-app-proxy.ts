/**
 * The command `in-cluster register-app-proxy`, run before the app-proxy of a Runner starts: ensures its token in a Secret, and writes it to files that the app-proxy
 * reads. A valid token is kept, so that every restart of the pod can run it again.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { isOwnToken, openTokenStore, TOKEN_SECRET } from '../gitops/token-secret.ts'
import { ACCOUNT_KEY, registerAppProxy } from '../runner/app-proxy/register.ts'
import { readSecret } from '../runner/cluster/secrets.ts'
import { isOutage } from '../session/session.ts'
import { retryUnreachable, type CommandContext } from './context.ts'

/** Throws `config-invalid` without a stored token and without an API key. */
export async function registerOwnAppProxy(context: CommandContext): Promise<void> {
  const { config, admin, out } = context
  const { APP_PROXY: name, APP_PROXY_SECRET: secret, APP_PROXY_DIR: folder, SERVER_URL: server } = config
  if (name === undefined || secret === undefined || folder === undefined)
    throw fault('config-invalid', {
      message:
        'WINDLASS_IN_CLUSTER_APP_PROXY, WINDLASS_IN_CLUSTER_APP_PROXY_SECRET and WINDLASS_IN_CLUSTER_APP_PROXY_DIR are required.',
      hint: 'Set all three. The chart sets them.',
    })
  const kube = context.kube()
  const { namespace } = kube
  const stored = await openTokenStore(kube, namespace, secret).read()
  const hasOwn = stored?.token !== undefined && isOwnToken(stored, name, [server])
  try {
    if (admin !== undefined) {
      const registration = { client: admin, kube, namespace, secret, name, server }
      const { isNew } = await retryUnreachable(() => registerAppProxy(registration))
      out.note(`app-proxy ${name}: ${isNew ? 'registered' : 'known'}`)
    } else if (!hasOwn)
      throw fault('config-invalid', {
        message: `No API key is mounted, and the Secret ${secret} has no token of this app-proxy.`,
        hint: 'Set global.codefreshTokenSecretKeyRef in the chart, or write the Secret with `windlass install app-proxy --token-only` and name it in appProxy.tokenSecret.',
      })
  } catch (error) {
    if (!hasOwn || !isOutage(error)) throw error
    out.note('The server cannot be reached; the app-proxy starts with its stored token.')
  }
  const values = (await readSecret(kube, namespace, secret)) ?? {}
  for (const key of [TOKEN_SECRET.token, TOKEN_SECRET.iv, ACCOUNT_KEY])
    writeFileSync(join(folder, key), values[key] ?? '', { mode: 0o600 })
}
