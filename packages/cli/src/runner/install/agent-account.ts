/**
 * The account under which an agent of another namespace or cluster works in this one: the same rights that the chart gives an agent beside it,
 * taken from the chart.
 */
import { isFault } from '@windlass/kit/faults'
import { isKind, KubeObject, refOf, type Kube } from '@windlass/kube'
import type { Tree } from '../values/read-values.ts'
import { mergeTrees } from '../values/read-values.ts'
import type { InstallPlace } from './place.ts'

/** Name of the service account. */
export const AGENT_ACCOUNT = 'runner'
const KINDS = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']

/** Makes or updates the account and its rights. */
export async function applyAgentAccount(place: InstallPlace, values: Tree): Promise<void> {
  for (const object of await accountObjects(place, values)) await applyObject(place.cluster.kube, object)
}

/** Removes them; those that are gone already are no trouble. */
export async function removeAgentAccount(place: InstallPlace, values: Tree): Promise<void> {
  for (const object of await accountObjects(place, values)) await place.cluster.kube.delete(refOf(object))
}

async function accountObjects(place: InstallPlace, values: Tree): Promise<KubeObject[]> {
  const token = { global: { agentTokenSecretKeyRef: { name: AGENT_ACCOUNT, key: 'unused' } } }
  const whole = mergeTrees(mergeTrees(values, token), { runner: { enabled: true, name: AGENT_ACCOUNT } })
  const rendered = await place.helm().render(place.release, whole)
  return rendered
    .filter(
      ({ kind, name }) => KINDS.includes(kind) && (name === AGENT_ACCOUNT || name === `${AGENT_ACCOUNT}-${place.namespace}`),
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
