/** The places of AWS credentials, against moto (STS) and a fake of the endpoints of nodes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { startMoto } from '../../../e2e/support/moto.ts'
import { assumeRoleWithKeys, awsCredentials } from '../src/index.ts'

const signal = AbortSignal.timeout(300_000)
const region = 'us-east-1'

async function folder(files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'aws-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

test('reads keys from the environment, else from the shared file of a mounted secret (R087)', async () => {
  const dir = await folder({ credentials: '[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = s\n' })
  const file = { AWS_SHARED_CREDENTIALS_FILE: join(dir, 'credentials') }
  const ask = (env: Record<string, string>): Promise<object> => awsCredentials({ env, clock: systemClock, region })(signal)
  expect(await ask(file)).toMatchObject({ accessKeyId: 'AKIAFILE' })
  expect(await ask({ ...file, AWS_ACCESS_KEY_ID: 'AKIAENV', AWS_SECRET_ACCESS_KEY: 's' })).toMatchObject({
    accessKeyId: 'AKIAENV',
  })
  await expect(ask({ ...file, AWS_PROFILE: 'other' })).rejects.toMatchObject({
    message: expect.stringContaining('profile other'),
  })
})

test('exchanges a web identity of the service account for a role (R088)', async () => {
  await using moto = await startMoto()
  const dir = await folder({ token: 'header.payload.signature\n' })
  const env = {
    HOME: dir,
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/volumes',
    AWS_WEB_IDENTITY_TOKEN_FILE: join(dir, 'token'),
    AWS_ENDPOINT_URL_STS: moto.url,
  }
  const held = await awsCredentials({ env, clock: systemClock, region })(signal)
  expect(held.accessKeyId).toMatch(/^ASIA/)
  expect(held.sessionToken).toBeTruthy()
  expect(held.expiresAt).toBeGreaterThan(systemClock.now())
})

const ROLE = { clock: systemClock, region, role: 'arn:aws:iam::123456789012:role/caches', session: 'windlass-test' }
const OWN = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' }

test('takes another role with its keys', async () => {
  await using moto = await startMoto()
  const env = { AWS_ENDPOINT_URL_STS: moto.url }
  const held = await assumeRoleWithKeys({ ...ROLE, env, credentials: OWN, seconds: 7_200 }, signal)
  expect(held.accessKeyId).toMatch(/^ASIA/)
  expect(held.sessionToken).toBeTruthy()
  expect(held.expiresAt).toBeGreaterThan(systemClock.now() + 7_000_000)
})

test('takes a role for an hour if it does not allow more, and passes on other refusals', async () => {
  const session =
    '<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration>'
  const refused = (code: string): string =>
    `<ErrorResponse><Error><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`
  let code = 'ValidationError'
  await using cloud = await openFakeCloud(({ body }) => {
    const seconds = Number(new URLSearchParams(body).get('DurationSeconds'))
    return seconds > 3_600 || code !== 'ValidationError'
      ? { status: 400, body: refused(code) }
      : {
          body: `<AssumeRoleResponse><AssumeRoleResult><Credentials>${session}</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
        }
  })
  const env = { AWS_ENDPOINT_URL_STS: cloud.url }
  const take = (seconds: number): Promise<object> => assumeRoleWithKeys({ ...ROLE, env, credentials: OWN, seconds }, signal)
  const durations = (): (string | null)[] => cloud.asked.map(({ body }) => new URLSearchParams(body).get('DurationSeconds'))
  expect(await take(90_000)).toMatchObject({ accessKeyId: 'ASIAROLE', sessionToken: 't' })
  await take(60)
  expect(durations()).toEqual(['43200', '3600', '900'])
  const scope = `/${region}/sts/aws4_request`
  expect(cloud.asked[0]?.headers.authorization).toMatch(new RegExp(`^AWS4-HMAC-SHA256 Credential=AKIATEST/\\d{8}${scope}`))
  code = 'AccessDenied'
  await expect(take(7_200)).rejects.toMatchObject({ code: 'storage-refused', message: 'STS AssumeRole: AccessDenied: no' })
  expect(durations()).toHaveLength(4)
})

test('gets keys from Pod Identity with the mounted token', async () => {
  const dir = await folder({ token: 'pod-token\n' })
  const Expiration = new Date(systemClock.now() + 3_600_000).toISOString()
  await using cloud = await openFakeCloud(() => ({
    body: { AccessKeyId: 'ASIAPOD', SecretAccessKey: 's', Token: 't', Expiration },
  }))
  const env = {
    HOME: dir,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(dir, 'token'),
  }
  const ask = awsCredentials({ env, clock: systemClock, region })
  expect(await ask(signal)).toMatchObject({ accessKeyId: 'ASIAPOD', sessionToken: 't' })
  await ask(signal)
  expect(cloud.calls()).toEqual(['GET /v1/credentials'])
  expect(cloud.asked[0]?.headers.authorization).toBe('pod-token')
})

test('uses the role of the node by IMDSv2 if there are no keys (R086)', async () => {
  const dir = await folder({})
  const Expiration = new Date(systemClock.now() + 3_600_000).toISOString()
  await using cloud = await openFakeCloud(({ method, path }) => {
    if (method === 'PUT') return { body: 'session' }
    return path.endsWith('/node-role')
      ? { body: { AccessKeyId: 'ASIANODE', SecretAccessKey: 's', Token: 't', Expiration } }
      : { body: 'node-role' }
  })
  const held = awsCredentials({ env: { HOME: dir }, clock: systemClock, region, metadataUrl: cloud.url })
  expect(await held(signal)).toMatchObject({ accessKeyId: 'ASIANODE' })
  expect(cloud.asked[2]?.headers['x-aws-ec2-metadata-token']).toBe('session')
})

test('reads a changed shared file again within a minute', async () => {
  const text = (key: string): string => `[default]\naws_access_key_id = ${key}\naws_secret_access_key = s\n`
  const dir = await folder({ credentials: text('AKIAOLD') })
  const clock = manualClock(systemClock.now())
  const ask = awsCredentials({ env: { AWS_SHARED_CREDENTIALS_FILE: join(dir, 'credentials') }, clock, region })
  expect(await ask(signal)).toMatchObject({ accessKeyId: 'AKIAOLD' })
  await writeFile(join(dir, 'credentials'), text('AKIANEW'))
  clock.advance(61_000)
  expect(await ask(signal)).toMatchObject({ accessKeyId: 'AKIANEW' })
})

test('shares one renewal between calls, and keeps credentials that a failed renewal cannot replace until they expire', async () => {
  const dir = await folder({ token: 'pod-token\n' })
  const clock = manualClock(systemClock.now())
  let status = 200
  const keys = { AccessKeyId: 'ASIAPOD', SecretAccessKey: 's', Token: 't' }
  await using cloud = await openFakeCloud(() => ({
    status,
    body: { ...keys, Expiration: new Date(clock.now() + 3_600_000).toISOString() },
  }))
  const env = {
    HOME: dir,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(dir, 'token'),
  }
  const ask = awsCredentials({ env, clock, region })
  await Promise.all([ask(signal), ask(signal), ask(signal)])
  expect(cloud.calls()).toHaveLength(1)
  status = 400
  clock.advance(3_400_000)
  expect(await ask(signal)).toMatchObject({ accessKeyId: 'ASIAPOD' })
  clock.advance(300_000)
  await expect(ask(signal)).rejects.toMatchObject({ code: 'storage-refused' })
})
