/** The provisioner on a real cluster, with only the rights of its roles; claims replace builds. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { localPathOf, NOTE } from '@windlass/volumes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/installation.ts'
import { LEASE_SECONDS, openStage, type Stage } from './stage.ts'

const NAMESPACE = `volumes-${process.pid}`
let stage: Stage
beforeAll(async () => {
  stage = await openStage({ namespace: NAMESPACE })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const SELECTOR = 'codefresh.io/reuse-volume-selector'
const SORT = 'codefresh.io/reuse-volume-sort-order'
/** Returns labels of a separate pool for a test, which no other disks have. */
const pool = (name: string): Record<string, string> => ({ project_id: name })
const within = (more = ''): Record<string, string> => ({ [SELECTOR]: `codefresh-app,project_id${more === '' ? '' : `,${more}`}` })

test('the first claim gets a new disk with its labels and its first use (V1, R122)', async () => {
  await stage.claim({ name: 'pvc-dind-v1', labels: { ...pool('v1'), pipeline_id: 'p1', trigger: 't1' } })
  const disk = await stage.bound('pvc-dind-v1')
  expect(disk.metadata.labels).toMatchObject({
    'codefresh-app': 'dind',
    'io.codefresh.accountName': 'acme',
    project_id: 'v1',
    pipeline_id: 'p1',
    trigger: 't1',
    pod_name: 'dind-v1',
    pod_namespace: NAMESPACE,
    'backend-volume-type': 'local',
  })
  expect(disk.metadata.labels['backend-volume-id-md5']).toMatch(/^[0-9a-f]{32}$/)
  expect(disk.metadata.annotations).toMatchObject({ [NOTE.mountCount]: '1', [NOTE.usedBy]: 'dind-v1' })
  expect(localPathOf(disk)).toBe(join(stage.volumesDir, disk.metadata.annotations[NOTE.backendId] ?? ''))
  await expect.poll(() => stage.eventsOf('pvc-dind-v1')).toContain('ProvisioningSucceeded: ')
})

test('the next claim gets the same disk, with updated uses (V2, R100)', async () => {
  await stage.claim({ name: 'v2-a', labels: pool('v2'), annotations: within() })
  const first = await stage.bound('v2-a')
  await stage.release('v2-a')
  await stage.claim({ name: 'v2-b', labels: pool('v2'), annotations: within() })
  const second = await stage.bound('v2-b')
  expect(second.metadata.name).toBe(first.metadata.name)
  expect(second.metadata.annotations).toMatchObject({ [NOTE.mountCount]: '2', [NOTE.usedBy]: 'v2-a,v2-b' })
  expect(Date.parse(second.metadata.annotations[NOTE.lastUsed] ?? '')).toBeGreaterThan(
    Date.parse(first.metadata.annotations[NOTE.lastUsed] ?? ''),
  )
  await expect.poll(() => stage.eventsOf('v2-b')).toContain(`Reuses the disk ${first.metadata.name}.`)
})

test('of many concurrent claims one gets the free disk, the others a new one each (V3)', async () => {
  await stage.claim({ name: 'v3-0', labels: pool('v3'), annotations: within() })
  const free = (await stage.bound('v3-0')).metadata.name
  await stage.release('v3-0')
  const claims = [1, 2, 3, 4, 5, 6].map((n) => `v3-${n}`)
  await Promise.all(claims.map((name) => stage.claim({ name, labels: pool('v3'), annotations: within() })))
  const disks = await stage.allBound(claims)
  expect(new Set(disks).size).toBe(6)
  expect(disks).toContain(free)
})

test('a disk of another pipeline is not used, and a missing label equals only a missing or an empty one (V4, V5)', async () => {
  const selector = within('pipeline_id,io.codefresh.branch_name')
  const branch = 'io.codefresh.branch_name'
  await stage.claim({ name: 'v4-a', labels: { ...pool('v4'), pipeline_id: 'p1' }, annotations: selector })
  const manual = (await stage.bound('v4-a')).metadata.name
  await stage.release('v4-a')
  await stage.claim({ name: 'v4-b', labels: { ...pool('v4'), pipeline_id: 'p2' }, annotations: selector })
  expect((await stage.bound('v4-b')).metadata.name).not.toBe(manual)
  await stage.claim({ name: 'v4-c', labels: { ...pool('v4'), pipeline_id: 'p1', [branch]: 'main' }, annotations: selector })
  expect((await stage.bound('v4-c')).metadata.name).not.toBe(manual)
  await stage.claim({ name: 'v4-d', labels: { ...pool('v4'), pipeline_id: 'p1', [branch]: '' }, annotations: selector })
  expect((await stage.bound('v4-d')).metadata.name).toBe(manual)
})

test('the sort order prefers the disk of the same pipeline, and a disk that is too small is not used (V6, V7)', async () => {
  for (const [name, pipeline] of [
    ['v6-mine', 'p1'],
    ['v6-newer', 'p2'],
  ] as const)
    await stage.claim({ name, labels: { ...pool('v6'), pipeline_id: pipeline }, annotations: within() })
  const [mine, newer] = [await stage.bound('v6-mine'), await stage.bound('v6-newer')].map(({ metadata }) => metadata.name)
  await stage.release('v6-mine')
  await stage.release('v6-newer')
  const annotations = { ...within(), [SORT]: 'pipeline_id' }
  await stage.claim({ name: 'v6', labels: { ...pool('v6'), pipeline_id: 'p1' }, annotations })
  expect((await stage.bound('v6')).metadata.name).toBe(mine)
  await stage.claim({ name: 'v7', labels: { ...pool('v6'), pipeline_id: 'p1' }, annotations, size: '30Gi' })
  const larger = await stage.bound('v7')
  expect([mine, newer]).not.toContain(larger.metadata.name)
  await expect.poll(() => stage.eventsOf('v7')).toMatch(/No disk fits: .*1 too small/)
})

test('a disk whose node does not accept the pod is not used, and one whose node is gone is removed (V8, V19)', async () => {
  await stage.claim({ name: 'v8-a', labels: pool('v8'), annotations: within() })
  const disk = (await stage.bound('v8-a')).metadata.name
  await stage.release('v8-a')
  // A node that has left the cluster; it was noted before.
  await stage.kubectl('annotate', 'persistentvolume', disk, `${NOTE.node}=gone-${NAMESPACE}`)
  await stage.claim({ name: 'v8-b', labels: pool('v8'), annotations: within() })
  expect((await stage.bound('v8-b')).metadata.name).not.toBe(disk)
  await eventually('the disk of the lost node is collected', async () =>
    (await stage.volume(disk)) === undefined ? true : undefined,
  )
  // A pod that requires nodes that do not exist cannot use a disk of this node.
  const placement = { 'windlass.io/placement': '{"nodeSelector":{"disk":"moon"}}' }
  const one = (await stage.bound('v8-b')).metadata.name
  await noteNode(one)
  await stage.release('v8-b')
  await stage.claim({ name: 'v8-c', labels: pool('v8'), annotations: { ...within(), ...placement } })
  expect((await stage.bound('v8-c')).metadata.name).not.toBe(one)
  await expect.poll(() => stage.eventsOf('v8-c')).toContain('1 out of reach')
})

/** Writes the node of a disk, as after a pod ran on it. */
async function noteNode(disk: string): Promise<void> {
  const node = await stage.cluster.kubectl('get', 'nodes', '--output', 'jsonpath={.items[0].metadata.name}')
  await stage.kubectl('annotate', '--overwrite', 'persistentvolume', disk, `${NOTE.node}=${node}`)
}

test('a disk to be deleted is not used; its folder and volume are removed when no claim holds it (V9, R118)', async () => {
  await stage.claim({ name: 'v9-a', labels: pool('v9'), annotations: within() })
  await runPod('v9-a')
  const disk = await stage.bound('v9-a')
  const { name } = disk.metadata
  const path = localPathOf(disk) ?? ''
  await eventually('the node of the disk is noted', async () =>
    (await stage.volume(name))?.metadata.annotations[NOTE.node] === undefined ? undefined : true,
  )
  expect(existsSync(join(path, 'written'))).toBe(true)
  await stage.kubectl('annotate', 'persistentvolume', name, 'node_requested_deletion=node')
  await stage.kubectl('patch', 'persistentvolume', name, '--patch', '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}')
  await stage.claim({ name: 'v9-b', labels: pool('v9'), annotations: within() })
  expect((await stage.bound('v9-b')).metadata.name).not.toBe(name)
  expect(existsSync(join(path, 'written'))).toBe(true)
  await stage.kubectl('delete', 'pod', 'pod-v9-a', '--grace-period=1')
  await stage.kubectl('delete', 'persistentvolumeclaim', 'v9-a')
  await eventually('volume and folder are gone', async () =>
    (await stage.volume(name)) === undefined && !existsSync(path) ? true : undefined,
  )
})

/** Starts a pod that writes to the disk of a claim and keeps running. */
async function runPod(claim: string): Promise<void> {
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${claim}`, namespace: NAMESPACE, labels: { app: 'dind' } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'dind', persistentVolumeClaim: { claimName: claim } }],
      containers: [
        {
          name: 'dind',
          image: stage.images['SHELL_IMAGE'],
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', 'echo x > /disk/written; exec sleep 600'],
          volumeMounts: [{ name: 'dind', mountPath: '/disk' }],
          // Without it the pod is ready before the file is written.
          readinessProbe: { exec: { command: ['test', '-f', '/disk/written'] }, periodSeconds: 1 },
        },
      ],
    },
  })
  await stage.kubectl('wait', '--for=condition=Ready', `pod/pod-${claim}`, '--timeout=180s')
}

test('when the provisioner is killed during a burst of claims, each gets its own disk, and none is left over (V3)', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `kill-${n}`)
  const made = Promise.all(names.map((name) => stage.claim({ name, labels: pool('kill'), annotations: within() })))
  await stage.bound(names[0] ?? '')
  await stage.provisioner.kill9()
  await made
  await stage.provisioner.start()
  const disks = await stage.allBound(names)
  expect(new Set(disks).size).toBe(names.length)
  const all = await stage.kubectl(
    'get',
    'persistentvolumes',
    '--selector',
    `project_id=kill,pod_namespace=${NAMESPACE}`,
    '--output',
    'name',
  )
  expect(all.split('\n')).toHaveLength(names.length)
})

test('a provisioner that was frozen for longer than its lease exits with 3, and the one that replaces it binds the waiting claims', async () => {
  const { provisioner } = stage
  const ended = provisioner.ended()
  provisioner.signal('SIGSTOP')
  try {
    await stage.claim({ name: 'frozen', labels: pool('frozen') })
    await sleep(LEASE_SECONDS * 1_000 + 500)
  } finally {
    provisioner.signal('SIGCONT')
  }
  expect(await ended, provisioner.log()).toBe(3)
  await stage.bound('frozen')
  await stage.claim({ name: 'thawed', labels: pool('frozen') })
  await stage.bound('thawed')
})

test('with WaitForFirstConsumer a claim gets a warm disk at once, and a new one where its pod is scheduled', async () => {
  const className = `late-${NAMESPACE}`
  await stage.makeClass(className, { bindingMode: 'WaitForFirstConsumer' })
  await stage.claim({ name: 'late-a', className })
  await eventually('the claim waits for its pod', async () =>
    (await stage.eventsOf('late-a')).includes('WaitForPodScheduled: No disk of this class exists yet.') ? true : undefined,
  )
  await runPod('late-a')
  const disk = await stage.bound('late-a')
  await stage.kubectl('delete', 'pod', 'pod-late-a', '--grace-period=1')
  await stage.release('late-a')
  await stage.claim({ name: 'late-b', className })
  expect((await stage.bound('late-b')).metadata.name).toBe(disk.metadata.name)
})

test('the folders of a class of local volumes are created by a helper pod, on the node of the volume', async () => {
  const className = `folders-${NAMESPACE}`
  await stage.makeClass(className, { parameters: { volumeParentDir: stage.volumesDir, volumeSource: 'local' } })
  await stage.claim({ name: 'folder', className })
  const disk = await stage.bound('folder')
  const path = disk.spec.local?.path ?? ''
  expect(path).toContain(stage.volumesDir)
  expect(existsSync(path)).toBe(true)
  expect(JSON.stringify(disk.spec.nodeAffinity)).toContain('kubernetes.io/hostname')
  await runPod('folder')
  expect(existsSync(join(path, 'written'))).toBe(true)
  await stage.kubectl('delete', 'pod', 'pod-folder', '--grace-period=1')
})

test('claims of other classes and claims that the agent binds are ignored; added and changed classes are noticed (R095, R097)', async () => {
  const className = `later-${NAMESPACE}`
  await stage.claim({ name: 'later', className })
  await stage.claim({ name: 'agents-own', annotations: { 'windlass.io/bound-by': 'agent' } })
  await stage.makeClass(`foreign-${NAMESPACE}`, { provisioner: 'example.com/disks' })
  await stage.claim({ name: 'foreign', className: `foreign-${NAMESPACE}` })
  await stage.makeClass(className)
  expect(localPathOf(await stage.bound('later'))).toContain(stage.volumesDir)
  // Parameters cannot be changed, so the class is recreated.
  await stage.kubectl('delete', 'storageclass', className)
  const parameters = { volumeBackend: 'local', volumeParentDir: `${stage.volumesDir}/other` }
  await stage.makeClass(className, { parameters })
  await stage.provisioner.kill9()
  await stage.provisioner.start()
  await stage.claim({ name: 'changed', className, size: '20Gi' })
  expect(localPathOf(await stage.bound('changed'))).toContain(`${stage.volumesDir}/other/vol-`)
  for (const name of ['agents-own', 'foreign'])
    expect(await stage.kubectl('get', 'persistentvolumeclaim', name, '--output', 'jsonpath={.status.phase}')).toBe('Pending')
})

/** Returns an annotation of a claim. */
async function annotationOf(name: string, annotation: string): Promise<string | undefined> {
  const claim = await stage.cluster.kube.find({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE, name })
  return claim?.metadata.annotations?.[annotation]
}

test('a disk to be kept is marked before its claim is deleted; metrics contain every disk', async () => {
  await stage.claim({ name: 'kept', labels: { ...pool('kept'), 'windlass.io/build': 'a'.repeat(24) }, annotations: within() })
  const { name } = (await stage.bound('kept')).metadata
  const until = '2099-01-01T00:00:00.000Z'
  await stage.kubectl('annotate', 'persistentvolumeclaim', 'kept', `windlass.io/keep-until=${until}`)
  await eventually('the claim confirms that its disk is kept', async () =>
    (await annotationOf('kept', 'windlass.io/kept')) === until ? true : undefined,
  )
  await stage.release('kept')
  await stage.claim({ name: 'other', labels: { ...pool('kept'), 'windlass.io/build': 'b'.repeat(24) }, annotations: within() })
  expect((await stage.bound('other')).metadata.name).not.toBe(name)
  await stage.claim({ name: 'goes-on', labels: { ...pool('kept'), 'windlass.io/build': 'a'.repeat(24) }, annotations: within() })
  expect((await stage.bound('goes-on')).metadata.name).toBe(name)
  // They are of the disks as the provisioner sees them, which follows the cluster.
  const metrics = async (): Promise<string> => (await fetch(stage.metricsUrl)).text()
  await expect.poll(metrics).toMatch(new RegExp(`dind_volume_mount_count\\{volume_name="${name}",.*phase="\\w+"\\} 2`))
  await expect.poll(metrics).toMatch(/dind_pvc_volume_phase\{/)
})

test('the provisioner touches a bound claim that the scheduler overlooked, for agents that create the pod before the claim is bound', async () => {
  await stage.claim({ name: 'overlooked', labels: pool('overlooked') })
  await stage.bound('overlooked')
  const labels = { app: 'dind' }
  const volumes = [{ name: 'dind', persistentVolumeClaim: { claimName: 'overlooked' } }]
  // There is no scheduler here: the test refuses the pod with the message of the real one.
  const spec = { schedulerName: 'none', containers: [{ name: 'one', image: 'none' }], volumes }
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'overlooks', namespace: NAMESPACE, labels },
    spec,
  })
  const message = 'pod has unbound immediate PersistentVolumeClaims'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  await stage.kubectl('patch', 'pod', 'overlooks', '--subresource=status', '--patch', JSON.stringify({ status: { conditions } }))
  await eventually('the claim is touched', () => annotationOf('overlooked', 'windlass.io/touched'))
  await stage.kubectl('delete', 'pod', 'overlooks', '--grace-period=0', '--force')
})
