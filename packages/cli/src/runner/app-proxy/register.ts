/** Registers the app-proxy of a Runner: a token on the server, and its Secret in the namespace. Can be repeated; a valid token is kept. */
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Kube } from '@windlass/kube'
import { ensureRuntimeToken, type Registered } from '../../gitops/runtime-token.ts'
import { openTokenStore, TOKEN_SECRET } from '../../gitops/token-secret.ts'
import { setSecretKeys } from '../cluster/secrets.ts'

/** Key of the Secret beside those of a GitOps runtime: callers of other accounts are refused. */
export const ACCOUNT_KEY = 'accountId'

export interface ProxyRegistration {
  /** With the key of an admin. */
  readonly client: ApiClient
  readonly kube: Kube
  readonly namespace: string
  readonly secret: string
  /** Name of the app-proxy on the server. */
  readonly name: string
  /** URL of the server for the cluster. */
  readonly server: string
}

/** Throws `conflict` in the namespace of a GitOps runtime, whose app-proxy keeps its integrations in the same objects. */
export async function registerAppProxy(registration: ProxyRegistration): Promise<Registered> {
  const { client, kube, namespace, secret, name, server } = registration
  if ((await kube.find({ kind: 'Secret', namespace, name: TOKEN_SECRET.name })) !== undefined)
    throw fault('conflict', {
      message: `The namespace ${namespace} has a GitOps runtime with an app-proxy of its own.`,
      hint: 'Install the app-proxy of the Runner into another namespace.',
    })
  // The name contains a digest of that of the runtime environment, so whoever had it before was this Runner.
  const store = openTokenStore(kube, namespace, secret)
  const registered = await ensureRuntimeToken({ client, store, runtime: name, server, needsTunnel: false, recover: true })
  await setSecretKeys(kube, { namespace, name: secret }, { [ACCOUNT_KEY]: registered.accountId })
  return registered
}
