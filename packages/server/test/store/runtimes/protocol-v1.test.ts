import type { ProtocolV1Task, ProtocolV1TaskStatus } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { findAgentById } from '../../../src/store/runtimes/agents.ts'
import { findAttempt, type AttemptKey } from '../../../src/store/builds/attempts.ts'
import { pollTasks } from '../../../src/tasks/protocol-v1.ts'
import { takeStatus } from '../../../src/tasks/protocol-v1-reports.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import { ended, openScene, PROTOCOL, say, type Scene, show, started, stepDone, submit, sweep, take } from '../../support/scene.ts'

const never = new AbortController().signal

/** Returns the tasks that a public agent gets now. */
async function poll({ app, agentId }: Scene, reports = true): Promise<ProtocolV1Task[]> {
  return pollTasks(app, { id: agentId }, { reports, version: '2.0.10', waitMs: 0, signal: never })
}

/** Reports the status of a task. */
async function tell({ app, agentId }: Scene, task: ProtocolV1Task, more: Partial<ProtocolV1TaskStatus> = {}): Promise<void> {
  const { _id: id, metadata } = task
  const status = { status: 'Success' as const, statusRevision: metadata.currentStatusRevision + 1, isRetriable: false, ...more }
  expect(await takeStatus(app, agentId, id, status)).toBe(true)
}

function failed(reason: string, isRetriable: boolean): Partial<ProtocolV1TaskStatus> {
  return { status: 'Error', reason, isRetriable }
}

const outline = (tasks: readonly ProtocolV1Task[]): string[] =>
  tasks.map((task) => {
    if (task.type === 'DeletePod' || task.type === 'DeletePvc') return `${task.type} ${task.spec.Name}`
    return `${task.type} ${task.spec.metadata.name}`
  })

/** Opens a scene with a public agent and an elected build. */
async function openProtocolV1(held: TestApp, spec: object = {}): Promise<{ scene: Scene; build: { id: string } }> {
  const scene = await openScene(held.app, spec)
  expect(await poll(scene)).toEqual([])
  const build = await submit(scene)
  await elect(held.app)
  return { scene, build }
}

/** Reports all objects as created; then the engine claims. */
async function begin(scene: Scene, build: { id: string }, attempt = 1): Promise<AttemptKey> {
  for (const task of await poll(scene)) await tell(scene, task)
  const key = { buildId: build.id, attempt }
  await claimAttempt(scene.app, key, { ...PROTOCOL, claimKey: `key-of-${build.id}-${attempt}` })
  return key
}

/** Advances the clock while the agent polls every ten seconds. Returns the tasks that it got. */
async function pollFor({ clock }: TestApp, scene: Scene, seconds: number): Promise<unknown[]> {
  const tasks: unknown[] = []
  for (let passed = 0; passed < seconds; passed += 10) {
    clock.advance(10_000)
    tasks.push(...(await poll(scene)))
  }
  return tasks
}

describe.each(DATABASES)('agents that poll, on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('creates a claim and two pods for an attempt and then deletes them, each in one task (R226, A08)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const tasks = await poll(scene)
    expect(outline(tasks)).toEqual([
      `CreatePvc pvc-dind-${build.id}`,
      `CreatePod dind-${build.id}`,
      `CreatePod engine-${build.id}`,
    ])
    for (const { metadata } of tasks)
      expect(metadata).toEqual({
        createdAt: '2027-01-15T08:00:00.000Z',
        reName: 'local',
        workflowId: build.id,
        currentStatusRevision: 0,
        shouldReportStatus: true,
      })
    for (const task of tasks)
      expect(task.spec).toMatchObject({
        apiVersion: 'v1',
        metadata: { namespace: 'windlass', labels: { 'windlass.io/build': build.id } },
      })
    expect(await poll(scene)).toEqual([])
    for (const task of tasks) await tell(scene, task)
    const key = { buildId: build.id, attempt: 1 }
    const claimed = await claimAttempt(held.app, key, { ...PROTOCOL, claimKey: `key-of-${build.id}` })
    expect(claimed.docker?.cert).toContain('BEGIN CERTIFICATE')
    const attempt = await findAttempt(held.app.store.query, build.id, 1)
    expect(attempt).toMatchObject({ protocol: 1, docker_host: `tcp://dind-${build.id}.dind.windlass.svc:1300` })
    await say(held.app, key, started, stepDone('one'), stepDone('two'), ended('success'))
    expect(await show(held.app, build.id)).toMatchObject({ status: 'success' })
    expect(await poll(scene)).toEqual([])
    held.clock.advance(3000)
    const deletions = await poll(scene)
    expect(outline(deletions)).toEqual([
      `DeletePod engine-${build.id}`,
      `DeletePod dind-${build.id}`,
      `DeletePvc pvc-dind-${build.id}`,
    ])
    for (const task of deletions) await tell(scene, task)
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
    held.clock.advance(3_600_000)
    expect(await poll(scene)).toEqual([])
  })

  test('accepts only a report with the next revision (R229, R230)', async () => {
    await using held = await openTestApp(database)
    const { scene } = await openProtocolV1(held, { limits: { retries: 3 } })
    const [pvc, dind] = await poll(scene)
    if (pvc === undefined || dind === undefined) throw new Error('no tasks')
    for (const statusRevision of [0, 2, 7]) await tell(scene, pvc, { ...failed('old', false), statusRevision })
    expect(await poll(scene)).toEqual([])
    await tell(scene, pvc, failed('failed creating resource: timed out', true))
    await tell(scene, pvc, failed('failed creating resource: forbidden', false))
    held.clock.advance(60_000)
    const [again, ...others] = await poll(scene)
    expect(others).toEqual([])
    expect(again).toMatchObject({ _id: pvc._id, type: 'CreatePvc', metadata: { currentStatusRevision: 1 } })
    if (again === undefined) throw new Error('no task')
    await tell(scene, again)
    await tell(scene, again)
    held.clock.advance(60_000)
    expect(await poll(scene)).not.toContainEqual(expect.objectContaining({ _id: pvc._id }))
    expect(
      await takeStatus(held.app, scene.agentId, 'f'.repeat(24), { status: 'Success', statusRevision: 1, isRetriable: false }),
    ).toBe(false)
  })

  test('retries a transient failure with a new revision up to the limit, then ends the build with its message (A10)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held, { limits: { retries: 2 } })
    const words = `failed creating resource: windlass\\dind-${build.id}: the server is currently unable to handle the request`
    const revisions: number[] = []
    for (let round = 0; round < 3; round += 1) {
      for (const task of await poll(scene)) {
        const isDind = outline([task])[0] === `CreatePod dind-${build.id}`
        if (isDind) revisions.push(task.metadata.currentStatusRevision)
        await tell(scene, task, isDind ? failed(words, true) : {})
      }
      if (round === 0)
        expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'pod-rejected', message: words })
      held.clock.advance(10_000)
    }
    expect(revisions).toEqual([0, 1, 2])
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'pod-rejected',
      message: `${words} (tried 3 times)`,
    })
    expect(outline(await poll(scene)).map((line) => line.split(' ')[0])).toEqual(['DeletePod', 'DeletePod', 'DeletePvc'])
  })

  test('ends a build immediately on a permanent refusal with the Kubernetes message, and deletes what was created (A09)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const [pvc, dind, engine] = await poll(scene)
    if (pvc === undefined || dind === undefined || engine === undefined) throw new Error('no tasks')
    const words = `failed creating resource: persistentvolumeclaims "pvc-dind-${build.id}" is forbidden: exceeded quota: disks`
    await tell(scene, pvc, failed(words, false))
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'disk-unavailable', message: words })
    await tell(scene, dind)
    await tell(scene, engine)
    const deletions = await poll(scene)
    expect(deletions).toHaveLength(3)
    for (const task of deletions)
      await tell(
        scene,
        task,
        task.type === 'DeletePvc' ? failed('failed deleting resource: persistentvolumeclaims "x" not found', false) : {},
      )
    held.clock.advance(600_000)
    for (const task of await poll(scene)) await tell(scene, task)
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
  })

  test('treats existing objects as created and missing ones as deleted, and retries while one is being deleted (R232, A11, A12)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const [pvc, dind, engine] = await poll(scene)
    if (pvc === undefined || dind === undefined || engine === undefined) throw new Error('no tasks')
    await tell(
      scene,
      pvc,
      failed(`failed creating resource: persistentvolumeclaims "pvc-dind-${build.id}" already exists`, false),
    )
    await tell(scene, dind, failed(`failed creating resource: pods "dind-${build.id}" already exists`, false))
    await tell(
      scene,
      engine,
      failed(`failed creating resource: object is being deleted: pods "engine-${build.id}" already exists`, false),
    )
    held.clock.advance(5000)
    expect(outline(await poll(scene))).toEqual([`CreatePod engine-${build.id}`])
    await terminateBuild(held.app, build.id, 'tester')
    expect(await show(held.app, build.id)).toMatchObject({ status: 'terminated' })
    const deletions = await poll(scene)
    for (const task of deletions) await tell(scene, task, failed('failed deleting resource: not found', false))
    expect(deletions).toHaveLength(3)
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
  })

  test('treats tasks of an old agent that sends no reports as done', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const tasks = await poll(scene, false)
    expect(tasks.map(({ metadata }) => metadata.shouldReportStatus)).toEqual([false, false, false])
    expect(await held.app.store.query.selectFrom('task').select('status').execute()).toEqual([{ status: 'done' }])
    await terminateBuild(held.app, build.id, 'tester')
    expect(await poll(scene, false)).toHaveLength(3)
    held.clock.advance(600_000)
    await poll(scene, false)
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
  })

  test('starts the next attempt after a lost engine when its pods no longer exist (R244)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    await begin(scene, build)
    expect(await pollFor(held, scene, 60)).toEqual([])
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
    for (const task of await poll(scene)) await tell(scene, task)
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'pending', attempt: 1 })
    held.clock.advance(3000)
    const asked = await poll(scene)
    expect(outline(asked)).toEqual([`DeletePod engine-${build.id}`, `DeletePod dind-${build.id}`])
    for (const task of asked) await tell(scene, task, failed('failed deleting resource: pods "x" not found', false))
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', attempt: 2 })
    expect(outline(await poll(scene))).toEqual([
      `CreatePvc pvc-dind-${build.id}-retry-1`,
      `CreatePod dind-${build.id}-retry-1`,
      `CreatePod engine-${build.id}-retry-1`,
    ])
  })

  test('believes an agent that always reports success after the grace period of the pods', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held, { runtimeScheduler: { terminationGracePeriodSeconds: 20 } })
    await begin(scene, build)
    await pollFor(held, scene, 60)
    await sweep(held.app, true)
    let seconds = 0
    for (; (await findAttempt(held.app.store.query, build.id, 1))?.gone === 0 && seconds < 300; seconds += 1) {
      for (const task of await poll(scene)) await tell(scene, task)
      held.clock.advance(1000)
    }
    expect(seconds).toBeGreaterThanOrEqual(30)
    expect(seconds).toBeLessThan(40)
  })

  test('deletes what an agent creates after its build has ended', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const creations = await poll(scene)
    await terminateBuild(held.app, build.id, 'tester')
    for (const task of await poll(scene)) await tell(scene, task, failed('failed deleting resource: not found', false))
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
    for (const task of creations) await tell(scene, task)
    const again = await poll(scene)
    expect(outline(again)).toEqual([
      `DeletePod engine-${build.id}`,
      `DeletePod dind-${build.id}`,
      `DeletePvc pvc-dind-${build.id}`,
    ])
    for (const task of again) await tell(scene, task)
    expect(await findAttempt(held.app.store.query, build.id, 1)).toMatchObject({ gone: 1 })
  })

  test('hands out a task without a report again, and ends the build after its start timeout (A14)', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    const first = await poll(scene)
    held.clock.advance(200_000)
    const second = await poll(scene)
    expect(outline(second)).toEqual(outline(first))
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'agent-lost' })
    held.clock.advance(901_000)
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'agent-lost',
      message: expect.stringContaining('Check that it serves the runtime environment local'),
    })
  })

  test('lets an agent of protocol v2 take over from one of protocol v1', async () => {
    await using held = await openTestApp(database)
    const { scene, build } = await openProtocolV1(held)
    await poll(scene)
    expect(await findAgentById(held.app.store.query, scene.agentId)).toMatchObject({ protocol: 1, version: '2.0.10' })
    const { epoch } = await greetAgent(held.app, scene.agentId, {
      ...PROTOCOL,
      executor: 'kubernetes',
      instance: 'another-one',
      attempts: [],
    })
    expect(await findAgentById(held.app.store.query, scene.agentId)).toMatchObject({ protocol: 2 })
    held.clock.advance(600_001)
    const [task] = await take({ ...scene, epoch })
    expect(task).toMatchObject({ kind: 'start-attempt', buildId: build.id })
    if (task?.kind !== 'start-attempt') throw new Error('no start task')
    expect(task.objects.map(({ kind }) => kind)).toEqual(['PersistentVolumeClaim', 'Pod', 'Pod'])
  })

  test('never gives two concurrent polls the same task, and keeps the order of election (A05)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poll(scene)
    await Promise.all(Array.from({ length: 20 }, () => submit(scene)))
    await elect(held.app)
    const answers = await Promise.all(Array.from({ length: 6 }, () => poll(scene)))
    const rest = await poll(scene)
    const ids = [...answers.flat(), ...rest].map(({ _id: id }) => id)
    expect([ids.length, new Set(ids).size]).toEqual([60, 60])
    for (const answer of answers) {
      const times = answer.map(({ metadata }) => metadata.createdAt)
      expect(times).toEqual(times.toSorted((a, b) => a.localeCompare(b)))
    }
  })
})
