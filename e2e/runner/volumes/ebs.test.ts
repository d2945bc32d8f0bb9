/** The provisioner on a real cluster with disks of EC2, which moto plays. No pod mounts them: attaching is the work of AWS' own driver. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NOTE } from '@windlass/volumes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/installation.ts'
import { freePort, startService, type Service } from '../../support/process.ts'
import { openStage, type Stage } from './stage.ts'

const NAMESPACE = `ebs-${process.pid}`
const ZONE = 'us-east-1a'
let stage: Stage
let moto: Service
let endpoint: string
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(join(import.meta.dirname, '../../../scripts/moto'), ['install'])
  const port = await freePort()
  endpoint = `http://127.0.0.1:${port}`
  const ready = async (): Promise<boolean> => (await fetch(`${endpoint}/moto-api/`).catch(() => undefined))?.ok === true
  moto = await startService({ command: stdout.trim(), args: ['-H', '127.0.0.1', '-p', String(port)], ready, readyMs: 60_000 })
  const env = { WINDLASS_PROVISIONER_EC2_ENDPOINT: endpoint, AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'test' }
  stage = await openStage({ namespace: NAMESPACE, env })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await moto?.stop()
})

/** Ids of the volumes that moto knows. It looks at the scope of a signature, not at the signature. */
async function volumesOfCloud(): Promise<string[]> {
  const authorization =
    'AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0'
  const body = new URLSearchParams({ Action: 'DescribeVolumes', Version: '2016-11-15' })
  const xml = await (await fetch(endpoint, { method: 'POST', headers: { authorization }, body })).text()
  return [...new Set(xml.match(/vol-[0-9a-f]{8,17}/g) ?? [])]
}

test('R082, R090, R091: a claim gets a volume of EC2 as its class says, in reach of nodes of its zone only, and it is destroyed when told to', async () => {
  const className = `dind-ebs-${NAMESPACE}`
  const parameters = { volumeBackend: 'ebs-csi', AvailabilityZone: ZONE, VolumeType: 'gp3', fsType: 'xfs', encrypted: 'true' }
  await stage.makeClass(className, { parameters })
  await stage.claim({ name: 'first', className })
  const disk = await stage.bound('first').catch(async (error: unknown) => {
    throw new Error(await stage.told('first'), { cause: error })
  })
  const id = disk.metadata.annotations[NOTE.backendId] ?? ''
  expect(disk.spec['csi']).toMatchObject({ driver: 'ebs.csi.aws.com', volumeHandle: id, fsType: 'xfs' })
  expect(JSON.stringify(disk.spec.nodeAffinity)).toContain(ZONE)
  expect(await volumesOfCloud()).toContain(id)
  await stage.release('first')
  // The one node of this cluster is in no zone: the disk is out of its reach.
  await stage.claim({ name: 'elsewhere', className })
  const other = await stage.bound('elsewhere')
  expect(other.metadata.name).not.toBe(disk.metadata.name)
  expect(await stage.told('elsewhere')).toContain('1 out of reach')
  await stage.kubectl(
    'patch',
    'persistentvolume',
    disk.metadata.name,
    '--patch',
    '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}',
  )
  await eventually('volume and disk are gone', async () => {
    const isGone = (await stage.volume(disk.metadata.name)) === undefined
    return isGone && !(await volumesOfCloud()).includes(id) ? true : undefined
  }).catch(async (error: unknown) => {
    throw new Error(`${JSON.stringify(await stage.volume(disk.metadata.name))}\n${stage.provisioner.log()}`, { cause: error })
  })
})

test('V20, R093: a pod that asks for another zone than its class has is told so on the claim', async () => {
  const className = `dind-zone-${NAMESPACE}`
  await stage.makeClass(className, { parameters: { volumeBackend: 'ebs', AvailabilityZone: ZONE } })
  const placement = { 'windlass.io/placement': '{"nodeSelector":{"topology.kubernetes.io/zone":"us-east-1b"}}' }
  await stage.claim({ name: 'other-zone', className, annotations: placement })
  await eventually('the claim says why', async () => {
    const told = await stage.told('other-zone')
    return told.includes(`ProvisioningFailed: Disks of the class ${className} are in zone ${ZONE}`) ? true : undefined
  })
})

test('R090: a class with a wrong parameter is told on the claim, in words that name it', async () => {
  const className = `dind-wrong-${NAMESPACE}`
  const parameters = { volumeBackend: 'ebs', AvailabilityZone: ZONE, VolumeType: 'gp3', iops: '20000' }
  await stage.makeClass(className, { parameters })
  await stage.claim({ name: 'wrong', className })
  await eventually('the claim says why', async () => {
    const told = await stage.told('wrong')
    return told.includes('iops is from 3000 to 16000 for gp3') ? true : undefined
  })
})
