/** Removes what the app-proxy of a Runner has on the server and in its namespace, apart from its Helm release. */
import type { ApiClient } from '@windlass/client'
import type { Kube } from '@windlass/kube'
import { removeIntegrations } from '../../gitops/remove-state.ts'
import { openTokenStore } from '../../gitops/token-secret.ts'
import { orUndefined } from '../../session/session.ts'

export interface ProxyRemoval {
  readonly client: ApiClient
  readonly kube: Kube
  readonly namespace: string
  readonly secret: string
  /** Name on the server if the Secret is gone. */
  readonly name: string | undefined
}

/** Can be repeated: the Secret, which says what belongs to it, goes last. */
export async function removeAppProxyState({ client, kube, namespace, secret, name }: ProxyRemoval): Promise<void> {
  const stored = await openTokenStore(kube, namespace, secret).read()
  const known = stored?.owner?.runtime ?? name
  if (known !== undefined) await orUndefined(client.gitopsRuntimes.delete(known))
  await removeIntegrations(kube, namespace)
  await kube.delete({ kind: 'Secret', namespace, name: secret })
}
