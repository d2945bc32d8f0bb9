/**
 * The right of an agent to renew its own token in the cluster of a runtime. It is granted only with a token that expires, because its holder can
 * keep access for as long as the right exists. Each runtime has its own Role: runtimes of several agents can share a namespace and an account.
 */
import { sha256 } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { refOf, type Kube, type KubeObject } from '@windlass/kube'
import { labelValue } from '@windlass/protocol'

interface Account {
  readonly namespace: string
  /** Name of the service account. */
  readonly name: string
}

export interface Renewal extends Account {
  /** Name of the runtime whose agent renews its token. */
  readonly runtime: string
}

/** Label of the objects, with the name of the account. */
const RENEWS = 'windlass.io/renews-token-of'

/** Lets a service account issue tokens of itself, and of no other account. Idempotent. */
export async function grantTokenRenewal(kube: Kube, renewal: Renewal): Promise<void> {
  for (const object of objectsOf(renewal))
    await kube.create(object).catch((error: unknown) => {
      if (!isFault(error, 'conflict')) throw error
    })
}

/** Revokes the right of one runtime. Ignores missing objects. */
export async function revokeTokenRenewal(kube: Kube, renewal: Renewal): Promise<void> {
  for (const object of objectsOf(renewal).toReversed()) await kube.delete(refOf(object))
}

/** Revokes the rights of all runtimes of an account. */
export async function revokeTokenRenewals(kube: Kube, { namespace, name }: Account): Promise<void> {
  for (const kind of ['RoleBinding', 'Role'] as const)
    for (const { metadata } of await kube.list({ kind, namespace, labels: `${RENEWS}=${labelValue(name)}` }))
      await kube.delete({ kind, namespace, name: metadata.name })
}

/** Returns the Role and its binding. Pure. */
function objectsOf({ namespace, name, runtime }: Renewal): KubeObject[] {
  const labels = { 'app.kubernetes.io/managed-by': 'windlass', [RENEWS]: labelValue(name) }
  const metadata = { name: `${name}-token-${sha256(runtime).slice(0, 8)}`, namespace, labels }
  const rules = [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [name], verbs: ['create'] }]
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  return [
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef },
  ]
}
