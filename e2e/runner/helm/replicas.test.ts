/** The chart of the server on a real Kubernetes: two replicas that share PostgreSQL and a bucket, in a restricted namespace, upgraded while they work. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { openClient, type ApiClient } from '@windlass/client'
import { engineCalls } from '@windlass/client/engine'
import { nodeTransport, retry, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { helloAgent, startEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { forwardPort } from '../../support/forward.ts'
import { type Helm, openHelm } from '../../support/helm.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually, isOk } from '../../support/installation.ts'
import { createBucket, KEYS } from '../../support/log-bucket.ts'
import { startMoto } from '../../support/moto.ts'
import { startPostgres } from '../../support/postgres.ts'

const NAMESPACE = `replicas-${process.pid}`
/** The cluster has no DNS: the Service gets an address that is known before. */
const ADDRESS = `10.96.${64 + (process.pid % 60)}.${1 + (Math.floor(process.pid / 60) % 250)}`
const URL_OF_SERVICE = `http://${ADDRESS}:8080`
const CHART = join(import.meta.dirname, '../../../charts/windlass')
const CODE = randomBytes(16).toString('hex')
const DOCUMENT = "version: '1.0'\nsteps:\n  hello:\n    image: alpine\n    commands: [echo hello]\n"

let parts = new AsyncDisposableStack()
let cluster: Cluster
let helm: Helm
let values: object = {}

beforeAll(async () => {
  const images = await ensureImages('windlass')
  cluster = await startCluster()
  await cluster.load(images['WINDLASS_IMAGE'] ?? '')
  helm = await openHelm(cluster.kubeconfig)
  const postgres = parts.use(await startPostgres())
  const moto = parts.use(await startMoto())
  const bucket = await createBucket(moto.url)
  const database = parts.use(await forwardPort(cluster.host, Number(new URL(postgres.url).port)))
  const store = parts.use(await forwardPort(cluster.host, Number(new URL(moto.url).port)))
  const metadata = { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } }
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata })
  const url = Object.assign(new URL(postgres.url), { hostname: cluster.host, port: String(database.port) }).href
  const key = randomBytes(32).toString('base64')
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'server', namespace: NAMESPACE } }
  await cluster.apply({ ...secret, stringData: { url, key, code: CODE, s3: KEYS.AWS_SECRET_ACCESS_KEY } })
  const reference = (of: string): object => ({ name: 'server', key: of })
  values = {
    url: URL_OF_SERVICE,
    replicas: 2,
    service: { port: 8080, clusterIP: ADDRESS },
    database: { urlSecretKeyRef: reference('url') },
    masterKey: { secretKeyRef: reference('key') },
    bootstrap: { codeSecretKeyRef: reference('code') },
    logs: { url: `s3://${bucket}/windlass?endpoint=http://${cluster.host}:${store.port}` },
    env: {
      AWS_ACCESS_KEY_ID: KEYS.AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: { valueFrom: { secretKeyRef: reference('s3') } },
    },
    settings: { MIN_FREE_PERCENT: 0 },
    metrics: { enabled: true },
    networkPolicy: { enabled: true },
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } },
  }
})

afterAll(async () => {
  await helm?.run('uninstall', 'windlass', '--namespace', NAMESPACE, '--ignore-not-found').catch(() => '')
  await cluster?.kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s')
  await helm?.close()
  await parts.disposeAsync()
})

const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', NAMESPACE, ...args)

async function install(more: object = {}): Promise<void> {
  const file = await helm.values({ ...values, ...more })
  const where = ['--namespace', NAMESPACE, '--values', file, '--wait', '--timeout', '300s']
  await helm.run('upgrade', '--install', 'windlass', CHART, ...where).catch(async (error: unknown) => {
    const state = await kubectl('get', 'pods,events', '--output', 'wide')
    throw new Error(`${String(error)}\n${state}`, { cause: error })
  })
  await eventually('the Service answers', async () => ((await isOk(`${URL_OF_SERVICE}/readyz`)) ? true : undefined))
}

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
      status: z.object({ podIP: z.string() }),
    }),
  ),
})
/** Returns name -> address of the servers that run and are not being stopped. */
async function servers(): Promise<Map<string, string>> {
  const selector = ['--selector', 'app.kubernetes.io/component=server', '--field-selector', 'status.phase=Running']
  const { items } = Pods.parse(JSON.parse(await kubectl('get', 'pods', ...selector, '--output', 'json')))
  const kept = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return new Map(kept.map(({ metadata, status }) => [metadata.name, status.podIP]))
}

const clientOf = (url: string, token?: string): ApiClient => openClient({ url, token, transport: nodeTransport() })
const patient = <T>(work: () => Promise<T>): Promise<T> =>
  retry({ clock: systemClock, baseMs: 100, maxMs: 1000, tries: 20 }, work)

test('two servers in a restricted namespace lose no accepted build and no log in a rolling upgrade', async () => {
  await install()
  const before = await servers()
  expect(before.size).toBe(2)
  expect(await helm.run('test', 'windlass', '--namespace', NAMESPACE)).toContain('Succeeded')

  const { token } = await clientOf(URL_OF_SERVICE).server.bootstrap({ code: CODE })
  const admin = clientOf(URL_OF_SERVICE, token)
  const { token: agentToken } = await admin.agents.create({ name: 'agent' })
  await admin.runtimes.create({ name: 'local', type: 'fake', agent: 'agent', isDefault: true })
  const build = await admin.builds.create({ document: DOCUMENT })
  const agent = await helloAgent(URL_OF_SERVICE, agentToken)
  const [task] = await agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error(`expected a start task, got ${JSON.stringify(task)}`)
  const engine = await startEngine(URL_OF_SERVICE, task)
  await agent.report(task, 'done')
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.log('step/hello', 'before the upgrade\n')

  const accepted: string[] = []
  let isOver = false
  let unready = 0
  const work = (async () => {
    for (let n = 0; !isOver; n += 1) {
      const idempotencyKey = `build-${n}`
      accepted.push((await patient(() => admin.builds.create({ document: DOCUMENT }, { idempotencyKey }))).id)
      // A server that answers late is ready.
      if (!(await isOk(`${URL_OF_SERVICE}/readyz`, 30_000))) unready += 1
      // The upgrade may take longer than an engine may be silent.
      await patient(() => engineCalls(engine.client).heartbeat({}))
      await sleep(200)
    }
  })()
  await install({ podAnnotations: { turn: '2' } })
  isOver = true
  await work

  const after = await servers()
  expect(after.size).toBe(2)
  expect([...after.keys()].filter((name) => before.has(name))).toEqual([])
  expect(accepted.length).toBeGreaterThan(5)
  expect(new Set(accepted).size).toBe(accepted.length)
  // A connection may end between the removal of an endpoint and its effect on this machine.
  expect(unready).toBeLessThanOrEqual(1)
  for (const id of accepted) expect((await admin.builds.get(id)).id).toBe(id)

  await patient(() => engine.log('step/hello', 'after the upgrade\n'))
  for (const address of after.values()) {
    const log = await clientOf(`http://${address}:8080`, token).builds.log(build.id)
    expect(log).toBe('before the upgrade\nafter the upgrade\n')
    expect(await (await fetch(`http://${address}:9090/metrics`)).text()).toContain('windlass_builds{')
  }
})

test('a drain of the node keeps one server', async () => {
  const [first = '', second = ''] = (await servers()).keys()
  const evict = (name: string): Promise<string> => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: NAMESPACE } }
    return helm
      .values(eviction)
      .then((file) => kubectl('create', '--raw', `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`, '--filename', file))
  }
  // The budget counts the servers of the upgrade.
  const budget = 'jsonpath={.items[*].status.disruptionsAllowed}'
  await expect.poll(() => kubectl('get', 'poddisruptionbudgets', '--output', budget)).toBe('1')
  await evict(first)
  await expect(evict(second)).rejects.toThrow(/disruption budget/)
  await eventually('two servers run again', async () => ((await servers()).size === 2 ? true : undefined), 180_000)
})
