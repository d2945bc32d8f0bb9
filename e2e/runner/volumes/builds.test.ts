/** Builds whose disks come from the provisioner: the agent has no folder of disks. */
import { NOTE, toVolume, type Volume } from '@windlass/volumes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, startInstallation, type Installation } from '../../support/installation.ts'
import { openStage, type Stage } from './stage.ts'

const NAMESPACE = `disk-builds-${process.pid}`
/** A class of the cluster's owner, which the agent allows. */
const STATIC_CLASS = `static-${NAMESPACE}`
let installation: Installation
let stage: Stage
beforeAll(async () => {
  const classes = `dind-local-volumes-*,${STATIC_CLASS}`
  const agentEnv = { WINDLASS_AGENT_VOLUME_DIR: '', WINDLASS_AGENT_STORAGE_CLASSES: classes }
  installation = await startInstallation(NAMESPACE, { agentEnv })
  stage = await openStage({ namespace: NAMESPACE, isThere: true })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await installation?.close()
})

/** Runs a build of one step, which must succeed. */
async function run(commands: readonly string[]): Promise<void> {
  const steps = { one: { image: installation.images['TOOLS_IMAGE'], commands } }
  const { build, log } = await installation.run({ document: JSON.stringify({ version: '1.0', steps }) })
  expect(build.status, `${log}\n${installation.agent.log()}\n${stage.provisioner.log()}`).toBe('success')
}

const Claim = z.object({ status: z.object({ phase: z.string() }) })

async function disks(): Promise<Volume[]> {
  const labels = `codefresh-app=dind,pod_namespace=${NAMESPACE}`
  return (await stage.cluster.kube.list({ kind: 'PersistentVolume', labels })).map(toVolume)
}

const untilFree = (): Promise<Volume[]> =>
  eventually('all disks are free', async () => {
    const all = await disks()
    return all.every(({ status }) => status.phase === 'Released') ? all : undefined
  })

test('the second build has the disk of the first (V1, V2, R100)', async () => {
  await run(['echo here'])
  const [disk, ...more] = await untilFree()
  expect(more).toEqual([])
  expect(disk?.metadata.annotations[NOTE.mountCount]).toBe('1')
  expect(disk?.metadata.annotations[NOTE.node]).toBeDefined()
  await run(['echo here'])
  const [again, ...others] = await untilFree()
  expect(others).toEqual([])
  expect(again?.metadata).toMatchObject({ name: disk?.metadata.name, annotations: { [NOTE.mountCount]: '2' } })
})

test('a killed provisioner delays a build that waits for its disk, and does not affect a running one', async () => {
  const running = run(['echo begun', 'sleep 6', 'echo slept'])
  await eventually('a disk is in use', async () =>
    (await disks()).some(({ status }) => status.phase === 'Bound') ? true : undefined,
  )
  await stage.provisioner.kill9()
  const waiting = run(['echo here'])
  await eventually('a claim waits', async () => {
    const claims = await stage.cluster.kube.list({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE })
    return claims.some((claim) => Claim.safeParse(claim).data?.status.phase === 'Pending') ? true : undefined
  })
  await running
  await stage.provisioner.start()
  await waiting
  await untilFree()
})

test('deleting all volumes by label leaves the system healthy, also during a build (R094)', async () => {
  const running = run(['echo begun', 'sleep 5', 'echo slept'])
  await eventually('a disk is in use', async () =>
    (await disks()).some(({ status }) => status.phase === 'Bound') ? true : undefined,
  )
  const selector = `codefresh-app=dind,pod_namespace=${NAMESPACE}`
  await stage.kubectl('delete', 'persistentvolumes', '--selector', selector, '--wait=false')
  await running
  await eventually('the volumes are gone', async () => ((await disks()).length === 0 ? true : undefined))
  await run(['echo here'])
  expect(await untilFree()).toHaveLength(1)
})

test('a build runs with a class of the cluster whose volumes have another provisioner (R097)', async () => {
  await stage.makeClass(STATIC_CLASS, { provisioner: 'kubernetes.io/no-provisioner', parameters: {} })
  await installation.cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: STATIC_CLASS, labels: { pod_namespace: NAMESPACE } },
    spec: {
      capacity: { storage: '50Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: STATIC_CLASS,
      hostPath: { path: `${stage.volumesDir}/static`, type: 'DirectoryOrCreate' },
    },
  })
  await installation.putRuntime(NAMESPACE, {
    runtimeScheduler: { cluster: { namespace: NAMESPACE } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: STATIC_CLASS } } },
  })
  await run(['echo here'])
})
