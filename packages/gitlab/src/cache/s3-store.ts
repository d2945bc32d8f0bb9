/** Caches in S3, or a store with its API. */
import { assumeRoleWithKeys, awsCredentials, presignAws, type AwsCredentials } from '@windlass/cloud'
import type { CacheSection } from '../config/sections/cache-section.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { objectPath, type CacheStore, type StoreOptions } from './cache-store.ts'

type S3 = NonNullable<CacheSection['s3']>

/** Opens the store of `[runners.cache.s3]`. Throws `ConfigurationError` without a bucket, and the faults of `awsCredentials` and `assumeRoleWithKeys`. */
export async function openS3Store(s3: S3, options: StoreOptions): Promise<CacheStore> {
  const { BucketName: bucket = '', BucketLocation: location = '' } = s3
  if (bucket === '') throw new ConfigurationError('[runners.cache.s3] has no BucketName.')
  const region = location === '' ? 'us-east-1' : location
  const credentials = await credentialsFor(s3, region, options)
  const base = bucketAddress(s3, { bucket, region })
  const uploadHeaders = encryptionOf(s3)
  return {
    uploadHeaders,
    sign(method, object) {
      const headers = method === 'PUT' ? uploadHeaders : {}
      const signer = { credentials: credentials[method], service: 's3', region }
      return presignAws({ method, url: `${base}/${objectPath(object)}`, headers }, options.seconds, signer)
    },
  }
}

/**
 * Returns the credentials that sign each kind of request. A role is assumed once for a job. Its session stays in the manager: an address has the ID and
 * the token of the session, and cannot be changed without the secret. An address ends with its session, if that is shorter.
 */
async function credentialsFor(
  s3: S3,
  region: string,
  { projectId, seconds, env, clock, signal }: StoreOptions,
): Promise<Readonly<Record<'GET' | 'PUT', AwsCredentials>>> {
  const { RoleARN: role = '', UploadRoleARN: uploadRole = '' } = s3
  const own = keysOf(s3) ?? (await awsCredentials({ env, clock, region })(signal))
  const session = `windlass-gitlab-project-${projectId}`
  const assumed = (arn: string): Promise<AwsCredentials> =>
    assumeRoleWithKeys({ env, clock, region, role: arn, session, credentials: own, seconds }, signal)
  if (role !== '') {
    const credentials = await assumed(role)
    return { GET: credentials, PUT: credentials }
  }
  return { GET: own, PUT: uploadRole === '' ? own : await assumed(uploadRole) }
}

/** Keys of the configuration. Undefined: those of the environment of the manager. */
function keysOf({ AccessKey, SecretKey, SessionToken, AuthenticationType }: S3): AwsCredentials | undefined {
  if (AuthenticationType === 'iam' || AccessKey === undefined || AccessKey === '' || SecretKey === undefined) return undefined
  return { accessKeyId: AccessKey, secretAccessKey: SecretKey, ...(SessionToken !== undefined && { sessionToken: SessionToken }) }
}

const ENCRYPTIONS = { S3: 'AES256', KMS: 'aws:kms', 'DSSE-KMS': 'aws:kms:dsse' } as const

/** Headers by which the store encrypts the object. */
function encryptionOf({ ServerSideEncryption: kind, ServerSideEncryptionKeyID: key = '' }: S3): Record<string, string> {
  if (kind === undefined || kind === '') return {}
  const hasKey = kind !== 'S3' && key !== ''
  return {
    'x-amz-server-side-encryption': ENCRYPTIONS[kind],
    ...(hasKey && { 'x-amz-server-side-encryption-aws-kms-key-id': key }),
  }
}

const AMAZON = 's3.amazonaws.com'

/** Amazon has a host for each bucket. Other stores have buckets in the path, unless PathStyle says otherwise. */
function bucketAddress(s3: S3, { bucket, region }: { readonly bucket: string; readonly region: string }): string {
  const { ServerAddress: given = '', DualStack: isDual = true, Accelerate: isAccelerated = false } = s3
  const isRegional = given === '' || given === AMAZON
  const regional = isDual ? `s3.dualstack.${region}.amazonaws.com` : `s3.${region}.amazonaws.com`
  const accelerated = isDual ? 's3-accelerate.dualstack.amazonaws.com' : 's3-accelerate.amazonaws.com'
  const usual = isAccelerated ? accelerated : regional
  const host = isRegional ? usual : given
  const isAmazon = host.endsWith('.amazonaws.com')
  const scheme = s3.Insecure === true ? 'http' : 'https'
  return (s3.PathStyle ?? !isAmazon) ? `${scheme}://${host}/${bucket}` : `${scheme}://${bucket}.${host}`
}
