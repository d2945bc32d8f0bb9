/** Checks the user's permissions for the objects of the chart. Kubernetes lets users grant only permissions that they have. */
import { checkRights, resourceOf, type Right } from '@windlass/kube'
import type { Finding, Subject } from './finding.ts'

interface Need {
  readonly group: string
  readonly resource: string
  readonly subresource?: 'status' | 'log'
  readonly verbs: readonly string[]
  /** True for the whole cluster instead of the namespace. */
  readonly wide?: true
}

const WRITE = ['create', 'update', 'patch', 'delete'] as const
const READ = ['get', 'list', 'watch'] as const
const RBAC = 'rbac.authorization.k8s.io'

const AGENT: readonly Need[] = [
  { group: 'apps', resource: 'deployments', verbs: ['get', ...WRITE] },
  { group: '', resource: 'pods', subresource: 'log', verbs: ['get'] },
  { group: '', resource: 'secrets', verbs: WRITE },
  { group: '', resource: 'configmaps', verbs: ['get'] },
  { group: '', resource: 'serviceaccounts', verbs: ['create', 'delete'] },
  { group: RBAC, resource: 'roles', verbs: WRITE },
  { group: RBAC, resource: 'rolebindings', verbs: WRITE },
  { group: RBAC, resource: 'clusterrolebindings', verbs: WRITE, wide: true },
  { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'patch'] },
  { group: '', resource: 'persistentvolumeclaims', subresource: 'status', verbs: ['patch'] },
]
const RUNTIME: readonly Need[] = [
  { group: '', resource: 'serviceaccounts', verbs: ['create', 'delete'] },
  { group: '', resource: 'configmaps', verbs: ['get', ...WRITE] },
  { group: '', resource: 'services', verbs: WRITE },
  { group: RBAC, resource: 'roles', verbs: WRITE },
  { group: RBAC, resource: 'rolebindings', verbs: WRITE },
  { group: '', resource: 'persistentvolumeclaims', verbs: WRITE },
  { group: '', resource: 'pods', verbs: WRITE },
  { group: 'batch', resource: 'jobs', verbs: WRITE },
]
const PROVISIONER: readonly Need[] = [
  { group: '', resource: 'persistentvolumes', verbs: [...READ, 'create', 'delete', 'patch'], wide: true },
  { group: '', resource: 'persistentvolumeclaims', verbs: [...READ, 'update', 'patch'], wide: true },
  { group: '', resource: 'persistentvolumeclaims', subresource: 'status', verbs: ['patch'], wide: true },
  { group: 'storage.k8s.io', resource: 'storageclasses', verbs: [...READ, 'create'], wide: true },
  { group: '', resource: 'nodes', verbs: READ, wide: true },
  { group: '', resource: 'events', verbs: [...READ, 'create', 'update', 'patch'], wide: true },
  { group: '', resource: 'secrets', verbs: ['get', 'list'], wide: true },
  { group: '', resource: 'pods', verbs: [...READ, 'create', 'delete', 'patch'], wide: true },
  { group: RBAC, resource: 'clusterroles', verbs: WRITE, wide: true },
  { group: 'apps', resource: 'daemonsets', verbs: WRITE },
  { group: 'batch', resource: 'cronjobs', verbs: WRITE },
  { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'patch'] },
]
const MONITOR: readonly Need[] = [
  { group: 'apps', resource: '*', verbs: READ },
  { group: '', resource: '*', verbs: READ },
  { group: 'batch', resource: 'cronjobs', verbs: READ },
  { group: 'batch', resource: 'jobs', verbs: READ },
  { group: 'networking.k8s.io', resource: 'ingresses', verbs: READ },
]

const PROXY: readonly Need[] = [
  { group: 'apps', resource: 'deployments', verbs: ['get', ...WRITE] },
  { group: '', resource: 'services', verbs: WRITE },
  { group: '', resource: 'serviceaccounts', verbs: ['create', 'delete'] },
  { group: '', resource: 'secrets', verbs: ['get', 'list', ...WRITE] },
  { group: '', resource: 'configmaps', verbs: ['get', 'list', ...WRITE] },
  { group: RBAC, resource: 'roles', verbs: WRITE },
  { group: RBAC, resource: 'rolebindings', verbs: WRITE },
]
const PROXY_INGRESS: readonly Need[] = [...PROXY, { group: 'networking.k8s.io', resource: 'ingresses', verbs: WRITE }]
const PROXY_ROUTE: readonly Need[] = [...PROXY, { group: 'gateway.networking.k8s.io', resource: 'httproutes', verbs: WRITE }]

export const INSTALLER_HINT = 'Install with an account that has it, such as cluster-admin.'

/** The parts of an installation and what their objects need. */
const NEEDS = {
  agent: AGENT,
  runtime: RUNTIME,
  provisioner: PROVISIONER,
  monitor: MONITOR,
  proxyIngress: PROXY_INGRESS,
  proxyRoute: PROXY_ROUTE,
} as const
const TITLES = {
  agent: 'Agent',
  runtime: 'Runtime environment',
  provisioner: 'Volume provisioner',
  monitor: 'Monitor',
  proxyIngress: 'App-proxy with an Ingress',
  proxyRoute: 'App-proxy with an HTTPRoute',
} as const
const PARTS = ['agent', 'runtime', 'provisioner', 'monitor', 'proxyIngress', 'proxyRoute'] as const

/** Returns the permissions of each part as Markdown tables, for the reference. */
export function describeRights(): string {
  return PARTS.map((part) => {
    const rows = NEEDS[part].map(({ verbs, wide, ...need }) => {
      const place = wide === undefined ? 'namespace' : 'cluster'
      return `| \`${resourceOf(need)}\` | ${verbs.join(', ')} | ${place} |`
    })
    return [`## ${TITLES[part]}`, '', '| resource | verbs | where |', '|---|---|---|', ...rows, ''].join('\n')
  }).join('\n')
}

/** Checks all permissions at once. Lists the missing ones, one finding per resource. */
export async function testRights(subject: Subject): Promise<readonly Finding[]> {
  return checkRights(subject.kube, neededRights(subject), INSTALLER_HINT)
}

/** Returns the needed permissions without duplicates. Pure. */
export function neededRights({ namespace, parts }: Pick<Subject, 'namespace' | 'parts'>): Right[] {
  const needs = PARTS.flatMap((part) => (parts[part] === true ? NEEDS[part] : []))
  const rights = needs.flatMap(({ verbs, wide, ...need }) =>
    verbs.map((verb): Right => ({ verb, ...need, ...(wide === undefined && { namespace }) })),
  )
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()]
}
