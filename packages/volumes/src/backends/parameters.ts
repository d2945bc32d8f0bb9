/**
 * The parameters of a StorageClass, with their defaults and ranges. They are strings, because Kubernetes supports no other type, and cannot
 * be changed later, so a message must name every invalid one.
 */
import { fault, type Problem } from '@windlass/kit'
import { z } from 'zod'

export const BACKENDS = ['local', 'ebs', 'ebs-csi', 'gcedisk', 'azuredisk', 'azuredisk-csi'] as const

export const DEFAULT_PARENT_DIR = '/var/lib/codefresh/dind-volumes'

const truth = z
  .enum(['true', 'false'], { error: 'must be "true" or "false"' })
  .default('false')
  .transform((text) => text === 'true')
const fsType = z.enum(['ext4', 'xfs'], { error: 'must be ext4 or xfs' }).default('ext4')

function wholeNumber(min: number, max: number, unit = ''): z.ZodType<number | undefined, string | undefined> {
  const error = `must be a whole number from ${min} to ${max}${unit}`
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error })
    .optional()
}

const absoluteDir = z
  .string()
  .regex(/^\/[^\0]*[^/\0]$/, { error: 'must be an absolute path without a trailing slash' })
  .refine((path) => !path.split('/').includes('..'), { error: 'must not contain `..`' })

const Local = z.strictObject({
  volumeBackend: z.literal('local'),
  volumeParentDir: absoluteDir.default(DEFAULT_PARENT_DIR),
  /** `hostPath`: the kubelet creates the folder; `local`: a helper pod does, on a node that is chosen first. */
  volumeSource: z.enum(['hostPath', 'local'], { error: 'must be hostPath or local' }).optional(),
  fsType: z.string().optional(),
})

const Ebs = z
  .strictObject({
    volumeBackend: z.enum(['ebs', 'ebs-csi']),
    VolumeType: z.enum(['gp2', 'gp3', 'io1'], { error: 'must be gp2, gp3 or io1' }).default('gp3'),
    AvailabilityZone: z
      .string({ error: 'is required: EBS disks are in one zone' })
      .regex(/^[a-z]{2}(-[a-z]+)+-[0-9]+[a-z]$/, { error: 'must be a zone such as us-east-1a' }),
    fsType,
    encrypted: truth,
    kmsKeyId: z.string().min(1).optional(),
    iops: wholeNumber(100, 64_000),
    throughput: wholeNumber(125, 1000, ' MiB/s'),
  })
  .superRefine(({ VolumeType: type, iops, throughput, kmsKeyId, encrypted }, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
    if (iops !== undefined && type === 'gp2') refuse('iops', 'is only for gp3 and io1')
    if (iops !== undefined && type === 'gp3' && (iops < 3000 || iops > 16_000))
      refuse('iops', 'must be from 3000 to 16000 for gp3')
    if (iops === undefined && type === 'io1') refuse('iops', 'is required for io1')
    if (throughput !== undefined && type !== 'gp3') refuse('throughput', 'is only for gp3')
    if (throughput !== undefined && throughput > (iops ?? 3000) / 4)
      refuse('throughput', `must be at most a quarter of iops, here ${(iops ?? 3000) / 4}`)
    if (kmsKeyId !== undefined && !encrypted) refuse('kmsKeyId', 'requires encrypted: "true"')
  })

const GceDisk = z.strictObject({
  volumeBackend: z.literal('gcedisk'),
  type: z.enum(['pd-ssd', 'pd-standard'], { error: 'must be pd-ssd or pd-standard' }).default('pd-ssd'),
  zone: z
    .string({ error: 'is required: disks are in one zone' })
    .regex(/^[a-z]+-[a-z]+[0-9]+-[a-z]$/, { error: 'must be one zone such as us-central1-a; regional disks are not supported' }),
  fsType,
})

const AzureDisk = z.strictObject({
  volumeBackend: z.enum(['azuredisk', 'azuredisk-csi']),
  skuName: z
    .enum(['Premium_LRS', 'PremiumV2_LRS', 'StandardSSD_LRS', 'Standard_LRS', 'UltraSSD_LRS'], {
      error: 'must be Premium_LRS, PremiumV2_LRS, StandardSSD_LRS, Standard_LRS or UltraSSD_LRS',
    })
    .default('Premium_LRS'),
  kind: z.enum(['managed', 'Managed'], { error: 'must be managed' }).default('managed'),
  cachingMode: z.enum(['None', 'ReadOnly', 'ReadWrite'], { error: 'must be None, ReadOnly or ReadWrite' }).default('None'),
  availabilityZone: z.string().min(1).optional(),
  location: z.string().min(1).optional(),
  resourceGroup: z.string().min(1).optional(),
  fsType,
  DiskIOPSReadWrite: wholeNumber(100, 400_000),
  DiskMBpsReadWrite: wholeNumber(1, 10_000, ' MB/s'),
})

const SHAPES = {
  local: Local,
  ebs: Ebs,
  'ebs-csi': Ebs,
  gcedisk: GceDisk,
  azuredisk: AzureDisk,
  'azuredisk-csi': AzureDisk,
} as const

export type LocalParameters = z.infer<typeof Local>
export type EbsParameters = z.infer<typeof Ebs>
export type GceDiskParameters = z.infer<typeof GceDisk>
export type AzureDiskParameters = z.infer<typeof AzureDisk>
export type Parameters = LocalParameters | EbsParameters | GceDiskParameters | AzureDiskParameters

/** Validates the parameters of a class. Throws `storage-class-invalid` that names every invalid one. */
export function readParameters(className: string, raw: Readonly<Record<string, string>>): Parameters {
  const type = BACKENDS.find((backend) => backend === (raw['volumeBackend'] ?? 'local'))
  const refuse = (problems: readonly Problem[]): Error => {
    const list = problems.map(({ path, message }) => `${path} ${message}`).join('; ')
    const hint = 'The parameters of a class cannot be changed. Delete the class and create it again.'
    return fault('storage-class-invalid', { message: `The storage class ${className} is invalid: ${list}.`, hint, problems })
  }
  if (type === undefined) throw refuse([{ path: 'volumeBackend', message: `must be one of ${BACKENDS.join(', ')}` }])
  const parsed = SHAPES[type].safeParse({ ...raw, volumeBackend: type })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.flatMap((issue): Problem[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((path) => ({ path, message: `is not a parameter of ${type}` }))
      : [{ path: issue.path.join('.'), message: issue.message }],
  )
  throw refuse(problems)
}
