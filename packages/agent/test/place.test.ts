/** Attempts that find no room for both pods delete them and start again, against a small API server. */
import { silentLog, systemClock, type Clock } from '@windlass/kit'
import type { Change, Kube, KubeObject } from '@windlass/kube'
import { createClient, type KubeObject as TaskObject, type StartTask, type Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { skippingClock } from '../../../e2e/support/clocks.ts'
import type { Executor, Fact } from '../src/executor.ts'
import { createAttempt, type CreateOptions } from '../src/kubernetes/create.ts'
import { openPlacer, type PlaceOptions } from '../src/kubernetes/place.ts'
import { openPodWatch, type PodWatch } from '../src/kubernetes/pods.ts'
import { removeAttempt } from '../src/kubernetes/remove.ts'
import { openTasks } from '../src/tasks.ts'
import { openFakeKube, type Answer, type FakeKube, type KubeCall } from './support/fake-kube.ts'

/** The clock of the agent runs this many times faster than real time. */
const SPEED = 50
const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * SPEED,
  sleep: (ms, signal) => systemClock.sleep(ms / SPEED, signal),
}
const signal = new AbortController().signal

interface StoredPod {
  readonly metadata: { deletionTimestamp?: string; deletionGracePeriodSeconds?: number }
  spec: object
  status?: object
}

const storedPod = (fake: FakeKube, name: string): StoredPod | undefined =>
  fake.objects.get(`pods/${name}`) as StoredPod | undefined

function buildOf(letter: string): string {
  return `65a1b2c3d4e5f60718293a4${letter}`
}

function pod(app: 'dind' | 'engine', letter: string): TaskObject {
  const label = app === 'engine' ? 'runtime' : app
  const labels = { 'windlass.io/build': buildOf(letter), 'windlass.io/attempt': '1', app: label }
  const volumes = app === 'dind' ? [{ name: 'disk', persistentVolumeClaim: { claimName: `disk-${letter}` } }] : []
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${app}-${letter}`, namespace: 'builds', labels },
    spec: { terminationGracePeriodSeconds: 300, volumes },
  }
}

function start(letter: string): StartTask {
  const task = { kind: 'start-attempt', id: `start-${letter}`, revision: 1, attempt: 1, runtime: 'r', leaseMs: 1 } as const
  const engine = { bootstrap: 'bootstrap', serverUrl: 'https://windlass.example.com' }
  return { ...task, buildId: buildOf(letter), engine, objects: [pod('dind', letter), pod('engine', letter)] }
}

/** The answer of a proxy in front of an API server that restarts. */
const UNAVAILABLE: Answer = { status: 503, page: 'upstream restarting' }

/** A watch that is interrupted, so the pods are read. */
const follow: PodWatch['follow'] = () => ({
  next: async (ms) => fastClock.sleep(ms, signal).then(() => false),
  last: () => undefined,
  [Symbol.dispose]: () => undefined,
})
const watch: PlaceOptions['watch'] = { follow, ignore: () => undefined, reportAgain: () => undefined }

function createOptions(kube: Kube, options: Partial<CreateOptions & PlaceOptions> = {}): CreateOptions {
  const common = { kube, clock: fastClock, log: silentLog, ...options }
  return { disks: undefined, placer: openPlacer({ watch, ...common }), report: () => undefined, ...common }
}

/** Marks a pod as being deleted. */
function terminate(fake: FakeKube, name: string): void {
  const found = storedPod(fake, name)
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return
  Object.assign(found.metadata, { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 3 })
}

/** A scheduler with room for all daemons. It places the engines after `hasRoom` is true. */
function schedule(fake: FakeKube, { name }: KubeCall, hasRoom: boolean): void {
  const found = storedPod(fake, name)
  if (found === undefined) return
  const isPlaced = name.startsWith('dind') || hasRoom
  const refusal = { type: 'PodScheduled', status: 'False', message: '0/1 nodes are available: Insufficient cpu.' }
  if (isPlaced) Object.assign(found.spec, { nodeName: 'node-1' })
  found.status = isPlaced ? { phase: 'Running' } : { phase: 'Pending', conditions: [refusal] }
}

async function until(is: () => boolean): Promise<void> {
  for (let i = 0; !is(); i += 1) {
    if (i > 3_000) throw new Error('timed out after a minute')
    await systemClock.sleep(20)
  }
}

test('a start waits for its own pod that is being deleted, also after a failed call', async () => {
  await using fake = await openFakeKube()
  const kubeletMs = 20_000
  let hasRoom = false
  let failures = 0
  fake.intercept = (call) => {
    schedule(fake, call, hasRoom)
    const isLeaving = storedPod(fake, 'dind-b')?.metadata.deletionTimestamp !== undefined
    if (call.line === 'GET pods/dind-b' && isLeaving && (failures += 1) === 1) {
      // The kubelet ends the pod after the call that fails, however late the agent makes it.
      void fastClock.sleep(kubeletMs).then(() => fake.objects.delete('pods/dind-b'))
      return UNAVAILABLE
    }
    if (call.line !== 'DELETE pods/dind-b') return undefined
    terminate(fake, 'dind-b')
    hasRoom = true
    return { status: 200 }
  }
  const reports: unknown[] = []
  const transport: Transport = async ({ body }) => {
    reports.push(JSON.parse(String(body)))
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {})(),
      text: async () => '{}',
    }
  }
  const options = createOptions(fake.kube())
  const executor: Executor = {
    kind: 'kubernetes',
    start: (task, taskSignal) => createAttempt(options, task, taskSignal),
    stop: async () => undefined,
    attempts: async () => [],
    close: async () => undefined,
  }
  const tasks = openTasks({
    executor,
    client: createClient({ url: 'http://server', token: 'token', transport }),
    clock: fastClock,
    log: silentLog,
    epoch: () => 1,
    signal,
    onGone: () => undefined,
    onFenced: () => undefined,
  })
  tasks.accept(start('a'))
  await until(() => fake.calls.filter(({ line }) => line === 'GET pods/engine-a').length >= 2)
  tasks.accept(start('b'))
  await tasks.idle()
  expect(reports).toMatchObject([
    { taskId: 'start-a', status: 'done' },
    { taskId: 'start-b', status: 'done' },
  ])
  expect(failures).toBeGreaterThan(0)
  expect(storedPod(fake, 'dind-b')?.metadata.deletionTimestamp).toBeUndefined()
})

test('a start fails with a retriable fault if its pod is not deleted within its grace and a margin', async () => {
  await using fake = await openFakeKube()
  const kube = fake.kube()
  await kube.create(pod('dind', 'a'))
  terminate(fake, 'dind-a')
  const clock = skippingClock()
  await expect(createAttempt(createOptions(kube, { clock }), start('a'), signal)).rejects.toMatchObject({
    code: 'cluster-unreachable',
    retryable: true,
    message: 'Pod dind-a is still being deleted.',
  })
  expect(clock.monotonic()).toBe(124_000)
})

interface WatchScene extends AsyncDisposable {
  readonly watch: PodWatch
  readonly facts: Fact[]
  /** Sends a change of a pod to the watch. Resolves when the watch has read it. */
  send(type: 'set' | 'gone', pod: object): Promise<void>
}

/** Opens the watch of an agent. Its changes come from the test, everything else from the API server. */
function openWatchScene(kube: Kube): WatchScene {
  const facts: Fact[] = []
  const sent: { change: Change; read: () => void }[] = []
  let wake = Promise.withResolvers<void>()
  async function* changes(watchSignal: AbortSignal): AsyncGenerator<Change> {
    watchSignal.addEventListener('abort', () => wake.resolve())
    for (; !watchSignal.aborted; await wake.promise) {
      wake = Promise.withResolvers()
      for (let next = sent.shift(); next !== undefined; next = sent.shift()) {
        yield next.change
        next.read()
      }
    }
  }
  const watched: Kube = Object.assign(kube, {
    watch: (_: unknown, options: { readonly signal: AbortSignal }) => changes(options.signal),
  })
  const report = (fact: Fact): void => void facts.push(fact)
  const common = { kube: watched, clock: fastClock, log: silentLog, namespaces: ['builds'], labels: 'windlass.io/build' }
  const opened = openPodWatch({ ...common, report, onPlaced: () => undefined })
  return {
    watch: opened,
    facts,
    async send(type, object) {
      const { promise, resolve } = Promise.withResolvers<void>()
      sent.push({ change: { type, object: structuredClone(object) as KubeObject }, read: resolve })
      wake.resolve()
      await promise
    },
    [Symbol.asyncDispose]: () => opened.close(),
  }
}

function leaving(graceSeconds: number): object {
  const { metadata, ...rest } = pod('dind', 'a')
  const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: graceSeconds }
  return { ...rest, metadata: { ...metadata, uid: 'uid-a', ...deletion }, status: { phase: 'Running' } }
}

test('an agent that starts while a pod makes room does not report the pod as lost', async () => {
  await using fake = await openFakeKube()
  await using scene = openWatchScene(fake.kube())
  const ended = { ...leaving(3), status: { phase: 'Failed' } }
  for (const each of [leaving(3), ended]) await scene.send('set', each)
  // After a broken watch, the end of a pod comes with a part of its metadata.
  await scene.send('gone', { ...pod('dind', 'a'), metadata: { ...pod('dind', 'a').metadata, uid: 'uid-a' } })
  expect(scene.facts).toEqual([])
})

test('a daemon that another client deletes counts as lost', async () => {
  await using fake = await openFakeKube()
  await using scene = openWatchScene(fake.kube())
  await scene.send('set', leaving(30))
  expect(scene.facts).toMatchObject([{ object: 'dind-a', state: 'lost', reason: 'pod-deleted' }])
})

test('a stop does not delete a daemon with the grace of one that makes room', async () => {
  await using fake = await openFakeKube()
  const graces: unknown[] = []
  fake.intercept = ({ method, name, body }) => {
    const { gracePeriodSeconds } = Object(body) as { gracePeriodSeconds?: number }
    if (method === 'DELETE') graces.push([name, gracePeriodSeconds])
    return undefined
  }
  const kube = fake.kube()
  const options = { kube, clock: fastClock, log: silentLog, namespaces: ['builds'], follow }
  for (const graceMs of [0, 1_000, 3_000]) {
    await kube.create(pod('dind', 'a'))
    await removeAttempt(options, { buildId: buildOf('a'), attempt: 1, graceMs }, signal)
  }
  expect(graces).toEqual([0, 1, 2].map(() => ['dind-a', 5]))
})

test('reports a pod again if its deletion failed and the next start uses it', async () => {
  await using fake = await openFakeKube()
  const kube = fake.kube()
  await using scene = openWatchScene(kube)
  let hasRoom = false
  const graces: unknown[] = []
  fake.intercept = (call) => {
    schedule(fake, call, hasRoom)
    if (call.method === 'DELETE') graces.push(Object(call.body).gracePeriodSeconds)
    return call.line === 'DELETE pods/dind-b' ? UNAVAILABLE : undefined
  }
  const options = createOptions(kube, { watch: scene.watch })
  const first = createAttempt(options, start('a'), signal)
  await until(() => fake.calls.filter(({ line }) => line === 'GET pods/engine-a').length >= 2)
  await expect(createAttempt(options, start('b'), signal)).rejects.toMatchObject({ code: 'cluster-unreachable' })
  expect(graces).toEqual([3, 3])

  const daemon = storedPod(fake, 'dind-b') ?? {}
  await scene.send('set', daemon)
  expect(scene.facts).toEqual([])
  hasRoom = true
  await Promise.all([first, createAttempt(options, start('b'), signal)])
  expect(scene.facts).toMatchObject([{ object: 'dind-b', state: 'running' }])
  await scene.send('gone', daemon)
  expect(scene.facts).toMatchObject([{ state: 'running' }, { object: 'dind-b', state: 'lost', reason: 'pod-deleted' }])
})
