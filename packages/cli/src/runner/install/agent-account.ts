/**
 * The service account for an agent in another namespace or cluster. Its permissions come from the chart, and are those of an agent in the same
 * namespace.
 */
import { isFault } from '@windlass/kit/faults'
import { isKind, KubeObject, refOf, type Kube } from '@windlass/kube'
import { revokeTokenRenewals } from '../attach/token-renewal.ts'
import type { Tree } from '../values/read-values.ts'
import { mergeTrees } from '../values/read-values.ts'
import type { InstallTarget } from './target.ts'

/** Name of the service account. */
export const AGENT_ACCOUNT = 'runner'
const KINDS = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']

/** Creates or updates the account and its permissions. */
export async function applyAgentAccount(target: InstallTarget, values: Tree): Promise<void> {
  for (const object of await accountObjects(target, values)) await applyObject(target.cluster.kube, object)
}

/** Deletes the account and its permissions. Missing objects are ignored. */
export async function removeAgentAccount(target: InstallTarget, values: Tree): Promise<void> {
  await revokeTokenRenewals(target.cluster.kube, { namespace: target.namespace, name: AGENT_ACCOUNT })
  for (const object of await accountObjects(target, values)) await target.cluster.kube.delete(refOf(object))
}

async function accountObjects(target: InstallTarget, values: Tree): Promise<KubeObject[]> {
  const token = { global: { agentTokenSecretKeyRef: { name: AGENT_ACCOUNT, key: 'unused' } } }
  const whole = mergeTrees(mergeTrees(values, token), { runner: { enabled: true, name: AGENT_ACCOUNT } })
  const rendered = await target.helm().render(target.release, whole)
  return rendered
    .filter(
      ({ kind, name }) => KINDS.includes(kind) && (name === AGENT_ACCOUNT || name === `${AGENT_ACCOUNT}-${target.namespace}`),
    )
    .map(({ document }) => KubeObject.parse(document))
}

async function applyObject(kube: Kube, object: KubeObject): Promise<void> {
  if (!isKind(object.kind)) return
  try {
    await kube.create(object)
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    const { apiVersion: _version, kind: _kind, ...fields } = object
    await kube.patch(refOf(object), fields)
  }
}
