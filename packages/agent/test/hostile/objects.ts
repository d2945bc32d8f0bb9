/** Secrets, claims, metadata and kinds that give access to objects of others. */
import type { Field } from './row.ts'

/** Fields of every object. */
export const METADATA: readonly Field[] = [
  ['apiVersion', 'v2'],
  ['status', { phase: 'Running' }],
  ['metadata.namespace', 'kube-system'],
  ['metadata.namespace', undefined],
  ['metadata.name', 'postgres'],
  ['metadata.generateName', 'x-'],
  ['metadata.ownerReferences', [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'y' }]],
  ['metadata.finalizers', ['example.com/never']],
  ['metadata.managedFields', []],
  ['metadata.labels.[windlass.io/build]', '65a1b2c3d4e5f60718293a4c'],
  ['metadata.labels.[windlass.io/attempt]', '2'],
  ['metadata.labels.[windlass.io/runtime]', 'of-others'],
  ['metadata.labels.[windlass.io/expires]', 'never'],
  // Services, network policies and webhooks select pods by such labels.
  ['metadata.labels.[app.kubernetes.io/name]', 'postgres'],
  ['metadata.labels.[azure.workload.identity/use]', 'true'],
]

/** Metadata of pods that webhooks, container runtimes and network plugins read. */
export const POD_METADATA: readonly Field[] = [
  ['metadata.labels.app', 'runner'],
  ['metadata.annotations.[vault.hashicorp.com/agent-inject]', 'true'],
  ['metadata.annotations.[iam.amazonaws.com/role]', 'admin'],
  ['metadata.annotations.[container.apparmor.security.beta.kubernetes.io/dind]', 'unconfined'],
  ['metadata.annotations.[k8s.v1.cni.cncf.io/networks]', 'node-network'],
  ['metadata.annotations.[io.kubernetes.cri-o.userns-mode]', 'auto'],
  ['metadata.annotations.[windlass.io/placement]', '{}'],
]

export const SECRET_FIELDS: readonly Field[] = [
  ['type', 'kubernetes.io/service-account-token'],
  ['type', 'kubernetes.io/dockerconfigjson'],
  ['type', 'bootstrap.kubernetes.io/token'],
  ['type', undefined],
  ['metadata.annotations', { 'kubernetes.io/service-account.name': 'windlass-agent' }],
  ['metadata.annotations', {}],
  ['data', { token: '' }],
  ['immutable', false],
  ['immutable', undefined],
  ['stringData.token', 'x'],
  ['stringData.bootstrap', undefined],
  ['stringData.bootstrap', 7],
  ['stringData', undefined],
]

const annotation = (key: string): string => `metadata.annotations.[${key}]`
const PLACEMENT = annotation('windlass.io/placement')

export const CLAIM_FIELDS: readonly Field[] = [
  ['spec.dataSource', { kind: 'PersistentVolumeClaim', name: 'postgres-data' }],
  ['spec.dataSourceRef', { kind: 'VolumeSnapshot', name: 'postgres', namespace: 'prod' }],
  ['spec.volumeName', 'volume-of-others'],
  ['spec.selector', { matchLabels: { app: 'postgres' } }],
  ['spec.volumeMode', 'Block'],
  ['spec.volumeAttributesClassName', 'x'],
  ['spec.storageClassName', 'of-others'],
  ['spec.storageClassName', ''],
  ['spec.storageClassName', undefined],
  ['spec.accessModes', ['ReadWriteMany'], 'spec.accessModes.0'],
  ['spec.accessModes', []],
  ['spec.resources', { requests: { storage: 'all' } }, 'spec.resources.requests.storage'],
  ['spec.resources', { requests: { storage: '16Gi' }, limits: { storage: '1Ti' } }, 'spec.resources.limits'],
  [annotation('windlass.io/bound-by'), 'agent'],
  [annotation('windlass.io/keep-until'), '2099-01-01T00:00:00Z'],
  [annotation('windlass.io/kept'), 'true'],
  [annotation('pv.kubernetes.io/bind-completed'), 'yes'],
  [annotation('volume.kubernetes.io/selected-node'), 'control-plane-1'],
  [annotation('volume.beta.kubernetes.io/storage-class'), 'of-others'],
  [annotation('volume.kubernetes.io/storage-provisioner'), 'of-others'],
  [PLACEMENT, 'no json'],
  [PLACEMENT, JSON.stringify({ nodeSelector: { 'node-role.kubernetes.io/control-plane': '' } })],
  [PLACEMENT, JSON.stringify({ tolerations: [{ operator: 'Exists' }] })],
  [PLACEMENT, JSON.stringify({ nodeName: 'control-plane-1' })],
  ['metadata.labels.[codefresh-app]', 'other'],
]

export const KINDS: readonly (readonly [apiVersion: string, kind: string])[] = [
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'DaemonSet'],
  ['batch/v1', 'Job'],
  ['batch/v1', 'CronJob'],
  ['v1', 'ServiceAccount'],
  ['v1', 'ConfigMap'],
  ['v1', 'Service'],
  ['v1', 'PersistentVolume'],
  ['v1', 'Namespace'],
  ['v1', 'Node'],
  ['v1', 'PodTemplate'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration'],
  ['v1', '__proto__'],
]
