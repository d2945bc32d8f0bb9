/**
 * Disks as EBS volumes. An existing volume of a claim is found by its tags before another one is created, and the key of the claim is also
 * the client token of EC2, so that a crash or a lost answer creates no second volume. Attaching is up to Kubernetes and its CSI driver.
 */
import { defined, fault, type Clock } from '@windlass/kit'
import { NOTE } from '../pool/notes.ts'
import { inLabel, ZONE_LABEL } from '../pool/placement.ts'
import type { NewDisk } from '../pool/maker.ts'
import { isRefusedWith, itemsOf, textOf } from '@windlass/cloud'
import { TAG, wholeGib, type Backend, type DiskSpec, type ListedDisk } from './backend.ts'
import type { Ec2 } from './ec2.ts'
import type { EbsParameters } from './parameters.ts'

export interface EbsOptions {
  readonly ec2: Ec2
  readonly clock: Clock
  readonly parameters: EbsParameters
  /** Tag of this installation. */
  readonly owner: string
}

const POLL_MS = 500
const AVAILABLE_MS = 120_000

/** Returns the region of a zone: `us-east-1a` is in `us-east-1`. */
export function regionOf(zone: string): string {
  return zone.replace(/[a-z]$/, '')
}

export function ebsBackend({ ec2, clock, parameters, owner }: EbsOptions): Backend {
  const { AvailabilityZone: zone, volumeBackend: type } = parameters

  async function find(filters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string[]> {
    const asked = Object.entries(filters).flatMap(([name, value], index): [string, string][] => [
      [`Filter.${index + 1}.Name`, name],
      [`Filter.${index + 1}.Value.1`, value],
    ])
    const found: string[] = []
    let token: string | undefined
    do {
      const page: Record<string, string> = { MaxResults: '500', ...defined({ NextToken: token }) }
      const xml = await ec2('DescribeVolumes', { ...Object.fromEntries(asked), ...page }, signal)
      found.push(...itemsOf(xml, 'volumeSet'))
      token = textOf(xml, 'nextToken')
    } while (token !== undefined && token !== '')
    return found
  }

  async function untilAvailable(id: string, signal: AbortSignal): Promise<void> {
    const end = clock.monotonic() + AVAILABLE_MS
    for (;;) {
      const [volume = ''] = itemsOf(await ec2('DescribeVolumes', { 'VolumeId.1': id }, signal), 'volumeSet')
      const status = stateOf(volume)
      if (status === 'available' || status === 'in-use') return
      // An encryption key that may not be used shows only here.
      if (status === 'error' || status === 'deleting' || status === 'deleted')
        throw fault('storage-refused', {
          message: `The volume ${id} of EC2 is in state ${status}. Check its encryption key.`,
        })
      if (clock.monotonic() > end)
        throw fault('storage-unreachable', {
          message: `The volume ${id} is still in state ${status} after ${AVAILABLE_MS / 1000} s.`,
        })
      await clock.sleep(POLL_MS, signal)
    }
  }

  const remove = async (id: string, signal: AbortSignal): Promise<void> => {
    try {
      await ec2('DeleteVolume', { VolumeId: id }, signal)
    } catch (error) {
      if (!isRefusedWith(error, 'InvalidVolume.NotFound')) throw error
    }
  }

  return {
    type,
    zone,
    needsNode: false,
    async make(wanted, signal) {
      const filters = { [`tag:${TAG.key}`]: wanted.key, [`tag:${TAG.owner}`]: owner }
      const before = (await find(filters, signal)).find((volume) => ['creating', 'available'].includes(stateOf(volume)))
      const id = textOf(before ?? (await ec2('CreateVolume', createParameters(parameters, wanted), signal)), 'volumeId')
      if (id === undefined) throw fault('storage-unreachable', { message: 'EC2 CreateVolume: the answer has no volume id.' })
      await untilAvailable(id, signal)
      return ebsDisk(parameters, id)
    },
    remove: async ({ metadata: { annotations } }, signal) => remove(annotations[NOTE.backendId] ?? '', signal),
    async list(signal) {
      const found = await find({ [`tag:${TAG.owner}`]: owner, 'availability-zone': zone, status: 'available' }, signal)
      return found.map(toListed)
    },
    removeListed: ({ id }, signal) => remove(id, signal),
  }
}

function stateOf(volume: string): string {
  // Attachments have their own status, before the tags.
  return textOf(volume.replace(/<attachmentSet>[\s\S]*<\/attachmentSet>/, ''), 'status') ?? 'unknown'
}

function toListed(volume: string): ListedDisk {
  const tags = itemsOf(volume, 'tagSet').map((tag) => [textOf(tag, 'key'), textOf(tag, 'value')])
  return {
    id: textOf(volume, 'volumeId') ?? '',
    key: tags.find(([name]) => name === TAG.key)?.[1] ?? '',
    createdAt: Date.parse(textOf(volume, 'createTime') ?? '') || 0,
  }
}

/** Returns the parameters of CreateVolume. Pure. */
export function createParameters(parameters: EbsParameters, { key, sizeBytes, tags }: DiskSpec): Record<string, string> {
  const { AvailabilityZone, VolumeType, iops, throughput, encrypted, kmsKeyId } = parameters
  const tagged = Object.entries(tags).flatMap(([name, value], index): [string, string][] => [
    [`TagSpecification.1.Tag.${index + 1}.Key`, name],
    [`TagSpecification.1.Tag.${index + 1}.Value`, value],
  ])
  return {
    AvailabilityZone,
    VolumeType,
    Size: String(wholeGib(sizeBytes)),
    ClientToken: key,
    Encrypted: String(encrypted),
    ...defined({ KmsKeyId: kmsKeyId }),
    ...(iops !== undefined && { Iops: String(iops) }),
    ...(throughput !== undefined && { Throughput: String(throughput) }),
    'TagSpecification.1.ResourceType': 'volume',
    ...Object.fromEntries(tagged),
  }
}

/** Returns the volume of an EBS disk, for the former in-tree driver or the CSI driver. Pure. */
export function ebsDisk({ volumeBackend, AvailabilityZone: zone, fsType }: EbsParameters, id: string): NewDisk {
  const source =
    volumeBackend === 'ebs'
      ? { awsElasticBlockStore: { volumeID: `aws://${zone}/${id}`, fsType } }
      : { csi: { driver: 'ebs.csi.aws.com', volumeHandle: id, fsType } }
  return {
    id,
    backend: volumeBackend,
    spec: { ...source, nodeAffinity: inLabel(ZONE_LABEL, zone) },
    annotations: { [NOTE.zone]: zone },
  }
}
