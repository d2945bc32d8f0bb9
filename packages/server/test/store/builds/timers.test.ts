import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { findAttempt, type AttemptKey } from '../../../src/store/builds/attempts.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import {
  openScene,
  report,
  runAttempt,
  say,
  type Scene,
  show,
  started,
  stepDone,
  submit,
  sweep,
  take,
  tell,
  writeLog,
} from '../../support/scene.ts'

const SECOND = 1000

/** Opens a runtime with limits under their Codefresh names, and a running build on it. */
async function openRunning(held: TestApp, workflowLimits: object): Promise<{ scene: Scene; key: AttemptKey }> {
  const scene = await openScene(held.app, { runtimeScheduler: { workflowLimits } })
  return { scene, key: await runAttempt(scene, await submit(scene)) }
}

/** Advances the clock while the engine calls every ten seconds. */
async function live({ app, clock }: TestApp, key: AttemptKey, seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    clock.advance(Math.min(left, 10) * SECOND)
    await heartbeat(app, key).catch(() => undefined)
    await sweep(app, true)
  }
}

describe.each(DATABASES)('the timers of a runtime, on $name (R243)', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('MAXIMUM_ELECTED_STATE_AGE_ALLOWED ends a build whose engine does not start, with the waiting reason of its pods', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { runtimeScheduler: { workflowLimits: { MAXIMUM_ELECTED_STATE_AGE_ALLOWED: 100 } } })
    const build = await submit(scene)
    await elect(held.app)
    await take(scene)
    await tell(scene, { buildId: build.id, attempt: 1, state: 'waiting', reason: 'disk-unavailable', message: 'no volume fits' })
    held.clock.advance(99 * SECOND)
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'disk-unavailable' })
    held.clock.advance(2 * SECOND)
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'disk-unavailable',
      message: 'no volume fits',
    })
  })

  test('ends a build after its start timeout if its agent is offline', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { runtimeScheduler: { workflowLimits: { MAXIMUM_ELECTED_STATE_AGE_ALLOWED: 900 } } })
    const build = await submit(scene)
    await elect(held.app)
    held.clock.advance(899 * SECOND)
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected' })
    held.clock.advance(2 * SECOND)
    await sweep(held.app, true)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'start-timeout' })
  })

  test('MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS retries an attempt whose engine does not start its first step', async () => {
    await using held = await openTestApp(database)
    const limits = { MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS: 120, MAXIMUM_RETRY_ATTEMPTS_ALLOWED: 1 }
    const { scene, key } = await openRunning(held, limits)
    await live(held, key, 120)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running' })
    await live(held, key, 10)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
    for (const task of await take(scene)) await report(scene, task, 'done')
    const second = await runAttempt(scene, { id: key.buildId })
    await say(held.app, second, started, { type: 'step.started', step: 'one', try: 1 })
    await live(held, second, 500)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 2 })
  })

  test('reports how long no step started if no retry is left', async () => {
    await using held = await openTestApp(database)
    const limits = { MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS: 120, MAXIMUM_RETRY_ATTEMPTS_ALLOWED: 0 }
    const { key } = await openRunning(held, limits)
    await live(held, key, 130)
    expect(await show(held.app, key.buildId)).toMatchObject({
      status: 'error',
      reason: 'start-timeout',
      message: "No step started within 2 minutes of the engine's start.",
    })
  })

  test('MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION terminates a busy build, and MAXIMUM_TERMINATING_STATE_AGE_ALLOWED limits its termination', async () => {
    await using held = await openTestApp(database)
    const limits = {
      MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION: 200,
      MAXIMUM_TERMINATING_STATE_AGE_ALLOWED: 100,
      MAXIMUM_TERMINATING_STATE_AGE_ALLOWED_WITHOUT_UPDATE: 50,
    }
    const { key } = await openRunning(held, limits)
    await say(held.app, key, started, { type: 'step.started', step: 'one', try: 1 })
    await live(held, key, 210)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminating', reason: 'too-long' })
    for (let n = 0; n < 3; n += 1) {
      await writeLog(held.app, key, { offset: n, text: '.' })
      await live(held, key, 30)
      expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminating' })
    }
    await live(held, key, 20)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminated', reason: 'too-long' })
  })

  test('MAXIMUM_TERMINATING_STATE_AGE_ALLOWED_WITHOUT_UPDATE ends a build whose engine neither stops nor writes output', async () => {
    await using held = await openTestApp(database)
    const { key } = await openRunning(held, { MAXIMUM_TERMINATING_STATE_AGE_ALLOWED_WITHOUT_UPDATE: 50 })
    await terminateBuild(held.app, key.buildId, 'ann')
    await live(held, key, 50)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminating' })
    await live(held, key, 10)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  })

  test('TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY and _UNTIL_TERMINATION apply to a silent engine', async () => {
    await using held = await openTestApp(database)
    const limits = { TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY: 60, TIME_ENGINE_INACTIVE_UNTIL_TERMINATION: 300 }
    const { key } = await openRunning(held, limits)
    const statusAfter = async (seconds: number): Promise<string | undefined> => {
      held.clock.advance(seconds * SECOND)
      await sweep(held.app, true)
      return (await findAttempt(held.app.store.query, key.buildId, 1))?.status
    }
    expect(await statusAfter(59)).toBe('started')
    expect(await statusAfter(2)).toBe('suspect')
    expect(await statusAfter(238)).toBe('suspect')
    expect(await statusAfter(2)).toBe('lost')
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('TIME_INACTIVE_UNTIL_TERMINATION terminates an inactive build', async () => {
    await using held = await openTestApp(database)
    const { key } = await openRunning(held, { TIME_INACTIVE_UNTIL_TERMINATION: 100 })
    await say(held.app, key, started, { type: 'step.started', step: 'one', try: 1 })
    await live(held, key, 110)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'terminating', reason: 'inactive' })
  })

  test('MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES terminates a build after its last step, but not while another step runs or is pending', async () => {
    await using held = await openTestApp(database)
    const { key } = await openRunning(held, { MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES: 2 })
    await say(held.app, key, started, { type: 'step.started', step: 'one', try: 1 }, stepDone('one'))
    await live(held, key, 200)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running' })
    await say(held.app, key, { type: 'step.started', step: 'two', try: 1 }, stepDone('two'))
    await live(held, key, 120)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running' })
    await live(held, key, 10)
    expect(await show(held.app, key.buildId)).toMatchObject({
      status: 'terminating',
      message: 'The build did not end within 2 minutes of its last step.',
    })
  })

  test('MAXIMUM_RETRY_ATTEMPTS_ALLOWED limits the retries of a build whose nodes are lost repeatedly (R244)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { runtimeScheduler: { workflowLimits: { MAXIMUM_RETRY_ATTEMPTS_ALLOWED: 20 } } })
    const build = await submit(scene)
    for (let attempt = 1; attempt <= 21; attempt += 1) {
      const key = await runAttempt(scene, build)
      expect(key.attempt).toBe(attempt)
      await tell(scene, { ...key, state: 'lost', reason: 'node-lost', message: `node ${attempt} is gone` })
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'node-lost',
      message: 'node 21 is gone',
      retries: 20,
    })
  })
})
