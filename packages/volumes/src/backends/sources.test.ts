import { expect, test } from 'vitest'
import { azureDisk, createBody } from './azuredisk.ts'
import { createParameters, ebsDisk } from './ebs.ts'
import { gceDisk, insertBody } from './gcedisk.ts'
import { helperPod } from './helper-pod.ts'
import { readParameters, type AzureDiskParameters, type EbsParameters, type GceDiskParameters } from './parameters.ts'

const wanted = {
  key: '0123456789ab',
  sizeBytes: 16 * 2 ** 30,
  tags: { 'windlass-owner': 'Lease-1', Name: 'dind-volume-0123456789ab' },
}
const inZone = (zone: string): object => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }] }],
  },
})
const ebs = (more: Record<string, string>): EbsParameters =>
  readParameters('c', { volumeBackend: 'ebs', AvailabilityZone: 'eu-west-1b', ...more }) as EbsParameters
const gce = readParameters('c', { volumeBackend: 'gcedisk', zone: 'us-central1-a' }) as GceDiskParameters
const azure = (more: Record<string, string>): AzureDiskParameters =>
  readParameters('c', { volumeBackend: 'azuredisk', availabilityZone: 'westeurope-2', ...more }) as AzureDiskParameters

test('describes an EBS volume for either driver, in its zone (R082, R093)', () => {
  expect(ebsDisk(ebs({}), 'vol-1').spec).toEqual({
    awsElasticBlockStore: { volumeID: 'aws://eu-west-1b/vol-1', fsType: 'ext4' },
    nodeAffinity: inZone('eu-west-1b'),
  })
  expect(ebsDisk(ebs({ volumeBackend: 'ebs-csi', fsType: 'xfs' }), 'vol-1').spec).toEqual({
    csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1', fsType: 'xfs' },
    nodeAffinity: inZone('eu-west-1b'),
  })
})

test('describes a Google disk by its name, in its zone (R084)', () => {
  expect(gceDisk(gce, 'dind-volume-1').spec).toEqual({
    gcePersistentDisk: { pdName: 'dind-volume-1', fsType: 'ext4' },
    nodeAffinity: inZone('us-central1-a'),
  })
})

test('describes an Azure disk by its URI, for either driver (R085)', () => {
  const disk = { id: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d', name: 'd' }
  expect(azureDisk(azure({}), disk).spec).toEqual({
    azureDisk: { kind: 'Managed', diskName: 'd', diskURI: disk.id, cachingMode: 'None', fsType: 'ext4' },
    nodeAffinity: inZone('westeurope-2'),
  })
  const csi = azureDisk(azure({ volumeBackend: 'azuredisk-csi', cachingMode: 'ReadOnly' }), disk)
  expect(csi.spec['csi']).toEqual({
    driver: 'disk.csi.azure.com',
    volumeHandle: disk.id,
    fsType: 'ext4',
    volumeAttributes: { kind: 'managed', skuName: 'Premium_LRS', cachingMode: 'ReadOnly' },
  })
})

test('passes encryption, its key, operations and throughput to the call that creates a volume (R091)', () => {
  const parameters = ebs({ encrypted: 'true', kmsKeyId: 'arn:aws:kms:k', iops: '5000', throughput: '500' })
  expect(createParameters(parameters, { ...wanted, sizeBytes: 16e9 })).toEqual({
    AvailabilityZone: 'eu-west-1b',
    VolumeType: 'gp3',
    Size: '15',
    ClientToken: '0123456789ab',
    Encrypted: 'true',
    KmsKeyId: 'arn:aws:kms:k',
    Iops: '5000',
    Throughput: '500',
    'TagSpecification.1.ResourceType': 'volume',
    'TagSpecification.1.Tag.1.Key': 'windlass-owner',
    'TagSpecification.1.Tag.1.Value': 'Lease-1',
    'TagSpecification.1.Tag.2.Key': 'Name',
    'TagSpecification.1.Tag.2.Value': 'dind-volume-0123456789ab',
  })
})

test('sends size, kind, location and owner to Google and Azure', () => {
  expect(insertBody(gce, wanted)).toEqual({
    name: 'dind-volume-0123456789ab',
    sizeGb: '16',
    type: 'zones/us-central1-a/diskTypes/pd-ssd',
    labels: { 'windlass-owner': 'lease-1', name: 'dind-volume-0123456789ab' },
  })
  expect(createBody(azure({ DiskIOPSReadWrite: '5000' }), wanted, 'westeurope')).toEqual({
    location: 'westeurope',
    sku: { name: 'Premium_LRS' },
    zones: ['2'],
    tags: wanted.tags,
    properties: { creationData: { createOption: 'Empty' }, diskSizeGB: 16, diskIOPSReadWrite: 5000 },
  })
})

test('gives a helper pod only the folder of disks, without a shell, on a node that may be cordoned', () => {
  const settings = {
    image: 'registry.example.com/windlass/windlass',
    namespace: 'ns',
    isPrivileged: false,
    imagePullSecrets: ['pull'],
    resources: { requests: { cpu: '10m' }, limits: { cpu: '200m' } },
  }
  const job = {
    name: 'dind-disk-remove-1',
    node: 'n1',
    parentDir: '/disks-of-node',
    command: ['rm', '-rf', '--', '/disks/vol-1'],
  }
  expect(helperPod(job, settings)).toMatchObject({
    metadata: { namespace: 'ns', labels: { app: 'dind-volume-helper' } },
    spec: {
      nodeName: 'n1',
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: [{ name: 'pull' }],
      containers: [
        {
          command: ['rm', '-rf', '--', '/disks/vol-1'],
          resources: settings.resources,
          securityContext: { privileged: false, capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'] } },
        },
      ],
      volumes: [{ hostPath: { path: '/disks-of-node' } }],
    },
  })
  expect(helperPod(job, { ...settings, isPrivileged: true })).toMatchObject({
    spec: { containers: [{ securityContext: { privileged: true } }] },
  })
})
