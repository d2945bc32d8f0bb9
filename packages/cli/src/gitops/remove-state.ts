/** What a GitOps runtime has stored in its namespace and no Helm release owns. */
import { detachRuntime } from '@windlass/app-proxy/detach'
import { CLUSTER_LABEL } from '@windlass/gitops'
import { isFault } from '@windlass/kit/faults'
import type { Kind, Kube, ObjectRef } from '@windlass/kube'
import type { Printer } from '../printer.ts'
import { CHART, CHART_LABEL } from './installed-chart.ts'
import { describeOwner, isOwnToken, TOKEN_SECRET, type StoredToken, type TokenStore } from './token-secret.ts'

/** Label of the ConfigMaps and Secrets of an app-proxy, with the value `git`. */
const INTEGRATION_LABEL = 'io.codefresh.integration-type'
/** Hooks of the chart, whose objects stay after a failure: the one before an installation, whose Secret may have an API key, and the one before a removal. */
export const HOOKS = { install: 'validate-values', remove: 'delete-runtime-from-platform' } as const
/** Labels of the Secrets with tokens of runtimes. */
const INTERNAL = 'app.kubernetes.io/managed-by=windlass,codefresh.io/internal=true'
const HOOK_KINDS: readonly Kind[] = ['Job', 'RoleBinding', 'Role', 'ServiceAccount', 'Secret']

/** The state of a namespace before it is removed. */
export interface RuntimeState {
  readonly stored: StoredToken | undefined
  /** False if the token is of another installation. Integrations and Git tokens are then not of this runtime either. */
  readonly isOwn: boolean
  /** Names of the Secrets with the credentials of managed clusters. */
  readonly clusters: readonly string[]
  /** Names of the Secrets with tokens of other installations, which `--recover` has replaced. */
  readonly copies: readonly string[]
  /** True if there are integrations or Git tokens. */
  readonly hasIntegrations: boolean
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
  const namesOf = async (kind: Kind, labels: string): Promise<string[]> =>
    (await kube.list({ kind, namespace, labels, content: 'metadata' })).map(({ metadata }) => metadata.name)
  const integrations = [
    ...(await namesOf('ConfigMap', `${INTEGRATION_LABEL}=git`)),
    ...(await namesOf('Secret', `${INTEGRATION_LABEL}=git`)),
  ]
  return {
    stored,
    isOwn: stored === undefined ? hasRelease : isOwnToken(stored, runtime, servers),
    clusters: await namesOf('Secret', CLUSTER_LABEL),
    copies: (await namesOf('Secret', INTERNAL)).filter((name) => name.startsWith(`${TOKEN_SECRET.name}-replaced-`)),
    hasIntegrations: integrations.length > 0,
  }
}

/**
 * Deletes the applications of the runtime itself, before what they apply: one of them may apply the chart. What they have applied stays. Those of another installation are kept.
 * Prints what it has deleted.
 */
export async function removeApplications(
  kube: Kube,
  place: { readonly namespace: string; readonly runtime: string },
  { isOwn }: Pick<RuntimeState, 'isOwn'>,
  out: Printer,
): Promise<void> {
  for (const name of isOwn ? await detachRuntime(kube, place) : []) out.note(`application/${name} deleted; its objects stay`)
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
  await removeHook(kube, namespace, HOOKS.install)
  for (const line of keptLines(namespace, state)) out.note(line)
}

/** Deletes what a hook of the chart has left. The one before a removal cannot do this for itself. */
export async function removeHook(kube: Kube, namespace: string, name: (typeof HOOKS)[keyof typeof HOOKS]): Promise<void> {
  for (const kind of HOOK_KINDS) await removeLeftover(kube, { kind, namespace, name })
}

/** Deletes an object of a hook, unless another product made it: the original has the same names. */
async function removeLeftover(kube: Kube, ref: ObjectRef): Promise<void> {
  try {
    if ((await kube.find(ref))?.metadata.labels?.[CHART_LABEL] === CHART) await kube.delete(ref)
  } catch (error) {
    // Without its Secret the others give no access. An account that may not read roles cannot have installed them.
    if (ref.kind === 'Secret' || !isFault(error, 'cluster-refused')) throw error
  }
}

/** Returns lines that say what `removeState` keeps, and how to remove credentials. */
export function keptLines(namespace: string, { stored, isOwn, clusters, copies, hasIntegrations }: RuntimeState): string[] {
  const remove = `kubectl --namespace ${namespace} delete`
  return [
    ...(stored === undefined && !isOwn && hasIntegrations
      ? [
          `Kept: integrations and Git tokens of ${namespace}, because neither a release nor a token says whose they are. ` +
            `Remove them with \`${remove} configmaps,secrets --selector ${INTEGRATION_LABEL}=git\`.`,
        ]
      : []),
    ...(copies.length > 0
      ? [
          `Kept: tokens of other installations, which this one has replaced. Remove them with \`${remove} secrets ${copies.join(' ')}\`.`,
        ]
      : []),
    ...(stored !== undefined && !isOwn
      ? [`Kept: integrations, Git tokens and the Secret ${TOKEN_SECRET.name} of ${namespace}, which ${describeOwner(stored)}.`]
      : []),
    ...(clusters.length > 0
      ? [
          `Kept: the Secrets with credentials of managed clusters, which Argo CD uses: ${clusters.join(', ')}. ` +
            `Remove them with \`${remove} secrets --selector ${CLUSTER_LABEL}\`.`,
        ]
      : []),
  ]
}
