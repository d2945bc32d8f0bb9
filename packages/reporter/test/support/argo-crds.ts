/** Definitions of applications and rollouts of our own making, for clusters without Argo CD and Argo Rollouts. They have no subresource for the status, and they check nothing. */
import { ALL_NAMESPACES } from '@windlass/kube'
import type { Cluster } from '../../../../e2e/support/cluster.ts'

const KINDS = ['Application', 'Rollout'] as const
/** Label of the definitions that tests make. */
const OWN = 'windlass.io/test'
const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const nameOf = (kind: string): string => `${kind.toLowerCase()}s.argoproj.io`

function definition(kind: string): object {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: nameOf(kind), labels: { [OWN]: 'reports' } },
    spec: {
      group: 'argoproj.io',
      names: { kind, listKind: `${kind}List`, plural: `${singular}s`, singular },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: ANYTHING, status: ANYTHING, operation: ANYTHING } } },
        },
      ],
    },
  }
}

/** Serves applications and rollouts, unless the cluster does already. */
export async function serveReportedKinds(cluster: Cluster): Promise<void> {
  const names = KINDS.map((kind) => `customresourcedefinition/${nameOf(kind)}`)
  const found = await cluster.kubectl('get', ...names, '--ignore-not-found', '--output', 'name')
  await cluster.apply(...KINDS.filter((kind) => !found.includes(nameOf(kind))).map(definition))
  await cluster.kubectl('wait', '--for=condition=established', '--timeout=60s', ...names)
}

/** Removes the definitions, unless they are those of an Argo CD or objects exist, which others have made. */
export async function stopServingReportedKinds(cluster: Cluster): Promise<void> {
  for (const kind of KINDS) if ((await cluster.names({ kind, namespace: ALL_NAMESPACES })).length > 0) return
  await cluster.kubectl('delete', 'customresourcedefinition', '--selector', `${OWN}=reports`, '--wait=false')
}
