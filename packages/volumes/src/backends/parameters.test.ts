import { expect, test } from 'vitest'
import { readParameters } from './parameters.ts'

const read = (raw: Record<string, string>): object => readParameters('dind', raw)
const ebs = { volumeBackend: 'ebs-csi', AvailabilityZone: 'us-east-1a' }

test('R081, R083: a local class has the folder of the original, or the one of its nodes', () => {
  expect(read({})).toEqual({ volumeBackend: 'local', volumeParentDir: '/var/lib/codefresh/dind-volumes' })
  expect(read({ volumeBackend: 'local', volumeParentDir: '/mnt/disks/ssd0/codefresh-volumes' })).toMatchObject({
    volumeParentDir: '/mnt/disks/ssd0/codefresh-volumes',
  })
})

test('R090, R091: parameters of EBS have their defaults, and encryption its key', () => {
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

test('R084, R085: parameters of Google and Azure have the defaults of the original', () => {
  expect(read({ volumeBackend: 'gcedisk', zone: 'us-central1-a' })).toMatchObject({ type: 'pd-ssd', fsType: 'ext4' })
  expect(read({ volumeBackend: 'azuredisk' })).toMatchObject({ skuName: 'Premium_LRS', kind: 'managed', cachingMode: 'None' })
  const fast = { volumeBackend: 'azuredisk-csi', skuName: 'UltraSSD_LRS', DiskIOPSReadWrite: '5000', DiskMBpsReadWrite: '200' }
  expect(read(fast)).toMatchObject({ DiskIOPSReadWrite: 5000, DiskMBpsReadWrite: 200 })
})

test.each([
  ['a zone that is missing', { volumeBackend: 'ebs' }, 'AvailabilityZone is needed: EBS disks are in one zone'],
  ['a region for a zone', { ...ebs, AvailabilityZone: 'us-east-1' }, 'AvailabilityZone is a zone such as us-east-1a'],
  ['a type nobody sells', { ...ebs, VolumeType: 'gp4' }, 'VolumeType is gp2, gp3 or io1'],
  ['too much throughput', { ...ebs, iops: '16000', throughput: '1001' }, 'throughput is a whole number from 125 to 1000 MiB/s'],
  ['too many operations', { ...ebs, iops: '16001' }, 'iops is from 3000 to 16000 for gp3'],
  [
    'more throughput than the operations carry',
    { ...ebs, throughput: '1000' },
    'throughput is at most a quarter of iops, here 750',
  ],
  ['operations of gp2', { ...ebs, VolumeType: 'gp2', iops: '3000' }, 'iops is for gp3 and io1 only'],
  ['io1 without operations', { ...ebs, VolumeType: 'io1' }, 'iops is needed for io1'],
  ['a number with a unit', { ...ebs, iops: '3k' }, 'iops is a whole number from 100 to 64000'],
  ['a key without encryption', { ...ebs, kmsKeyId: 'k' }, 'kmsKeyId needs encrypted: "true"'],
  ['a truth that is none', { ...ebs, encrypted: 'yes' }, 'encrypted is "true" or "false"'],
  ['another file system', { ...ebs, fsType: 'ntfs' }, 'fsType is ext4 or xfs'],
  ['a regional disk', { volumeBackend: 'gcedisk', zone: 'us-central1' }, 'regional disks are not supported'],
  [
    'a backend nobody knows',
    { volumeBackend: 'floppy' },
    'volumeBackend is one of local, ebs, ebs-csi, gcedisk, azuredisk, azuredisk-csi',
  ],
  ['a parameter of another backend', { volumeBackend: 'local', zone: 'a' }, 'zone is not known for local'],
  ['a folder that climbs', { volumeParentDir: '/var/../etc' }, 'volumeParentDir has no `..` in it'],
])('R090: %s is refused in words that name it', (_what, raw, words) => {
  expect(() => read(raw)).toThrow('The storage class dind is wrong: ')
  expect(() => read(raw)).toThrow(words)
})
