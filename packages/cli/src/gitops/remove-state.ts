/** What a GitOps runtime has stored in its namespace and no Helm release owns. */
import { CLUSTER_LABEL } from '@windlass/gitops'
import { isFault } from '@windlass/kit/faults'
import type { Kind, Kube, ObjectRef } from '@windlass/kube'
import type { Printer } from '../printer.ts'
import { describeOwner, isOwnToken, TOKEN_SECRET, type StoredToken, type TokenStore } from './token-secret.ts'

/** Label of the ConfigMaps and Secrets of an app-proxy, with the value `git`. */
const INTEGRATION_LABEL = 'io.codefresh.integration-type'
/** Objects of the hook `validate-values` of the chart, which stay after its failure. Its Secret may have an API key. */
const HOOK = { name: 'validate-values', label: 'app.kubernetes.io/part-of', chart: 'windlass-gitops-runtime' } as const
const HOOK_KINDS: readonly Kind[] = ['Job', 'RoleBinding', 'Role', 'ServiceAccount', 'Secret']

/** The state of a namespace before it is removed. */
export interface RuntimeState {
  readonly stored: StoredToken | undefined
  /** False if the token is of another installation. Integrations and Git tokens are then not of this runtime either. */
  readonly isOwn: boolean
  /** Names of the Secrets with the credentials of managed clusters. */
  readonly clusters: readonly string[]
}

export interface StateOptions {
  readonly store: TokenStore
  readonly namespace: string
  readonly runtime: string
  /** URLs of the server. */
  readonly servers: readonly string[]
  /** True if a release of this runtime is in the namespace: what is there without a token is its own. */
  readonly hasRelease: boolean
}

export async function readState(kube: Kube, options: StateOptions): Promise<RuntimeState> {
  const { store, namespace, runtime, servers, hasRelease } = options
  const stored = await store.read()
  const found = await kube.list({ kind: 'Secret', namespace, labels: CLUSTER_LABEL, content: 'metadata' })
  return {
    stored,
    isOwn: stored === undefined ? hasRelease : isOwnToken(stored, runtime, servers),
    clusters: found.map(({ metadata }) => metadata.name),
  }
}

/** Deletes the integrations and the Git tokens of an app-proxy. */
export async function removeIntegrations(kube: Kube, namespace: string): Promise<void> {
  const kinds: readonly Kind[] = ['Secret', 'ConfigMap']
  for (const kind of kinds) {
    const found = await kube.list({ kind, namespace, labels: `${INTEGRATION_LABEL}=git`, content: 'metadata' })
    for (const { metadata } of found) await kube.delete({ kind, namespace, name: metadata.name })
  }
}

/**
 * Deletes integrations, Git tokens of users, the token, and what a failed installation has left. Missing objects are ignored. The token is the last of the state, so that
 * a repeated call knows whose the rest is. State of another installation is kept. Prints what is kept.
 */
export async function removeState(kube: Kube, namespace: string, state: RuntimeState, out: Printer): Promise<void> {
  if (state.isOwn) {
    await removeIntegrations(kube, namespace)
    await kube.delete({ kind: 'Secret', namespace, name: TOKEN_SECRET.name })
  }
  for (const kind of HOOK_KINDS) await removeLeftover(kube, { kind, namespace, name: HOOK.name })
  for (const line of keptLines(namespace, state)) out.note(line)
}

/** Deletes an object of the hook, unless another product made it: the original has the same names. */
async function removeLeftover(kube: Kube, ref: ObjectRef): Promise<void> {
  try {
    if ((await kube.find(ref))?.metadata.labels?.[HOOK.label] === HOOK.chart) await kube.delete(ref)
  } catch (error) {
    // Without its Secret the others give no access. An account that may not read roles cannot have installed them.
    if (ref.kind === 'Secret' || !isFault(error, 'cluster-refused')) throw error
  }
}

/** Returns lines that say what `removeState` keeps, and how to remove credentials. */
export function keptLines(namespace: string, { stored, isOwn, clusters }: RuntimeState): string[] {
  return [
    ...(stored !== undefined && !isOwn
      ? [`Kept: integrations, Git tokens and the Secret ${TOKEN_SECRET.name} of ${namespace}, which ${describeOwner(stored)}.`]
      : []),
    ...(clusters.length > 0
      ? [
          `Kept: the Secrets with credentials of managed clusters, which Argo CD uses: ${clusters.join(', ')}. ` +
            `Remove them with \`kubectl --namespace ${namespace} delete secrets --selector ${CLUSTER_LABEL}\`.`,
        ]
      : []),
  ]
}
