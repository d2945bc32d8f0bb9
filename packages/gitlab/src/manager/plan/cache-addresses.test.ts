/** Jobs whose manager gets no credentials for their caches. A server stands in for the services of a cloud. */
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { keptLog } from '../../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openFakeCloud, type Said } from '../../../../../e2e/support/fake-cloud.ts'
import { CacheSection } from '../../config/sections/cache-section.ts'
import { Job } from '../../job/payload.ts'
import { ConfigurationError } from '../../pod/configuration-error.ts'
import { cacheAddresses, type CacheAddresses } from './cache-addresses.ts'

const ROLE = 'arn:aws:iam::123456789012:role/caches'
const S3 = { Type: 's3', s3: { BucketName: 'ci', AccessKey: 'AK', SecretKey: 'SK', RoleARN: ROLE } }
const JOB = Job.parse({ id: 7, token: 'glcbt-x', job_info: { project_id: 5 } })

async function addressesOf(
  cache: object,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly found: CacheAddresses; readonly log: string }> {
  const log = keptLog()
  const signal = AbortSignal.timeout(60_000)
  const runner = { token: 'glrt-x', cache: CacheSection.parse(cache) }
  const found = await cacheAddresses({ env, clock: systemClock, log, signal }, { runner, job: JOB, keys: ['deps'] })
  const shown = log.lines.map(({ level, fields }) => `${level} ${fields['err'] instanceof Error ? fields['err'].message : ''}`)
  return { found, log: shown.join('\n') }
}

const NO_CREDENTIALS = 'the runner got no credentials for the object store. The log of the runner has the reason'

test('what a cloud answers is in the log of the manager, and not in that of the job', async () => {
  const text = `User: arn:aws:iam::123456789012:user/ci is not authorized to perform sts:AssumeRole on ${ROLE}`
  const body = `<ErrorResponse><Error><Code>AccessDenied</Code><Message>${text}</Message></Error></ErrorResponse>`
  await using cloud = await openFakeCloud(() => ({ status: 403, body }))
  const { found, log } = await addressesOf(S3, { AWS_ENDPOINT_URL_STS: cloud.url })
  expect(found).toEqual({ problem: NO_CREDENTIALS })
  expect(log).toBe(`warn STS AssumeRole: AccessDenied: ${text}`)
})

const PAGE: Said = { body: '<html>Sign in</html>' }
const GCS = { Type: 'gcs', gcs: { BucketName: 'ci' } }
const AZURE = { Type: 'azure', azure: { AccountName: 'acme', ContainerName: 'ci' } }
const POD = 'AWS_CONTAINER_CREDENTIALS_FULL_URI'
const IAM = { Type: 's3', s3: { BucketName: 'ci', AuthenticationType: 'iam' } }

test.each<{ what: string; cache: object; env: (url: string) => Record<string, string>; says: string }>([
  { what: 'STS', cache: S3, env: (url) => ({ AWS_ENDPOINT_URL_STS: url }), says: 'STS sent an answer' },
  { what: 'Pod Identity', cache: IAM, env: (url) => ({ [POD]: url }), says: 'EKS Pod Identity sent an answer' },
  {
    what: 'Pod Identity, whose token is missing',
    cache: IAM,
    env: (url) => ({ [POD]: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/missing' }),
    says: 'The file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read.',
  },
  { what: 'Google', cache: GCS, env: (url) => ({ GCE_METADATA_HOST: new URL(url).host }), says: 'No Google credentials' },
  {
    what: 'Azure',
    cache: AZURE,
    env: (url) => ({
      AZURE_AUTHORITY_HOST: url,
      AZURE_CLIENT_ID: 'client',
      AZURE_TENANT_ID: 'tenant',
      AZURE_FEDERATED_TOKEN_FILE: import.meta.filename,
    }),
    says: 'Azure sent an answer',
  },
])('a job runs without its caches after an unexpected answer of $what', async ({ cache, env, says }) => {
  await using cloud = await openFakeCloud(() => PAGE)
  const { found, log } = await addressesOf(cache, { HOME: '/missing', ...env(cloud.url) })
  expect(found).toEqual({ problem: NO_CREDENTIALS })
  expect(log).toContain(says)
})

test('a store that is not described well enough fails the job', async () => {
  await expect(addressesOf({ Type: 's3' }, {})).rejects.toThrow(ConfigurationError)
})
