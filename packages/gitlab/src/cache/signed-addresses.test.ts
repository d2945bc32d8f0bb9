import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openFakeCloud } from '../../../../e2e/support/fake-cloud.ts'
import { CacheSection } from '../config/sections/cache-section.ts'
import { signedAddresses } from './signed-addresses.ts'

type Addresses = NonNullable<Awaited<ReturnType<typeof signedAddresses>>> extends ReadonlyMap<string, infer A> ? A : never

/** Returns the addresses of the cache "deps" for keys of `[runners.cache.s3]`. */
async function addressesFor(s3: object, more: object = {}, env: Readonly<Record<string, string>> = {}): Promise<Addresses> {
  const cache = CacheSection.parse({
    Type: 's3',
    s3: { BucketName: 'ci', AccessKey: 'AK', SecretKey: 'SK', BucketLocation: 'eu-central-1', ...s3 },
    ...more,
  })
  const found = await signedAddresses(['deps'], {
    runner: { cache, token: 'glrt-t1_AbCdEfGhIjKl' },
    projectId: 5,
    seconds: 600,
    env,
    clock: systemClock,
    signal: new AbortController().signal,
  })
  const addresses = found?.get('deps')
  if (addresses === undefined) throw new Error('the cache has no addresses')
  return addresses
}

const placeOf = (address: string): string => new URL(address).origin + new URL(address).pathname
const PATH = '/runner/AbCdEfGhI/project/5/deps'

test.each([
  ['the region', {}, `https://ci.s3.dualstack.eu-central-1.amazonaws.com${PATH}`],
  [
    'the general host of Amazon',
    { ServerAddress: 's3.amazonaws.com' },
    `https://ci.s3.dualstack.eu-central-1.amazonaws.com${PATH}`,
  ],
  ['IPv4 only', { DualStack: false }, `https://ci.s3.eu-central-1.amazonaws.com${PATH}`],
  ['transfer acceleration', { Accelerate: true }, `https://ci.s3-accelerate.dualstack.amazonaws.com${PATH}`],
  ['a host of Amazon', { ServerAddress: 's3.eu-west-1.amazonaws.com' }, `https://ci.s3.eu-west-1.amazonaws.com${PATH}`],
  ['the bucket in the path', { PathStyle: true }, `https://s3.dualstack.eu-central-1.amazonaws.com/ci${PATH}`],
  ['another store', { ServerAddress: 'minio.test:9000', Insecure: true }, `http://minio.test:9000/ci${PATH}`],
])('the address of a cache by %s', async (_, s3, expected) => {
  expect(placeOf((await addressesFor(s3)).get)).toBe(expected)
})

test('a shared cache has no part for its runner, and a prefix comes first', async () => {
  const { put } = await addressesFor({}, { Shared: true, Path: '/team/' })
  expect(new URL(put).pathname).toBe('/team/project/5/deps')
})

test.each([
  ['S3', '', ['x-amz-server-side-encryption: AES256']],
  ['S3', 'ignored', ['x-amz-server-side-encryption: AES256']],
  ['KMS', 'key-1', ['x-amz-server-side-encryption: aws:kms', 'x-amz-server-side-encryption-aws-kms-key-id: key-1']],
  ['DSSE-KMS', '', ['x-amz-server-side-encryption: aws:kms:dsse']],
  ['', 'ignored', []],
])(
  'the upload of a cache with ServerSideEncryption "%s" and the key "%s" has its headers in the signature',
  async (kind, key, headers) => {
    const addresses = await addressesFor({ ServerSideEncryption: kind, ServerSideEncryptionKeyID: key })
    expect(addresses.headers).toEqual(headers)
    const signed = new URL(addresses.put).searchParams.get('X-Amz-SignedHeaders')
    expect(signed?.split(';')).toEqual(['host', ...headers.map((header) => header.split(':')[0])])
    expect(new URL(addresses.get).searchParams.get('X-Amz-SignedHeaders')).toBe('host')
  },
)

test.each([
  ['RoleARN', { RoleARN: 'arn:aws:iam::1:role/ci', UploadRoleARN: 'arn:aws:iam::1:role/other' }, ['ASIAROLE', 'ASIAROLE']],
  ['UploadRoleARN', { UploadRoleARN: 'arn:aws:iam::1:role/ci' }, ['AK', 'ASIAROLE']],
])('%s is assumed once, and its session signs the addresses (G044)', async (_, roles, signers) => {
  await using sts = await openFakeCloud(() => ({
    body:
      '<Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session+token</SessionToken>' +
      '<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>',
  }))
  const { get, put } = await addressesFor(roles, {}, { AWS_ENDPOINT_URL_STS: sts.url })
  const queries = [get, put].map((address) => new URL(address).searchParams)
  expect(queries.map((query) => query.get('X-Amz-Credential')?.split('/')[0])).toEqual(signers)
  expect(queries[1]?.get('X-Amz-Security-Token')).toBe('session+token')
  expect(sts.asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
    {
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: 'arn:aws:iam::1:role/ci',
      RoleSessionName: 'windlass-gitlab-project-5',
      DurationSeconds: '900',
    },
  ])
  expect(sts.asked[0]?.headers.authorization).toContain('Credential=AK/')
})

test('a store without a bucket fails the job with the key to set', async () => {
  await expect(addressesFor({ BucketName: '' })).rejects.toThrow('[runners.cache.s3] has no BucketName.')
})
