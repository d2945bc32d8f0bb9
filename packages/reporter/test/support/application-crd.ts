/** A definition of applications of our own making, for clusters without Argo CD. Like that of Argo CD it has no subresource for the status, and it checks nothing. */
import { ALL_NAMESPACES } from '@windlass/kube'
import type { Cluster } from '../../../../e2e/support/cluster.ts'

const NAME = 'applications.argoproj.io'
/** Label of the definition that tests make. */
const OWN = 'windlass.io/test'
const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: NAME, labels: { [OWN]: 'applications' } },
  spec: {
    group: 'argoproj.io',
    names: { kind: 'Application', listKind: 'ApplicationList', plural: 'applications', singular: 'application' },
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

/** Serves applications, unless the cluster does already. */
export async function serveApplications(cluster: Cluster): Promise<void> {
  const found = await cluster.kubectl('get', 'customresourcedefinition', NAME, '--ignore-not-found', '--output', 'name')
  if (found.trim() === '') await cluster.apply(DEFINITION)
  await cluster.kubectl('wait', '--for=condition=established', '--timeout=60s', `customresourcedefinition/${NAME}`)
}

/** Removes the definition, unless it is that of an Argo CD or applications exist, which others have made. */
export async function stopServingApplications(cluster: Cluster): Promise<void> {
  if ((await cluster.names({ kind: 'Application', namespace: ALL_NAMESPACES })).length > 0) return
  const own = ['customresourcedefinition', '--selector', `${OWN}=applications`, '--field-selector', `metadata.name=${NAME}`]
  await cluster.kubectl('delete', ...own, '--wait=false')
}
