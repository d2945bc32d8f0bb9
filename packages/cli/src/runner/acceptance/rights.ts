/** Whether whoever installs may make what the chart brings: Kubernetes lets nobody hand out rights that they do not have. */
import type { Right } from '@windlass/kube'
import type { Finding, Subject } from './finding.ts'

interface Need {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly string[]
  /** In the whole cluster in place of the namespace. */
  readonly wide?: true
}

const MAKE = ['create', 'update', 'delete'] as const
const LOOK = ['get', 'list', 'watch'] as const
const RBAC = 'rbac.authorization.k8s.io'

const AGENT: readonly Need[] = [
  { group: 'apps', resource: 'deployments', verbs: MAKE },
  { group: '', resource: 'secrets', verbs: MAKE },
  { group: '', resource: 'serviceaccounts', verbs: ['create', 'delete'] },
  { group: RBAC, resource: 'roles', verbs: MAKE },
  { group: RBAC, resource: 'rolebindings', verbs: MAKE },
  { group: RBAC, resource: 'clusterrolebindings', verbs: MAKE, wide: true },
]
const RUNTIME: readonly Need[] = [
  { group: '', resource: 'serviceaccounts', verbs: ['create', 'delete'] },
  { group: '', resource: 'configmaps', verbs: MAKE },
  { group: '', resource: 'services', verbs: MAKE },
  { group: RBAC, resource: 'roles', verbs: MAKE },
  { group: RBAC, resource: 'rolebindings', verbs: MAKE },
  { group: '', resource: 'persistentvolumeclaims', verbs: MAKE },
  { group: '', resource: 'pods', verbs: MAKE },
]
const PROVISIONER: readonly Need[] = [
  { group: '', resource: 'persistentvolumes', verbs: [...LOOK, 'create', 'delete', 'patch'], wide: true },
  { group: '', resource: 'persistentvolumeclaims', verbs: [...LOOK, 'update'], wide: true },
  { group: 'storage.k8s.io', resource: 'storageclasses', verbs: [...LOOK, 'create'], wide: true },
  { group: '', resource: 'nodes', verbs: LOOK, wide: true },
  { group: '', resource: 'events', verbs: ['list', 'watch', 'create', 'update', 'patch'], wide: true },
  { group: '', resource: 'secrets', verbs: ['get', 'list'], wide: true },
  { group: '', resource: 'pods', verbs: [...LOOK, 'create', 'delete', 'patch'], wide: true },
  { group: RBAC, resource: 'clusterroles', verbs: MAKE, wide: true },
  { group: 'apps', resource: 'daemonsets', verbs: MAKE },
  { group: 'batch', resource: 'cronjobs', verbs: MAKE },
]
const MONITOR: readonly Need[] = [
  { group: 'apps', resource: '*', verbs: LOOK },
  { group: '', resource: '*', verbs: LOOK },
]

/** Asks for every right at once; those that lack are listed, one line for each resource. */
export async function testRights(subject: Subject): Promise<readonly Finding[]> {
  const needs = neededRights(subject)
  const answers = await Promise.all(needs.map(async (right) => ({ right, allowed: await subject.kube.can(right) })))
  return judgeRights(answers)
}

/** Pure: each right once. */
export function neededRights({ namespace, parts }: Pick<Subject, 'namespace' | 'parts'>): Right[] {
  const needs = [
    ...(parts.agent ? AGENT : []),
    ...(parts.runtime ? RUNTIME : []),
    ...(parts.provisioner ? PROVISIONER : []),
    ...(parts.monitor ? MONITOR : []),
  ]
  const rights = needs.flatMap(({ group, resource, verbs, wide }) =>
    verbs.map((verb): Right => ({ verb, group, resource, ...(wide === undefined && { namespace }) })),
  )
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()]
}

/** Pure part of `testRights`. */
export function judgeRights(answers: readonly { readonly right: Right; readonly allowed: boolean }[]): Finding[] {
  const missing = new Map<string, string[]>()
  for (const { right, allowed } of answers) {
    if (allowed) continue
    const kind = right.group === '' ? right.resource : `${right.resource}.${right.group}`
    const place = `${kind} ${right.namespace === undefined ? 'in the whole cluster' : `in namespace ${right.namespace}`}`
    missing.set(place, [...(missing.get(place) ?? []), right.verb])
  }
  if (missing.size === 0) return [{ check: 'rights', status: 'pass', message: `${answers.length} rights are there` }]
  return [...missing].map(([place, verbs]) => ({
    check: 'rights',
    status: 'fail',
    message: `You may not ${verbs.join(', ')} ${place}.`,
    hint: 'Install with an account that may, such as cluster-admin.',
  }))
}
