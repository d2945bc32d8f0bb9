/** Removes what a GitOps runtime has stored in its namespace and no Helm release owns. */
import type { Kind, Kube } from '@windlass/kube'
import { TOKEN_SECRET } from './runtime-token.ts'

/** Label of the ConfigMaps and Secrets of an app-proxy, with the value `git`. */
const INTEGRATION_LABEL = 'io.codefresh.integration-type'

/** Deletes the token, integrations, and Git tokens of users. Missing objects are ignored. */
export async function removeState(kube: Kube, namespace: string): Promise<void> {
  await kube.delete({ kind: 'Secret', namespace, name: TOKEN_SECRET.name })
  const kinds: readonly Kind[] = ['Secret', 'ConfigMap']
  for (const kind of kinds) {
    const found = await kube.list({ kind, namespace, labels: `${INTEGRATION_LABEL}=git`, content: 'metadata' })
    for (const { metadata } of found) await kube.delete({ kind, namespace, name: metadata.name })
  }
}
