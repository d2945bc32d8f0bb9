/**
 * The command `in-cluster register-gitops-runtime`, which the Job `validate-values` runs before an installation and an upgrade: checks the values, and stores a token of
 * the runtime. A valid token is kept.
 */
import { fault } from '@windlass/kit/faults'
import type { Kube } from '@windlass/kube'
import type { Settings } from '../../config.ts'
import { checkArgoCd, fromPod, type ArgoServer } from '../../gitops/argo-cd.ts'
import { checkAddress, checkKey, requirePassed } from '../../gitops/checks.ts'
import { ensureRuntimeToken } from '../../gitops/runtime-token.ts'
import { foreignToken, isOwnToken, openTokenStore } from '../../gitops/token-secret.ts'
import type { Printer } from '../../printer.ts'
import { openRetryingClient } from '../../session/session.ts'
import { readSecretFile } from '../config.ts'
import { openOwnCluster, retryUnreachable } from '../context.ts'
import { gitopsHookConfig, type GitopsHookConfig } from './config.ts'

/** Throws `config-invalid` without an API key, or if a check fails, and `conflict` for a name or a Secret that another installation uses. */
export async function registerGitopsRuntime(
  settings: Settings,
  out: Printer,
  kube: Kube = openOwnCluster(settings),
): Promise<void> {
  const config = gitopsHookConfig(settings.environment)
  const { RUNTIME: runtime, SERVER_URL: server } = config
  const store = openTokenStore(kube, kube.namespace, config.SECRET)
  const token = readSecretFile(config.TOKEN_PATH)
  if (token === undefined) {
    const stored = await store.read()
    if (stored !== undefined && !isOwnToken(stored, runtime, [server])) throw foreignToken(stored, store, { runtime, server })
    if (stored?.token !== undefined) return out.note('The API key is not mounted; the runtime keeps its token.')
    throw fault('config-invalid', {
      message: 'No API key is mounted.',
      hint: 'Set global.codefresh.userToken.secretKeyRef to a key of an existing Secret.',
    })
  }
  const client = openRetryingClient({ url: server, token, caFile: settings.caFile })
  const { URL: url, ACCESS: kind } = config
  const address = { kind, url, isChecked: !config.SKIP_VALIDATION }
  const argo = { namespace: kube.namespace, server: argoServerOf(config), ask: fromPod() }
  const findings = [await checkKey(client), ...(await checkArgoCd(kube, argo)), ...(await checkAddress(address, settings))]
  requirePassed(findings, out)
  const { isNew, replaced } = await retryUnreachable(() =>
    ensureRuntimeToken({
      client,
      store,
      runtime,
      server,
      needsTunnel: config.TUNNEL,
      recover: config.RECOVER,
      place: { namespace: kube.namespace, url: config.TUNNEL ? undefined : url, isHosted: config.HOSTED },
      accountId: config.ACCOUNT_ID,
    }),
  )
  out.note(`runtime ${runtime}: ${isNew ? 'registered' : 'known'}`)
  if (replaced !== undefined) out.note(`The Secret ${replaced} has the token of the other installation.`)
  return undefined
}

/** Undefined if the values switch the check off. */
function argoServerOf(config: GitopsHookConfig): ArgoServer | undefined {
  const { ARGO_CD_LABELS: labels, ARGO_CD_SERVICE: service, ARGO_CD_PORT: port, ARGO_CD_PROTOCOL: protocol } = config
  if (labels === undefined) return undefined
  return { labels, service, port, protocol, rootPath: config.ARGO_CD_ROOT_PATH }
}
