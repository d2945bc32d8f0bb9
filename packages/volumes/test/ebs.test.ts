/** The EBS backend against moto, which speaks EC2's and STS' protocols. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort, startService, type Service } from '../../../e2e/support/process.ts'
import { awsCredentials } from '../src/backends/aws/credentials.ts'
import { openEc2, type Ec2 } from '../src/backends/aws/ec2.ts'
import { itemsOf, textOf } from '../src/backends/aws/xml.ts'
import type { Backend } from '../src/backends/backend.ts'
import { ebsBackend } from '../src/backends/ebs.ts'
import { readParameters, type EbsParameters } from '../src/backends/parameters.ts'
import { NOTE } from '../src/pool/notes.ts'
import { Volume } from '../src/pool/volume.ts'
import { openFakeCloud } from './fakes/cloud.ts'

const signal = AbortSignal.timeout(300_000)
const region = 'us-east-1'
let moto: Service
let endpoint: string
beforeAll(async () => {
  const script = join(import.meta.dirname, '../../../scripts/moto')
  const { stdout } = await promisify(execFile)(script, ['install'])
  const port = await freePort()
  endpoint = `http://127.0.0.1:${port}`
  const ready = async (): Promise<boolean> => (await fetch(`${endpoint}/moto-api/`).catch(() => undefined))?.ok === true
  moto = await startService({ command: stdout.trim(), args: ['-H', '127.0.0.1', '-p', String(port)], ready, readyMs: 60_000 })
})
afterAll(() => moto?.stop())

const keys = async (): Promise<{ accessKeyId: string; secretAccessKey: string }> => ({
  accessKeyId: 'AKIATEST',
  secretAccessKey: 'secret',
})
const ec2 = (): Ec2 => openEc2({ clock: systemClock, region, endpoint, credentials: keys })

function open(more: Record<string, string> = {}, owner = 'owner-1'): Backend {
  const raw = { volumeBackend: 'ebs-csi', AvailabilityZone: 'us-east-1a', ...more }
  return ebsBackend({ ec2: ec2(), clock: systemClock, parameters: readParameters('c', raw) as EbsParameters, owner })
}
const wish = (key: string, owner = 'owner-1'): Parameters<Backend['make']>[0] => ({
  key,
  sizeBytes: 16 * 2 ** 30,
  tags: { 'windlass-claim-key': key, 'windlass-owner': owner, Name: `dind-volume-${key}` },
})
const volumeOf = (id: string): Volume =>
  Volume.parse({
    metadata: { name: 'v', resourceVersion: '1', annotations: { [NOTE.backendId]: id } },
    spec: { capacity: { storage: '16Gi' } },
  })
const described = async (id: string): Promise<string> =>
  itemsOf(await ec2()('DescribeVolumes', { 'VolumeId.1': id }, signal), 'volumeSet')[0] ?? ''

test('R082, R087, R091: a volume is made as its class says, by a signed call, and removed', async () => {
  const backend = open({ VolumeType: 'gp3', iops: '5000', throughput: '500', encrypted: 'true', kmsKeyId: 'key-1' })
  const disk = await backend.make(wish('aaaaaaaaaaaa'), signal)
  const made = await described(disk.id)
  const shown = ['size', 'volumeType', 'iops', 'throughput', 'encrypted', 'availabilityZone'].map((name) => textOf(made, name))
  expect(shown).toEqual(['16', 'gp3', '5000', '500', 'true', 'us-east-1a'])
  expect(textOf(made, 'kmsKeyId')).toContain('key-1')
  expect(itemsOf(made, 'tagSet').map((tag) => textOf(tag, 'key'))).toContain('windlass-owner')
  await backend.remove(volumeOf(disk.id), signal)
  await expect(described(disk.id)).rejects.toMatchObject({ code: 'storage-refused' })
  // Removed already: nothing to do.
  await backend.remove(volumeOf(disk.id), signal)
})

test('a crash after the volume was made leaves no second one: the next try finds it', async () => {
  const backend = open()
  const first = await backend.make(wish('bbbbbbbbbbbb'), signal)
  const again = await open().make(wish('bbbbbbbbbbbb'), signal)
  expect(again.id).toBe(first.id)
})

test('volumes are listed by the mark of their installation only', async () => {
  const mine = await open({}, 'owner-2').make(wish('cccccccccccc', 'owner-2'), signal)
  await open().make(wish('dddddddddddd'), signal)
  const listed = (await open({}, 'owner-2').list?.(signal)) ?? []
  expect(listed).toMatchObject([{ id: mine.id, key: 'cccccccccccc' }])
  expect(listed[0]?.createdAt).toBeGreaterThan(Date.parse('2020-01-01'))
})

test('a refusal carries the words of EC2', async () => {
  const wrong = { AvailabilityZone: 'us-east-1a', Size: '16', VolumeType: 'gp2', Iops: '3000' }
  await expect(ec2()('CreateVolume', wrong, signal)).rejects.toMatchObject({
    code: 'storage-refused',
    message: expect.stringMatching(/^EC2 CreateVolume: InvalidParameter\w+: .*(Iops|iops|gp2)/),
  })
})

test('throttling is waited out, a lost answer is asked for again', async () => {
  let calls = 0
  await using cloud = await openFakeCloud(() => {
    calls += 1
    const code = 'RequestLimitExceeded'
    if (calls < 3)
      return {
        status: 503,
        body: `<Response><Errors><Error><Code>${code}</Code><Message>slow</Message></Error></Errors></Response>`,
      }
    return { body: '<DescribeVolumesResponse><volumeSet/></DescribeVolumesResponse>' }
  })
  const patient = openEc2({ clock: systemClock, region, endpoint: cloud.url, credentials: keys })
  await expect(patient('DescribeVolumes', {}, signal)).resolves.toContain('volumeSet')
  expect(calls).toBe(3)
  expect(cloud.asked[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/us-east-1\/ec2\/aws4_request/,
  )
})

async function folder(files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'aws-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

test('R087: keys come from the environment, else from the shared file of a mounted secret', async () => {
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

test('R088: a web identity of the service account is exchanged for a role', async () => {
  const dir = await folder({ token: 'header.payload.signature\n' })
  const env = {
    HOME: dir,
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/volumes',
    AWS_WEB_IDENTITY_TOKEN_FILE: join(dir, 'token'),
    AWS_ENDPOINT_URL_STS: endpoint,
  }
  const held = await awsCredentials({ env, clock: systemClock, region })(signal)
  expect(held.accessKeyId).toMatch(/^ASIA/)
  expect(held.sessionToken).toBeTruthy()
  expect(held.expiresAt).toBeGreaterThan(systemClock.now())
})

test('Pod Identity gives keys by the token that is mounted', async () => {
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

test('R086: without a key the role of the node is asked for, by the second version of the metadata service', async () => {
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
