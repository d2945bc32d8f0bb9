/** How many attempts start at once, against a small API server whose pods run when the test says so. */
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock, silentLog, systemClock, type Clock, type ManualClock } from '@windlass/kit'
import type { StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { Executor, Fact } from '../src/executor.ts'
import { kubernetesExecutor } from '../src/index.ts'
import { policyWith } from './support/attempt-objects.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'
import { openV1Scene, task, until } from './support/v1-scene.ts'
import { openWorkflowStarts } from '../src/v1/index.ts'

const buildOf = (letter: string): string => `65a1b2c3d4e5f60718293a4${letter}`

function podOf(app: 'dind' | 'engine', letter: string): StartTask['objects'][number] {
  const labels = {
    'windlass.io/build': buildOf(letter),
    'windlass.io/attempt': '1',
    app: app === 'engine' ? 'runtime' : app,
  }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `${app}-${letter}`, namespace: 'builds', labels }, spec: {} }
}

/** Returns the start of an attempt without a disk. The tasks are as old as their letters say. */
function start(letter: string, more: Partial<StartTask> = {}): StartTask {
  const engine = { bootstrap: 'bootstrap', serverUrl: 'https://windlass.example.com' }
  const objects = [podOf('dind', letter), podOf('engine', letter)]
  const head = { kind: 'start-attempt', id: letter, revision: 1, attempt: 1, runtime: 'r', leaseMs: 1 } as const
  return { ...head, buildId: buildOf(letter), engine, objects, ...more }
}

interface Scene extends AsyncDisposable {
  readonly kube: FakeKube
  readonly facts: Fact[]
  readonly executor: Executor
  /** Letters of the attempts whose daemon was created, in order. */
  begun(): string[]
  /** Replaces the executor by that of a new process. */
  restart(): Promise<void>
}

/** Opens the executor of an agent in a cluster with one core. */
async function openScene(perCore: number, clock: Clock = systemClock): Promise<Scene> {
  const kube = await openFakeKube()
  kube.cores = 1
  const facts: Fact[] = []
  const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default' })
  const open = (): Executor =>
    kubernetesExecutor({ kube: kube.kube(), policy, starts: { perCore } })({
      report: (fact) => void facts.push(fact),
      clock,
      log: silentLog,
    })
  let executor = open()
  return {
    kube,
    facts,
    get executor() {
      return executor
    },
    begun: () => kube.calls.flatMap(({ line }) => /^POST pods\/dind-(.*)$/.exec(line)?.[1] ?? []),
    async restart() {
      await executor.close()
      executor = open()
    },
    async [Symbol.asyncDispose]() {
      await executor.close()
      await kube[Symbol.asyncDispose]()
    },
  }
}

/** Gives a pod a node and starts its container, as scheduler and kubelet do. */
function runPod(kube: FakeKube, app: 'dind' | 'engine', letter: string): void {
  const containerStatuses = [{ name: app, state: { running: {} } }]
  kube.change(`pods/${app}-${letter}`, { spec: { nodeName: 'node-1' }, status: { phase: 'Running', containerStatuses } })
}

async function run({ kube }: Pick<Scene, 'kube'>, letter: string): Promise<void> {
  for (const app of ['dind', 'engine'] as const) {
    await until(`${app}-${letter}`, () => kube.objects.has(`pods/${app}-${letter}`))
    runPod(kube, app, letter)
  }
}

const signal = new AbortController().signal

test('starts as many attempts at once as the cores allow: builds by age, then warm pairs', async () => {
  await using scene = await openScene(2)
  const { executor, begun } = scene
  const all = [start('a'), start('b'), start('c', { warm: true }), start('e'), start('d')]
  const done = Promise.all(all.map((each) => executor.start(each, signal)))
  for (const next of ['b', 'd', 'e', 'c']) {
    await until(`the start of ${next}`, () => begun().includes(next))
    const [oldest] = begun().filter((letter) => scene.kube.objects.get(`pods/engine-${letter}`)?.['status'] === undefined)
    if (oldest !== undefined) await run(scene, oldest)
  }
  for (const letter of begun().slice(-2)) await run(scene, letter)
  await done
  expect(begun()).toEqual(['a', 'b', 'd', 'e', 'c'])
})

test('a build that waits for its turn says which starts and how many are before it', async () => {
  await using scene = await openScene(1)
  const done = Promise.all(['a', 'b', 'c'].map((letter) => scene.executor.start(start(letter), signal)))
  await until('two reports', () => scene.facts.filter(({ reason }) => reason === 'start-limit').length >= 2)
  const limit = `At most one build or warm pair starts at once on these nodes. Starting: ${buildOf('a')}.`
  expect(scene.facts.filter(({ reason }) => reason === 'start-limit')).toMatchObject([
    { buildId: buildOf('b'), attempt: 1, state: 'waiting', message: `${limit} This build is next.` },
    { buildId: buildOf('c'), attempt: 1, state: 'waiting', message: `${limit} 1 build starts before this one.` },
  ])
  for (const letter of ['a', 'b', 'c']) await run(scene, letter)
  await done
})

test('the limit of the runtime is used instead of that of the agent', async () => {
  await using scene = await openScene(1)
  const starts = { perCore: 10, max: 2 }
  const done = Promise.all(['a', 'b', 'c'].map((letter) => scene.executor.start(start(letter, { starts }), signal)))
  await until('two starts', () => scene.begun().length === 2)
  for (const letter of ['a', 'b', 'c']) await run(scene, letter)
  await done
  expect(scene.begun()).toEqual(['a', 'b', 'c'])
})

test('an attempt that finds no room does not keep others from starting', async () => {
  await using scene = await openScene(1)
  const stop = new AbortController()
  const first = scene.executor.start(start('a'), stop.signal)
  await until('the start of a', () => scene.kube.objects.has('pods/dind-a'))
  const second = scene.executor.start(start('b'), signal)
  const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available: 1 Insufficient cpu.' }]
  scene.kube.change('pods/dind-a', { status: { phase: 'Pending', conditions } })
  await run(scene, 'b')
  await second
  stop.abort(new DOMException('the attempt is stopped', 'AbortError'))
  await expect(first).rejects.toThrow('the attempt is stopped')
})

test('a restarted agent counts the attempts that its predecessor started', async () => {
  await using scene = await openScene(1)
  const stop = new AbortController()
  const first = scene.executor.start(start('a'), stop.signal)
  await until('the start of a', () => scene.kube.objects.has('pods/dind-a'))
  stop.abort(new DOMException('the agent is closed', 'AbortError'))
  await expect(first).rejects.toThrow('the agent is closed')
  await scene.restart()

  const second = scene.executor.start(start('b'), signal)
  await until('a report', () => scene.facts.some(({ buildId, reason }) => buildId === buildOf('b') && reason === 'start-limit'))
  expect(scene.begun()).toEqual(['a'])
  const again = scene.executor.start(start('a'), signal)
  await run(scene, 'a')
  await run(scene, 'b')
  await Promise.all([again, second])
})

test('without the right to read nodes, assumes four cores', async () => {
  await using scene = await openScene(1)
  scene.kube.intercept = ({ line }) => (line === 'GET nodes/' ? { status: 403, reason: 'Forbidden' } : undefined)
  const letters = ['a', 'b', 'c', 'd', 'e']
  const done = Promise.all(letters.map((letter) => scene.executor.start(start(letter), signal)))
  await until('four starts', () => scene.begun().length === 4)
  for (const letter of letters) await run(scene, letter)
  await done
  expect(scene.begun()).toEqual(letters)
})

/** Lets time pass, with turns of the event loop for the calls in between: after a pause of this process, real time alone would bring none. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 500) {
    clock.advance(500)
    await systemClock.sleep(2)
    for (let turns = 0; turns < 50; turns += 1) await turn()
  }
}

test('starts do not wait a minute for each other while the watch of pods is silent', async () => {
  const clock = manualClock()
  await using scene = await openScene(1, clock)
  scene.kube.isSilent = true
  const done = Promise.all(['a', 'b', 'c'].map((letter) => scene.executor.start(start(letter), signal)))
  for (const letter of ['a', 'b', 'c']) {
    await until(`the start of ${letter}`, () => scene.begun().includes(letter))
    runPod(scene.kube, 'dind', letter)
    await pass(clock, 2_000)
    await until(`engine-${letter}`, () => scene.kube.objects.has(`pods/engine-${letter}`))
    runPod(scene.kube, 'engine', letter)
    await pass(clock, 13_000)
  }
  await done
  expect(clock.monotonic()).toBeLessThan(60_000)
  expect(scene.begun()).toEqual(['a', 'b', 'c'])
})

test('one failed list of nodes does not set the limit of the whole queue', async () => {
  const clock = manualClock()
  await using scene = await openScene(0.25, clock)
  scene.kube.cores = 8
  let lists = 0
  scene.kube.intercept = ({ line }) => (line === 'GET nodes/' && (lists += 1) === 1 ? { status: 500 } : undefined)
  const done = Promise.all(['a', 'b', 'c'].map((letter) => scene.executor.start(start(letter), signal)))
  await until('the start of a', () => scene.begun().includes('a'))
  await pass(clock, 12_000)
  await until('the start of b', () => scene.begun().includes('b'))
  expect(scene.begun()).toEqual(['a', 'b'])
  for (const letter of ['a', 'b', 'c']) await run(scene, letter)
  await done
})

/** Returns a cluster of one core in which one workflow starts at a time. */
function clusterOfOneCore({ kube, cluster }: Awaited<ReturnType<typeof openV1Scene>>) {
  kube.cores = 1
  const clusterKube = kube.kube()
  const line = { kube: clusterKube, namespaces: ['builds'], clock: systemClock, log: silentLog }
  const starts = openWorkflowStarts({ ...line, rate: { perCore: 1 } })
  return { cluster: { ...cluster, kube: clusterKube, starts }, starts }
}

test('protocol v1 starts workflows by the same limit, and deletes while others wait', async () => {
  await using scene = await openV1Scene()
  const { kube } = scene
  const { cluster, starts } = clusterOfOneCore(scene)
  scene.agent({ clusterOf: () => cluster, concurrency: 2 })
  const pods = (workflow: string): { _id: string }[] =>
    ['dind', 'engine'].map((app) => task('CreatePod', { workflow, name: `${app}-${workflow}` }))
  const created = ['a', 'b', 'c'].map(pods)
  scene.platform.script.push(created.flat())
  await until('the first workflow', () => kube.objects.has('pods/engine-a'))
  const removal = task('DeletePod', { workflow: 'old', name: 'dind-old' })
  scene.platform.script.push([removal])
  await until('the deletion', () => scene.platform.reportsOf(removal._id).length > 0)
  for (const letter of ['a', 'b', 'c']) await run(scene, letter)
  const reported = (): unknown[] => created.flat().flatMap(({ _id }) => scene.platform.reportsOf(_id))
  await until('all reports', () => reported().length === 6)
  expect(kube.calls.flatMap(({ line: each }) => /^POST pods\/(.*)$/.exec(each)?.[1] ?? [])).toEqual(
    ['a', 'b', 'c'].flatMap((letter) => [`dind-${letter}`, `engine-${letter}`]),
  )
  starts.close()
})

test('protocol v1 ends the wait of a workflow that the platform terminates, and creates nothing for it', async () => {
  await using scene = await openV1Scene()
  const { kube } = scene
  const { cluster, starts } = clusterOfOneCore(scene)
  scene.agent({ clusterOf: () => cluster })
  const create = (workflow: string): { _id: string } => task('CreatePod', { workflow, name: `dind-${workflow}` })
  const [first, second] = [create('a'), create('b')]
  scene.platform.script.push([first])
  await until('the first workflow', () => kube.objects.has('pods/dind-a'))
  scene.platform.script.push([second])
  await until('the wait of the second workflow', () => scene.platform.script.length === 0)
  const removal = task('DeletePod', { workflow: 'b', name: 'dind-b' })
  // The platform repeats it until it hears of it. The first one may come before the second workflow waits.
  await until('its withdrawal', () => {
    if (scene.platform.script.length === 0 && scene.platform.reportsOf(removal._id).length === 0)
      scene.platform.script.push([removal])
    return scene.platform.reportsOf(second._id).length > 0
  })
  expect(scene.platform.reportsOf(second._id)).toMatchObject([{ reason: 'the workflow was terminated before its turn' }])
  await until('the deletion', () => scene.platform.reportsOf(removal._id).length > 0)
  expect(kube.calls.filter(({ line: each }) => each === 'POST pods/dind-b')).toEqual([])
  starts.close()
})

test('protocol v1 reports the workflows that wait when the agent is stopped, so that the platform sends them again', async () => {
  await using scene = await openV1Scene()
  const { cluster, starts } = clusterOfOneCore(scene)
  const agent = scene.agent({ clusterOf: () => cluster })
  const created = ['a', 'b', 'c'].map((workflow) => task('CreatePod', { workflow, name: `dind-${workflow}` }))
  const [first, ...others] = created
  // It is answered after the stop, and its tasks come only once.
  const late = task('CreatePod', { workflow: 'd', name: 'dind-d' })
  scene.platform.script.push(created)
  await until('the first workflow', () => scene.platform.reportsOf(first?._id ?? '').length > 0)
  await until('the wait of the others', () => agent.status().tasks === 2)
  scene.platform.script.push([late])
  await agent.close()
  const reason = 'the agent was stopped before the turn of the workflow'
  for (const { _id } of scene.platform.script.length === 0 ? [...others, late] : others)
    expect(scene.platform.reportsOf(_id)).toMatchObject([{ status: 'Error', reason, isRetriable: true }])
  expect(scene.kube.objects.has('pods/dind-b')).toBe(false)
  expect(agent.status()).toMatchObject({ tasks: 0, facts: 0 })
  starts.close()
})
