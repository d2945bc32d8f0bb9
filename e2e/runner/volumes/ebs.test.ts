/**
 * The provisioner on a real cluster with EC2 disks simulated by moto. No pod mounts them, because the CSI driver of AWS would attach them.
 */
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
  moto = await startService({ command: stdout.trim(), args: ['-H', '127.0.0.1', '-p', String(port)], ready })
  const env = { WINDLASS_PROVISIONER_EC2_ENDPOINT: endpoint, AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'test' }
  stage = await openStage({ namespace: NAMESPACE, env })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await moto?.stop()
})

/** Returns ids of the volumes in moto, which checks the scope of a signature, not the signature. */
async function volumesOfCloud(): Promise<string[]> {
  const authorization =
    'AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0'
  const body = new URLSearchParams({ Action: 'DescribeVolumes', Version: '2016-11-15' })
  const xml = await (await fetch(endpoint, { method: 'POST', headers: { authorization }, body })).text()
  return [...new Set(xml.match(/vol-[0-9a-f]{8,17}/g) ?? [])]
}

test('a claim gets an EC2 volume as its class says, reachable only from nodes of its zone, and it is deleted on request (R082, R090, R091)', async () => {
  const className = `dind-ebs-${NAMESPACE}`
  const parameters = { volumeBackend: 'ebs-csi', AvailabilityZone: ZONE, VolumeType: 'gp3', fsType: 'xfs', encrypted: 'true' }
  await stage.makeClass(className, { parameters })
  await stage.claim({ name: 'first', className })
  const disk = await stage.bound('first').catch(async (error: unknown) => {
    throw new Error(await stage.eventsOf('first'), { cause: error })
  })
  const id = disk.metadata.annotations[NOTE.backendId] ?? ''
  expect(disk.spec['csi']).toMatchObject({ driver: 'ebs.csi.aws.com', volumeHandle: id, fsType: 'xfs' })
  expect(JSON.stringify(disk.spec.nodeAffinity)).toContain(ZONE)
  expect(await volumesOfCloud()).toContain(id)
  await stage.release('first')
  // The only node of this cluster has no zone, so the disk is not reachable from it.
  await stage.claim({ name: 'elsewhere', className })
  const other = await stage.bound('elsewhere')
  expect(other.metadata.name).not.toBe(disk.metadata.name)
  await expect.poll(() => stage.eventsOf('elsewhere')).toContain('1 out of reach')
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

test('the claim names the zones of pod and class if they differ (V20, R093)', async () => {
  const className = `dind-zone-${NAMESPACE}`
  await stage.makeClass(className, { parameters: { volumeBackend: 'ebs', AvailabilityZone: ZONE } })
  const placement = { 'windlass.io/placement': '{"nodeSelector":{"topology.kubernetes.io/zone":"us-east-1b"}}' }
  await stage.claim({ name: 'other-zone', className, annotations: placement })
  await eventually('the claim says why', async () => {
    const events = await stage.eventsOf('other-zone')
    return events.includes(`ProvisioningFailed: Disks of the class ${className} are in zone ${ZONE}`) ? true : undefined
  })
})

test('the claim names an invalid parameter of its class (R090)', async () => {
  const className = `dind-wrong-${NAMESPACE}`
  const parameters = { volumeBackend: 'ebs', AvailabilityZone: ZONE, VolumeType: 'gp3', iops: '20000' }
  await stage.makeClass(className, { parameters })
  await stage.claim({ name: 'wrong', className })
  await eventually('the claim says why', async () => {
    const events = await stage.eventsOf('wrong')
    return events.includes('iops must be from 3000 to 16000 for gp3') ? true : undefined
  })
})
