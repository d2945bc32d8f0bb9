/** A monitor of the real cluster with only its own permissions, and a real server. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defined, nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { openKube, readKubeconfig, type Kube } from '@windlass/kube'
import { startMonitor, type MonitorOptions, type RunningMonitor } from '@windlass/monitor'
import { openClient } from '@windlass/client'
import type { ClusterObject, MonitoredKind } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { eventually } from '../../support/installation.ts'
import { WINDLASS } from '../../support/programs.ts'

const NAMESPACE = `monitor-${process.pid}`
const CLUSTER = 'test-cluster'
const rules = join(import.meta.dirname, '../../../packages/monitor/rbac/role.yaml')

let cluster: Cluster
let scene: HttpScene
let folder: string
let kube: Kube
const monitors: RunningMonitor[] = []

beforeAll(async () => {
  cluster = await startCluster()
  scene = await openHttpScene()
  folder = await mkdtemp(join(tmpdir(), 'monitor-'))
  await cluster.kubectl('create', 'namespace', NAMESPACE)
  await cluster.kubectl('--namespace', NAMESPACE, 'create', 'serviceaccount', 'monitor')
  // Cluster roles are shared, so this run uses a unique name.
  const own = (await readFile(rules, 'utf8')).replaceAll('name: windlass-monitor', `name: ${NAMESPACE}`)
  await writeFile(join(folder, 'role.yaml'), own)
  await cluster.kubectl('apply', '--filename', join(folder, 'role.yaml'))
  for (const role of [NAMESPACE, `${NAMESPACE}-helm`])
    await cluster.kubectl('create', 'clusterrolebinding', role, `--clusterrole=${role}`, `--serviceaccount=${NAMESPACE}:monitor`)
  const token = await cluster.kubectl('--namespace', NAMESPACE, 'create', 'token', 'monitor')
  const access = await readKubeconfig(cluster.kubeconfig)
  const asMonitor = { ...access, clientCert: undefined, clientKey: undefined, token: () => token.trim() }
  kube = openKube({ access: asMonitor, log: silentLog })
})

afterAll(async () => {
  await Promise.all(monitors.map(async (monitor) => monitor.close()))
  kube.close()
  await scene[Symbol.asyncDispose]()
  for (const role of [NAMESPACE, `${NAMESPACE}-helm`])
    await cluster.kubectl('delete', 'clusterrole,clusterrolebinding', role, '--ignore-not-found')
  await cluster.kubectl('delete', 'namespace', NAMESPACE, '--wait=false')
  await rm(folder, { recursive: true, force: true })
})

function monitorOf(options: Partial<MonitorOptions> = {}): RunningMonitor {
  const client = openClient({ url: scene.server.url, token: scene.agentToken, transport: nodeTransport({}) })
  const monitor = startMonitor({ kube, client, clock: systemClock, log: silentLog, cluster: CLUSTER, ...options })
  monitors.push(monitor)
  return monitor
}

async function objects(kind: MonitoredKind, namespace?: string): Promise<ClusterObject[]> {
  const query = { kind, limit: 500, ...defined({ namespace }) }
  return (await scene.admin.monitors.objects(CLUSTER, { query })).items
}

const named = async (kind: MonitoredKind, name: string): Promise<ClusterObject | undefined> =>
  (await objects(kind, NAMESPACE)).find((object) => object.name === name)

test('reports objects of a cluster as they change and until they are deleted (R126)', async () => {
  monitorOf({ helm: true })
  await eventually('the node is reported', async () => (await objects('Node')).find(({ summary }) => summary['ready'] === true))
  const container = { name: 'c', image: 'shop:1', env: [{ name: 'PASSWORD', value: 'hunter2-in-the-environment' }] }
  const template = { metadata: { labels: { app: 'shop' } }, spec: { schedulerName: 'nobody', containers: [container] } }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace: NAMESPACE },
    spec: { replicas: 2, selector: { matchLabels: { app: 'shop' } }, template },
  }
  const release = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'helm.sh/release.v1',
    metadata: {
      name: 'sh.helm.release.v1.shop.v3',
      namespace: NAMESPACE,
      labels: { owner: 'helm', name: 'shop', status: 'deployed', version: '3' },
    },
    stringData: { release: 'hunter2-in-a-secret' },
  }
  await cluster.apply(deployment, release)
  expect(await eventually('the deployment', () => named('Deployment', 'shop'))).toMatchObject({
    summary: { ready: '0/2', images: 'shop:1' },
  })
  await eventually('its pods', async () => ((await objects('Pod', NAMESPACE)).length === 2 ? true : undefined))
  expect(await eventually('the release', () => named('HelmRelease', 'shop.v3'))).toMatchObject({
    summary: { status: 'deployed', revision: '3', release: 'shop' },
  })
  const everything = await Promise.all((['Deployment', 'Pod', 'HelmRelease'] as const).map(async (kind) => objects(kind)))
  expect(JSON.stringify(everything)).not.toContain('hunter2')

  await cluster.kubectl('--namespace', NAMESPACE, 'delete', 'deployment', 'shop', '--grace-period=0', '--force')
  await eventually('the deployment is gone', async () => ((await named('Deployment', 'shop')) === undefined ? true : undefined))
  await eventually('its pods are gone', async () => ((await objects('Pod', NAMESPACE)).length === 0 ? true : undefined))
})

test('cannot change the cluster or read the content of a Secret on the wire', async () => {
  const cannot = [
    { verb: 'create', group: '', resource: 'pods' },
    { verb: 'delete', group: '', resource: 'pods' },
    { verb: 'deletecollection', group: '', resource: 'pods' },
    { verb: 'get', group: '', resource: 'secrets' },
    { verb: 'patch', group: 'apps', resource: 'deployments' },
  ]
  for (const right of cannot) expect(await kube.can({ ...right, namespace: NAMESPACE }), JSON.stringify(right)).toBe(false)
  expect(await kube.can({ verb: 'watch', group: '', resource: 'pods' })).toBe(true)
})

test('removes objects that were deleted while no monitor ran, when the next one has listed them', async () => {
  await eventually('the release is there', () => named('HelmRelease', 'shop.v3'))
  await Promise.all(monitors.splice(0).map(async (monitor) => monitor.close()))
  await cluster.kubectl('--namespace', NAMESPACE, 'delete', 'secret', 'sh.helm.release.v1.shop.v3')
  expect(await named('HelmRelease', 'shop.v3')).toBeDefined()
  monitorOf({ helm: true })
  await eventually('the release is gone', async () => ((await named('HelmRelease', 'shop.v3')) === undefined ? true : undefined))
  const { items } = await scene.admin.monitors.list()
  expect(items).toMatchObject([{ cluster: CLUSTER, status: 'online' }])
})

test('the command line shows the reported objects', async () => {
  const shown = await promisify(execFile)(WINDLASS, ['get', 'objects', 'node'], {
    env: { ...process.env, WINDLASS_URL: scene.server.url, WINDLASS_API_KEY: scene.adminToken, NO_COLOR: '1' },
  })
  expect(shown.stdout).toMatch(/^NAME +READY +SCHEDULABLE +VERSION/)
  expect(shown.stdout).toContain('v1.34')
})
