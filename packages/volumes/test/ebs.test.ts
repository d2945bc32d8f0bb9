/** The EBS backend against moto, which simulates EC2. */
import { readFile } from 'node:fs/promises'
import { itemsOf, textOf } from '@windlass/cloud'
import { systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { startMoto, type Moto } from '../../../e2e/support/moto.ts'
import type { Backend } from '../src/backends/backend.ts'
import { ebsBackend } from '../src/backends/ebs.ts'
import { openEc2, type Ec2 } from '../src/backends/ec2.ts'
import { readParameters, type EbsParameters } from '../src/backends/parameters.ts'
import { NOTE } from '../src/pool/notes.ts'
import { Volume } from '../src/pool/volume.ts'

const signal = AbortSignal.timeout(300_000)
const region = 'us-east-1'
let moto: Moto
beforeAll(async () => {
  moto = await startMoto()
})
afterAll(() => moto?.[Symbol.asyncDispose]())

const keys = async (): Promise<{ accessKeyId: string; secretAccessKey: string }> => ({
  accessKeyId: 'AKIATEST',
  secretAccessKey: 'secret',
})
const ec2 = (): Ec2 => openEc2({ clock: systemClock, region, endpoint: moto.url, credentials: keys })

function open(more: Record<string, string> = {}, owner = 'owner-1'): Backend {
  const raw = { volumeBackend: 'ebs-csi', AvailabilityZone: 'us-east-1a', ...more }
  return ebsBackend({ ec2: ec2(), clock: systemClock, parameters: readParameters('c', raw) as EbsParameters, owner })
}
const wanted = (key: string, owner = 'owner-1'): Parameters<Backend['make']>[0] => ({
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

test('creates a volume as its class says, by a signed call, and removes it (R082, R087, R091)', async () => {
  const backend = open({ VolumeType: 'gp3', iops: '5000', throughput: '500', encrypted: 'true', kmsKeyId: 'key-1' })
  const disk = await backend.make(wanted('aaaaaaaaaaaa'), signal)
  const made = await described(disk.id)
  const shown = ['size', 'volumeType', 'iops', 'throughput', 'encrypted', 'availabilityZone'].map((name) => textOf(made, name))
  expect(shown).toEqual(['16', 'gp3', '5000', '500', 'true', 'us-east-1a'])
  expect(textOf(made, 'kmsKeyId')).toContain('key-1')
  expect(itemsOf(made, 'tagSet').map((tag) => textOf(tag, 'key'))).toContain('windlass-owner')
  await backend.remove(volumeOf(disk.id), signal)
  await expect(described(disk.id)).rejects.toMatchObject({ code: 'storage-refused' })
  // Already removed: nothing to do.
  await backend.remove(volumeOf(disk.id), signal)
})

test('finds the volume after a crash instead of creating a second one', async () => {
  const backend = open()
  const first = await backend.make(wanted('bbbbbbbbbbbb'), signal)
  const again = await open().make(wanted('bbbbbbbbbbbb'), signal)
  expect(again.id).toBe(first.id)
})

test('lists only the volumes of its installation', async () => {
  const mine = await open({}, 'owner-2').make(wanted('cccccccccccc', 'owner-2'), signal)
  await open().make(wanted('dddddddddddd'), signal)
  const listed = (await open({}, 'owner-2').list?.(signal)) ?? []
  expect(listed).toMatchObject([{ id: mine.id, key: 'cccccccccccc' }])
  expect(listed[0]?.createdAt).toBeGreaterThan(Date.parse('2020-01-01'))
})

test('leaves attaching to the kubelet or the controller, whichever does it on a node (R152)', async () => {
  const called = new Set<string>()
  const recorded: Ec2 = (action, ...rest) => {
    called.add(action)
    return ec2()(action, ...rest)
  }
  const parameters = readParameters('c', { volumeBackend: 'ebs', AvailabilityZone: 'us-east-1a' }) as EbsParameters
  const backend = ebsBackend({ ec2: recorded, clock: systemClock, parameters, owner: 'owner-3' })
  const disk = await backend.make(wanted('eeeeeeeeeeee', 'owner-3'), signal)
  await backend.list?.(signal)
  await backend.remove(volumeOf(disk.id), signal)
  expect([...called].toSorted()).toEqual(['CreateVolume', 'DeleteVolume', 'DescribeVolumes'])
  // The page gives the rights to attach to the nodes of a kubelet with `enableControllerAttachDetach: false`.
  const page = await readFile(new URL('../../../docs/runner/clouds/eks.md', import.meta.url), 'utf8')
  const [, line = ''] = /^Nodes of Docker daemons whose kubelet attaches disks itself need (.*)\. Your own/m.exec(page) ?? []
  expect([...line.matchAll(/ec2:(\w+)/g)].map(([, action]) => action)).toEqual([
    'DescribeVolumes',
    'AttachVolume',
    'DetachVolume',
  ])
})

test('reports a refusal with the message of EC2', async () => {
  const wrong = { AvailabilityZone: 'us-east-1a', Size: '16', VolumeType: 'gp2', Iops: '3000' }
  await expect(ec2()('CreateVolume', wrong, signal)).rejects.toMatchObject({
    code: 'storage-refused',
    message: expect.stringMatching(/^EC2 CreateVolume: InvalidParameter\w+: .*(Iops|iops|gp2)/),
  })
})

test('retries after throttling and after a lost answer', async () => {
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
