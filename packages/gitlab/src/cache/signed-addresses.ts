/** Signed addresses of the caches of a job in an object store, so that its pod needs no credentials. */
import { awsCredentials, presignAws, type AwsCredentials } from '@windlass/cloud'
import type { Clock } from '@windlass/kit'
import { shortToken } from '../coordinator/tokens.ts'
import type { RunnerSection } from '../config/schema.ts'
import type { CacheUrls } from '../job/stage.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { objectName } from './cache-key.ts'

type Section = NonNullable<RunnerSection['cache']>
type S3 = NonNullable<Section['s3']>

export interface AddressOptions {
  readonly runner: Pick<RunnerSection, 'cache' | 'token'>
  readonly projectId: number
  /** Time for which the addresses are valid: that of the job. Seconds. */
  readonly seconds: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Returns the addresses of caches by their keys; undefined if the configuration has no store. Throws `ConfigurationError` for a store that is not described
 * well enough, and the faults of `awsCredentials`.
 */
export async function signedAddresses(
  keys: readonly string[],
  options: AddressOptions,
): Promise<ReadonlyMap<string, CacheUrls> | undefined> {
  const { cache, token } = options.runner
  const type = cache?.Type ?? ''
  if (cache === undefined || type === '') return undefined
  if (type !== 's3')
    throw new ConfigurationError(`Caches of the type ${type} are not supported. [runners.cache] can have Type = "s3".`)
  const store = await openStore(cache.s3 ?? {}, options)
  const runner = cache.Shared === true ? undefined : shortToken(token ?? '')
  const entries = keys.map(async (key) => {
    const name = objectName({ prefix: cache.Path ?? '', runner, projectId: options.projectId }, key)
    const [get, put] = await Promise.all([store.sign('GET', name), store.sign('PUT', name)])
    return [
      key,
      { get, put, headers: Object.entries(store.uploadHeaders).map(([header, value]) => `${header}: ${value}`) },
    ] as const
  })
  return new Map(await Promise.all(entries))
}

interface Store {
  /** Headers that the upload must have. */
  readonly uploadHeaders: Readonly<Record<string, string>>
  readonly sign: (method: 'GET' | 'PUT', object: string) => Promise<string>
}

async function openStore(s3: S3, { seconds, env, clock, signal }: AddressOptions): Promise<Store> {
  const { BucketName: bucket = '' } = s3
  if (bucket === '') throw new ConfigurationError('[runners.cache.s3] has no BucketName.')
  const region = s3.BucketLocation === undefined || s3.BucketLocation === '' ? 'us-east-1' : s3.BucketLocation
  const credentials = keysOf(s3) ?? (await awsCredentials({ env, clock, region })(signal))
  const base = bucketAddress(s3, { bucket, region })
  const uploadHeaders = encryptionOf(s3)
  return {
    uploadHeaders,
    sign: (method, object) => {
      const url = `${base}/${object.split('/').map(encodeURIComponent).join('/')}`
      const headers = method === 'PUT' ? uploadHeaders : {}
      return presignAws({ method, url, headers }, seconds, { credentials, service: 's3', region })
    },
  }
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
