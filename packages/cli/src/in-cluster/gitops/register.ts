/**
 * The command `in-cluster register-gitops-runtime`, which the Job `validate-values` runs before an installation and an upgrade: checks the values, and stores a token of
 * the runtime. A valid token is kept.
 */
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'
import { checkAddress, checkKey, requirePassed } from '../../gitops/checks.ts'
import { ensureRuntimeToken, TOKEN_SECRET, type TokenStore } from '../../gitops/runtime-token.ts'
import type { Printer } from '../../printer.ts'
import { openRetryingClient } from '../../session/session.ts'
import { readSecretFile } from '../config.ts'
import { openOwnCluster, retryUnreachable } from '../context.ts'
import { applySecret, readSecret } from '../secrets.ts'
import { gitopsHookConfig } from './config.ts'

/** Throws `config-invalid` without an API key, or if a check fails, and `conflict` for a name that another installation uses. */
export async function registerGitopsRuntime(settings: Settings, out: Printer): Promise<void> {
  const config = gitopsHookConfig(settings.environment)
  const store = openStore(config.SECRET, settings)
  const token = readSecretFile(config.TOKEN_PATH)
  if (token === undefined) {
    if ((await store.read()).token !== undefined) return out.note('The API key is not mounted; the runtime keeps its token.')
    throw fault('config-invalid', {
      message: 'No API key is mounted.',
      hint: 'Set global.codefresh.userToken.secretKeyRef to a key of an existing Secret.',
    })
  }
  const client = openRetryingClient({ url: config.SERVER_URL, token, caFile: settings.caFile })
  const { URL: url } = config
  const address = { kind: 'ingress', url, isChecked: url !== undefined } as const
  requirePassed([await checkKey(client), ...(await checkAddress(address, settings))], out)
  const { isNew } = await retryUnreachable(() =>
    ensureRuntimeToken({
      client,
      store,
      runtime: config.RUNTIME,
      needsTunnel: config.TUNNEL,
      recover: config.RECOVER,
      accountId: config.ACCOUNT_ID,
    }),
  )
  out.note(`runtime ${config.RUNTIME}: ${isNew ? 'registered' : 'known'}`)
  return undefined
}

function openStore(name: string, settings: Settings): TokenStore {
  const kube = openOwnCluster(settings)
  return {
    read: async () => ({
      token: await readSecret(kube, name, TOKEN_SECRET.token),
      iv: await readSecret(kube, name, TOKEN_SECRET.iv),
    }),
    write: ({ token, iv }) => applySecret(kube, { name, values: { [TOKEN_SECRET.token]: token, [TOKEN_SECRET.iv]: iv } }),
  }
}
