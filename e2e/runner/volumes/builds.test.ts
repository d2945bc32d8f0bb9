/** Builds whose disks come from the provisioner: the agent has no folder of disks. */
import { NOTE, toVolume, type Volume } from '@windlass/volumes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, startInstallation, type Finished, type Installation } from '../../support/installation.ts'
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

function pipeline(name: string, commands: readonly string[]): Promise<string> {
  const lines = commands.map((command) => `      - ${command}\n`).join('')
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  return installation.file(`${name}.yml`, `version: '1.0'\nsteps:\n  one:\n    image: ${image}\n    commands:\n${lines}`)
}

async function mustSucceed(run: Promise<Finished>): Promise<Finished> {
  const finished = await run
  expect(finished.code, `${finished.stderr}\n${installation.agent.log()}\n${stage.provisioner.log()}`).toBe(0)
  return finished
}

const Items = z.object({
  items: z.array(z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) })),
})

async function disks(): Promise<Volume[]> {
  const selector = `codefresh-app=dind,pod_namespace=${NAMESPACE}`
  const text = await stage.kubectl('get', 'persistentvolumes', '--selector', selector, '--output', 'json')
  return Items.parse(JSON.parse(text)).items.map(toVolume)
}

const untilFree = (): Promise<Volume[]> =>
  eventually('all disks are free', async () => {
    const all = await disks()
    return all.every(({ status }) => status.phase === 'Released') ? all : undefined
  })

test('the second build has the disk of the first (V1, V2, R100)', async () => {
  const file = await pipeline('warm', ['echo here'])
  await mustSucceed(installation.windlass('run', '-f', file))
  const [disk, ...more] = await untilFree()
  expect(more).toEqual([])
  expect(disk?.metadata.annotations[NOTE.mountCount]).toBe('1')
  expect(disk?.metadata.annotations[NOTE.node]).toBeDefined()
  await mustSucceed(installation.windlass('run', '-f', file))
  const [again, ...others] = await untilFree()
  expect(others).toEqual([])
  expect(again?.metadata).toMatchObject({ name: disk?.metadata.name, annotations: { [NOTE.mountCount]: '2' } })
})

test('a killed provisioner delays a build that waits for its disk, and does not affect a running one', async () => {
  const slow = await pipeline('slow', ['echo begun', 'sleep 6', 'echo slept'])
  const running = installation.windlass('run', '-f', slow)
  await eventually('a disk is in use', async () =>
    (await disks()).some(({ status }) => status.phase === 'Bound') ? true : undefined,
  )
  await stage.provisioner.kill9()
  const waiting = installation.windlass('run', '-f', await pipeline('waits', ['echo here']))
  await eventually('a claim waits', async () => {
    const phases = await stage.kubectl('get', 'persistentvolumeclaims', '--output', 'jsonpath={.items[*].status.phase}')
    return phases.includes('Pending') ? true : undefined
  })
  await mustSucceed(running)
  await stage.provisioner.start()
  await mustSucceed(waiting)
  await untilFree()
})

test('deleting all volumes by label leaves the system healthy, also during a build (R094)', async () => {
  const slow = await pipeline('deleted', ['echo begun', 'sleep 5', 'echo slept'])
  const running = installation.windlass('run', '-f', slow)
  await eventually('a disk is in use', async () =>
    (await disks()).some(({ status }) => status.phase === 'Bound') ? true : undefined,
  )
  const selector = `codefresh-app=dind,pod_namespace=${NAMESPACE}`
  await stage.kubectl('delete', 'persistentvolumes', '--selector', selector, '--wait=false')
  await mustSucceed(running)
  await eventually('the volumes are gone', async () => ((await disks()).length === 0 ? true : undefined))
  await mustSucceed(installation.windlass('run', '-f', await pipeline('after', ['echo here'])))
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
  const spec = {
    type: 'kubernetes',
    agent: 'one-node',
    isDefault: true,
    runtimeScheduler: { cluster: { namespace: NAMESPACE } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: STATIC_CLASS } } },
  }
  const runtime = { kind: 'runtime', metadata: { name: NAMESPACE }, spec }
  await mustSucceed(installation.windlass('apply', '-f', await installation.file('static.yml', JSON.stringify(runtime))))
  await mustSucceed(installation.windlass('run', '-f', await pipeline('static', ['echo here'])))
})
