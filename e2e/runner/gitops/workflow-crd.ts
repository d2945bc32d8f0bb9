/** Definitions of Argo Workflows of our own making, for clusters without it. Like those of Argo Workflows they have no subresource for the status, and they check nothing. */
import type { Cluster } from '../../support/cluster.ts'

const KINDS = ['Workflow', 'WorkflowTemplate'] as const
const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const nameOf = (kind: string): string => `${kind.toLowerCase()}s.argoproj.io`

function definition(kind: string): object {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: nameOf(kind) },
    spec: {
      group: 'argoproj.io',
      names: { kind, listKind: `${kind}List`, plural: `${singular}s`, singular },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: ANYTHING, status: ANYTHING } } },
        },
      ],
    },
  }
}

/** Serves workflows and their templates. The end of the scope removes the definitions. */
export async function serveWorkflows(cluster: Cluster): Promise<AsyncDisposable> {
  await cluster.apply(...KINDS.map(definition))
  const names = KINDS.map((kind) => `customresourcedefinition/${nameOf(kind)}`)
  await cluster.kubectl('wait', '--for=condition=established', '--timeout=60s', ...names)
  return { [Symbol.asyncDispose]: async () => void (await cluster.kubectl('delete', '--wait=false', ...names)) }
}
