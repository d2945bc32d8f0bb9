/**
 * The right of an agent to renew its own token in the cluster of a runtime. It is granted only with a token that expires, because its holder can
 * keep access for as long as the right exists.
 */
import { isFault } from '@windlass/kit/faults'
import { refOf, type Kube, type KubeObject } from '@windlass/kube'

interface Account {
  readonly namespace: string
  /** Name of the service account. */
  readonly name: string
}

/** Lets a service account issue tokens of itself, and of no other account. Idempotent. */
export async function grantTokenRenewal(kube: Kube, account: Account): Promise<void> {
  for (const object of objectsOf(account))
    await kube.create(object).catch((error: unknown) => {
      if (!isFault(error, 'conflict')) throw error
    })
}

/** Takes the right back. Missing objects are ignored. */
export async function revokeTokenRenewal(kube: Kube, account: Account): Promise<void> {
  for (const object of objectsOf(account).toReversed()) await kube.delete(refOf(object))
}

/** Returns the Role and its binding. Pure. */
function objectsOf({ namespace, name }: Account): KubeObject[] {
  const metadata = { name: `${name}-token`, namespace, labels: { 'app.kubernetes.io/managed-by': 'windlass' } }
  const rules = [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [name], verbs: ['create'] }]
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  return [
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef },
  ]
}
