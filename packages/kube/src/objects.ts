/** Kubernetes objects as plain JSON, and the API paths of their kinds. */
import { fault } from '@windlass/kit'
import { z } from 'zod'

export const Metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  /** Seconds between TERM and KILL that the deletion asked for. */
  deletionGracePeriodSeconds: z.int().optional(),
})
export type Metadata = z.infer<typeof Metadata>

/** Any object; readers of `spec` or `status` validate it with their own shape. */
export const KubeObject = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: Metadata })
export type KubeObject = z.infer<typeof KubeObject>

interface Place {
  /** Path of group and version. */
  readonly api: string
  readonly apiVersion: string
  readonly plural: string
  readonly namespaced: boolean
}

const core = (plural: string, namespaced = true): Place => ({ api: '/api/v1', apiVersion: 'v1', plural, namespaced })

/** Describes a kind of a named group, such as `apps/v1`. */
const of = (apiVersion: string, plural: string, namespaced = true): Place => ({
  api: `/apis/${apiVersion}`,
  apiVersion,
  plural,
  namespaced,
})

/** The kinds that this client supports. */
export const KINDS = {
  Application: of('argoproj.io/v1alpha1', 'applications'),
  AppProject: of('argoproj.io/v1alpha1', 'appprojects'),
  ClusterRole: of('rbac.authorization.k8s.io/v1', 'clusterroles', false),
  ClusterRoleBinding: of('rbac.authorization.k8s.io/v1', 'clusterrolebindings', false),
  ConfigMap: core('configmaps'),
  CronJob: of('batch/v1', 'cronjobs'),
  CSIDriver: of('storage.k8s.io/v1', 'csidrivers', false),
  DaemonSet: of('apps/v1', 'daemonsets'),
  Deployment: of('apps/v1', 'deployments'),
  Event: core('events'),
  HTTPRoute: of('gateway.networking.k8s.io/v1', 'httproutes'),
  Ingress: of('networking.k8s.io/v1', 'ingresses'),
  Job: of('batch/v1', 'jobs'),
  Lease: of('coordination.k8s.io/v1', 'leases'),
  Namespace: core('namespaces', false),
  NetworkPolicy: of('networking.k8s.io/v1', 'networkpolicies'),
  Node: core('nodes', false),
  PersistentVolume: core('persistentvolumes', false),
  PersistentVolumeClaim: core('persistentvolumeclaims'),
  Pod: core('pods'),
  PodDisruptionBudget: of('policy/v1', 'poddisruptionbudgets'),
  PodMonitor: of('monitoring.coreos.com/v1', 'podmonitors'),
  ReplicaSet: of('apps/v1', 'replicasets'),
  ResourceQuota: core('resourcequotas'),
  Role: of('rbac.authorization.k8s.io/v1', 'roles'),
  RoleBinding: of('rbac.authorization.k8s.io/v1', 'rolebindings'),
  Rollout: of('argoproj.io/v1alpha1', 'rollouts'),
  Secret: core('secrets'),
  Service: core('services'),
  ServiceAccount: core('serviceaccounts'),
  StatefulSet: of('apps/v1', 'statefulsets'),
  StorageClass: of('storage.k8s.io/v1', 'storageclasses', false),
  Workflow: of('argoproj.io/v1alpha1', 'workflows'),
  WorkflowTemplate: of('argoproj.io/v1alpha1', 'workflowtemplates'),
} as const satisfies Record<string, Place>
export type Kind = keyof typeof KINDS

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind)
}

/** Names one object. */
export interface ObjectRef {
  readonly kind: Kind
  readonly name: string
  readonly namespace?: string | undefined
}

/** A namespace for all namespaces in a selection. Needs permissions on the whole cluster. */
export const ALL_NAMESPACES = '*'

/**
 * Returns the path of an object or, without a name, of its collection. Throws `cluster-refused` for a namespaced kind without a namespace.
 */
export function pathOf(ref: Omit<ObjectRef, 'name'> & { readonly name?: string | undefined }): string {
  const place: Place = KINDS[ref.kind]
  if (place.namespaced && ref.namespace === undefined)
    throw fault('cluster-refused', { message: `${ref.kind} needs a namespace.` })
  const isScoped = place.namespaced && ref.namespace !== ALL_NAMESPACES
  const scope = isScoped ? `/namespaces/${encodeURIComponent(ref.namespace ?? '')}` : ''
  return `${place.api}${scope}/${place.plural}${ref.name === undefined ? '' : `/${encodeURIComponent(ref.name)}`}`
}

/** Returns the reference of an object. Throws `cluster-refused` for an unsupported kind. */
export function refOf(object: {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}): ObjectRef {
  if (!isKind(object.kind)) throw fault('cluster-refused', { message: `Objects of kind ${object.kind} are not supported.` })
  return { kind: object.kind, name: object.metadata.name, namespace: object.metadata.namespace }
}
