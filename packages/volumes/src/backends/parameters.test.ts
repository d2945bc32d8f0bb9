import { expect, test } from 'vitest'
import { readParameters } from './parameters.ts'

const read = (raw: Record<string, string>): object => readParameters('dind', raw)
const ebs = { volumeBackend: 'ebs-csi', AvailabilityZone: 'us-east-1a' }

test('uses the folder of the public provisioner or the one of the class for local disks (R081, R083)', () => {
  expect(read({})).toEqual({ volumeBackend: 'local', volumeParentDir: '/var/lib/codefresh/dind-volumes' })
  expect(read({ volumeBackend: 'local', volumeParentDir: '/mnt/disks/ssd0/codefresh-volumes' })).toMatchObject({
    volumeParentDir: '/mnt/disks/ssd0/codefresh-volumes',
  })
})

test('has defaults for EBS, and reads encryption with its key (R090, R091)', () => {
  expect(read(ebs)).toEqual({ ...ebs, VolumeType: 'gp3', fsType: 'ext4', encrypted: false })
  expect(
    read({ ...ebs, fsType: 'xfs', encrypted: 'true', kmsKeyId: 'arn:aws:kms:k', iops: '5000', throughput: '500' }),
  ).toMatchObject({
    fsType: 'xfs',
    encrypted: true,
    kmsKeyId: 'arn:aws:kms:k',
    iops: 5000,
    throughput: 500,
  })
  expect(read({ ...ebs, VolumeType: 'io1', iops: '100' })).toMatchObject({ iops: 100 })
})

test('has the defaults of the public provisioner for Google and Azure (R084, R085)', () => {
  expect(read({ volumeBackend: 'gcedisk', zone: 'us-central1-a' })).toMatchObject({ type: 'pd-ssd', fsType: 'ext4' })
  expect(read({ volumeBackend: 'azuredisk' })).toMatchObject({ skuName: 'Premium_LRS', kind: 'managed', cachingMode: 'None' })
  const fast = { volumeBackend: 'azuredisk-csi', skuName: 'UltraSSD_LRS', DiskIOPSReadWrite: '5000', DiskMBpsReadWrite: '200' }
  expect(read(fast)).toMatchObject({ DiskIOPSReadWrite: 5000, DiskMBpsReadWrite: 200 })
})

test.each([
  ['a zone that is missing', { volumeBackend: 'ebs' }, 'AvailabilityZone is required: EBS disks are in one zone'],
  ['a region for a zone', { ...ebs, AvailabilityZone: 'us-east-1' }, 'AvailabilityZone must be a zone such as us-east-1a'],
  ['an unknown type', { ...ebs, VolumeType: 'gp4' }, 'VolumeType must be gp2, gp3 or io1'],
  [
    'too much throughput',
    { ...ebs, iops: '16000', throughput: '1001' },
    'throughput must be a whole number from 125 to 1000 MiB/s',
  ],
  ['too many operations', { ...ebs, iops: '16001' }, 'iops must be from 3000 to 16000 for gp3'],
  [
    'more throughput than the operations allow',
    { ...ebs, throughput: '1000' },
    'throughput must be at most a quarter of iops, here 750',
  ],
  ['operations of gp2', { ...ebs, VolumeType: 'gp2', iops: '3000' }, 'iops is only for gp3 and io1'],
  ['io1 without operations', { ...ebs, VolumeType: 'io1' }, 'iops is required for io1'],
  ['a number with a unit', { ...ebs, iops: '3k' }, 'iops must be a whole number from 100 to 64000'],
  ['a key without encryption', { ...ebs, kmsKeyId: 'k' }, 'kmsKeyId requires encrypted: "true"'],
  ['an invalid boolean', { ...ebs, encrypted: 'yes' }, 'encrypted must be "true" or "false"'],
  ['another file system', { ...ebs, fsType: 'ntfs' }, 'fsType must be ext4 or xfs'],
  ['a regional disk', { volumeBackend: 'gcedisk', zone: 'us-central1' }, 'regional disks are not supported'],
  [
    'an unknown backend',
    { volumeBackend: 'floppy' },
    'volumeBackend must be one of local, ebs, ebs-csi, gcedisk, azuredisk, azuredisk-csi',
  ],
  ['a parameter of another backend', { volumeBackend: 'local', zone: 'a' }, 'zone is not a parameter of local'],
  ['a folder with ..', { volumeParentDir: '/var/../etc' }, 'volumeParentDir must not contain `..`'],
])('refuses %s and names it (R090)', (_what, raw, message) => {
  expect(() => read(raw)).toThrow('The storage class dind is invalid: ')
  expect(() => read(raw)).toThrow(message)
})
