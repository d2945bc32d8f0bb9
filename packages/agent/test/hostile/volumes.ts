/** Volumes that give access to a node or to objects of others. */
import type { Field } from './row.ts'

const source = (kind: string, value: unknown, refused = ''): Field => [
  'spec.volumes',
  [{ name: 'more', [kind]: value }],
  `spec.volumes.0.${kind}${refused === '' ? '' : `.${refused}`}`,
]
const SECRET_ITEMS = [{ key: 'ca.pem', path: 'ca.pem' }]
const token = (fields: object): object => ({ sources: [{ serviceAccountToken: { path: 'token', ...fields } }] })

/** Volumes that no pod may mount. */
export const VOLUMES: readonly Field[] = [
  source('hostPath', { path: '/' }, 'path'),
  source('hostPath', { path: '/var/run/docker.sock', type: 'File' }, 'path'),
  source('hostPath', { path: '/var/lib/kubelet/pods' }, 'path'),
  source('hostPath', { path: '/etc/kubernetes/pki' }, 'path'),
  source('secret', { secretName: 'postgres' }, 'secretName'),
  source('secret', { secretName: 'windlass-agent' }, 'secretName'),
  source('secret', { secretName: 'codefresh-certs-server' }, 'secretName'),
  source('secret', { secretName: 'engine-65a1b2c3d4e5f60718293a4c', items: SECRET_ITEMS }, 'secretName'),
  source('secret', { secretName: 'engine-65a1b2c3d4e5f60718293a4b-retry-1', items: SECRET_ITEMS }, 'secretName'),
  source('secret', { secretName: 'engine-65a1b2c3d4e5f60718293a4b' }, 'items'),
  source('secret', {}, 'secretName'),
  source('persistentVolumeClaim', { claimName: 'postgres-data' }, 'claimName'),
  source('persistentVolumeClaim', { claimName: 'pvc-dind-65a1b2c3d4e5f60718293a4c' }, 'claimName'),
  source('persistentVolumeClaim', { claimName: 'pvc-dind-65a1b2c3d4e5f60718293a4b-retry-1' }, 'claimName'),
  source('projected', token({ audience: 'vault' })),
  source('projected', { sources: [{ secret: { name: 'postgres' } }] }),
  source('csi', { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { secretProviderClass: 'of-others' } }),
  source('ephemeral', { volumeClaimTemplate: { spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } } } }),
  source('nfs', { server: '10.0.0.1', path: '/' }),
  source('iscsi', { targetPortal: '10.0.0.1', iqn: 'x', lun: 0 }),
  source('rbd', { monitors: ['10.0.0.1'], image: 'x' }),
  source('cephfs', { monitors: ['10.0.0.1'] }),
  source('glusterfs', { endpoints: 'x', path: 'y' }),
  source('fc', { wwids: ['x'] }),
  source('flexVolume', { driver: 'x/y' }),
  source('gitRepo', { repository: 'https://evil.example/x' }),
  source('awsElasticBlockStore', { volumeID: 'vol-of-others' }),
  source('gcePersistentDisk', { pdName: 'disk-of-others' }),
  source('azureDisk', { diskName: 'x', diskURI: 'y' }),
  source('azureFile', { secretName: 'postgres', shareName: 'x' }),
  source('vsphereVolume', { volumePath: 'x' }),
  source('portworxVolume', { volumeID: 'x' }),
  source('cinder', { volumeID: 'x' }),
  source('storageos', { volumeName: 'x' }),
  source('image', { reference: 'evil.example/x' }),
  source('futureKind', {}),
  source('emptyDir', { medium: 'HugePages' }, 'medium'),
  source('configMap', { name: 'x', items: [{ key: 'k', path: '../../etc/passwd' }] }, 'items.0.path'),
  source('downwardAPI', { items: [{ path: 'x', resourceFieldRef: { resource: 'limits.cpu' } }] }, 'items.0.resourceFieldRef'),
  ['spec.volumes', [{ name: 'more' }], 'spec.volumes.0'],
  ['spec.volumes', [{ name: 'more', emptyDir: {}, configMap: { name: 'x' } }], 'spec.volumes.0'],
  ['spec.volumes', { name: 'more' }, 'spec.volumes'],
]

const ENGINE_SECRET = 'engine-65a1b2c3d4e5f60718293a4b'

/** Volumes that only the other pod may mount. */
export const VOLUMES_OF_ENGINE: readonly Field[] = [
  source('persistentVolumeClaim', { claimName: 'pvc-dind-65a1b2c3d4e5f60718293a4b' }, 'claimName'),
  source('secret', { secretName: ENGINE_SECRET, items: [{ key: 'server-key.pem', path: 'x' }] }, 'items'),
]
export const VOLUMES_OF_DAEMON: readonly Field[] = [
  source('secret', { secretName: ENGINE_SECRET, items: [{ key: 'bootstrap', path: 'x' }] }, 'items'),
  source('secret', { secretName: ENGINE_SECRET, items: [{ key: 'key.pem', path: 'x' }] }, 'items'),
]

/** With `projected`, `csi`, `ephemeral` and `iscsi` allowed: sources in them that are refused anyway. */
export const LENT_VOLUMES: readonly Field[] = [
  source('projected', token({}), 'sources.0.serviceAccountToken.audience'),
  source('projected', token({ audience: '' }), 'sources.0.serviceAccountToken.audience'),
  source(
    'projected',
    token({ audience: 'https://kubernetes.default.svc.cluster.local' }),
    'sources.0.serviceAccountToken.audience',
  ),
  source('projected', { sources: [{ secret: { name: 'postgres' } }] }, 'sources.0.secret.name'),
  source('projected', { sources: [{ clusterTrustBundle: { name: 'x' } }] }, 'sources.0.clusterTrustBundle'),
  source('projected', { sources: [{ podCertificate: { signerName: 'x' } }] }, 'sources.0.podCertificate'),
  source('csi', { driver: 'x', nodePublishSecretRef: { name: 'postgres' } }, 'nodePublishSecretRef.name'),
  source(
    'ephemeral',
    {
      volumeClaimTemplate: {
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'of-others',
          resources: { requests: { storage: '1Gi' } },
        },
      },
    },
    'volumeClaimTemplate.spec.storageClassName',
  ),
  source('iscsi', { targetPortal: '10.0.0.1', secretRef: { name: 'postgres' } }, 'secretRef'),
]
