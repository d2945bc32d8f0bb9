import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../src/builds/elect.ts'
import { claimAttempt } from '../../src/builds/engine-claim.ts'
import { awaitCommands, heartbeat } from '../../src/builds/engine-link.ts'
import { applyEvents } from '../../src/builds/events.ts'
import { sweep } from '../../src/builds/sweep.ts'
import { terminateBuild } from '../../src/builds/terminate.ts'
import { readFeed } from '../../src/feed/feed.ts'
import { putPipeline } from '../../src/pipelines/pipelines.ts'
import { PipelineInput } from '@windlass/protocol'
import { greetAgent } from '../../src/tasks/hello.ts'
import { TIMINGS } from '../../src/open-app.ts'
import { DATABASES, openTestApp, type Database } from '../support/stores.ts'
import {
  ended,
  HELLO,
  numbered,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  show,
  startAttempt,
  started,
  stepDone,
  submit,
  take,
  tell,
  writeLog,
} from '../support/scene.ts'

describe.each(DATABASES)('builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a build runs from request to success, and its steps and attempt are on record', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    expect(build).toMatchObject({ number: 1, status: 'pending' })
    const key = await runAttempt(scene, build)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'running', attempt: 1 })
    await say(
      held.app,
      key,
      started,
      { type: 'step.started', step: 'one', try: 1 },
      stepDone('one'),
      stepDone('two'),
      ended('success'),
    )
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'success',
      retries: 0,
      steps: [
        { name: 'one', status: 'success', exitCode: 0 },
        { name: 'two', status: 'success' },
      ],
      attempts: [{ number: 1, status: 'ended', result: 'success' }],
    })
    const [stop, ...more] = await take(scene)
    expect([stop?.kind, more]).toEqual(['stop-attempt', []])
  })

  test('a document with errors gives a build that ended in error with its problems', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene, { document: "version: '1.0'\nsteps:\n  one:\n    imag: alpine\n" })
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'invalid-pipeline', attempt: 0 })
    expect((await show(held.app, build.id)).problems).toContainEqual(expect.objectContaining({ line: 3, severity: 'error' }))
    expect(
      (await readFeed(held.app.store, held.app.logs, build.id, { after: 0, limit: 10 })).map(
        (item) => 'type' in item && item.type,
      ),
    ).toEqual(['build.created', 'build.finished'])
  })

  test('every waiting build says why: no runtime, no agent, no room, pipeline and branch limits', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const lonely = await submit({ app })
    await elect(app)
    expect(await show(app, lonely.id)).toMatchObject({ status: 'pending', reason: 'runtime-missing' })
    const scene = await openScene(app, { capacity: 2 })
    await putPipeline(app, { input: PipelineInput.parse({ name: 'p/one', document: HELLO, concurrency: 1 }), precondition: {} })
    await putPipeline(app, {
      input: PipelineInput.parse({ name: 'p/branches', document: HELLO, branchConcurrency: 1 }),
      precondition: {},
    })
    await putPipeline(app, {
      input: PipelineInput.parse({ name: 'p/frozen', document: HELLO, concurrency: 0 }),
      precondition: {},
    })
    clock.advance(TIMINGS.agentLeaseMs + 1)
    await elect(app)
    expect(await show(app, lonely.id)).toMatchObject({ reason: 'agent-offline', message: expect.stringContaining('agent') })
    await terminateBuild(app, lonely.id, 'tester')
    await greetAgent(app, scene.agentId, { ...PROTOCOL, executor: 'fake', instance: scene.instance, attempts: [] })
    const frozen = await submit(scene, { document: undefined, pipeline: 'p/frozen' })
    const [first, second] = [
      await submit(scene, { document: undefined, pipeline: 'p/one' }),
      await submit(scene, { document: undefined, pipeline: 'p/one' }),
    ]
    await elect(app)
    expect(await show(app, frozen.id)).toMatchObject({ status: 'pending', reason: 'pipeline-frozen' })
    expect(await show(app, first.id)).toMatchObject({ status: 'elected' })
    expect(await show(app, second.id)).toMatchObject({ status: 'pending', reason: 'pipeline-limit' })
    const [a, b] = [
      await submit(scene, { document: undefined, pipeline: 'p/branches', branch: 'x' }),
      await submit(scene, { document: undefined, pipeline: 'p/branches', branch: 'x' }),
    ]
    await elect(app)
    expect(await show(app, a.id)).toMatchObject({ status: 'elected' })
    expect(await show(app, b.id)).toMatchObject({ status: 'pending', reason: 'runtime-capacity' })
    await say(
      app,
      await runAttempt(scene, first).catch(async () => ({ buildId: first.id, attempt: 1 })),
      started,
      ended('success'),
    )
    await elect(app)
    expect(await show(app, second.id)).toMatchObject({ status: 'elected' })
    expect(await show(app, b.id)).toMatchObject({ status: 'pending' })
  })

  test('the queue goes by priority, then by age', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { capacity: 1 })
    await putPipeline(held.app, {
      input: PipelineInput.parse({ name: 'urgent', document: HELLO, priority: 50 }),
      precondition: {},
    })
    const [old, urgent] = [await submit(scene), await submit(scene, { document: undefined, pipeline: 'urgent' })]
    await elect(held.app)
    expect((await show(held.app, urgent.id)).status).toBe('elected')
    expect((await show(held.app, old.id)).status).toBe('pending')
  })

  test('events told twice, out of order or with a gap are stored once each, in order', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    const [a, b, c, d] = numbered(key, [
      started,
      { type: 'step.started', step: 'one', try: 1 },
      stepDone('one'),
      { type: 'notice', level: 'info', message: 'n' },
    ])
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('events')
    expect(await applyEvents(held.app, key, [b, a])).toBe(2)
    expect(await applyEvents(held.app, key, [a, b, d])).toBe(2)
    expect(await Promise.all([applyEvents(held.app, key, [c, d]), applyEvents(held.app, key, [c, d])])).toEqual([4, 4])
    const feed = await readFeed(held.app.store, held.app.logs, key.buildId, { after: 0, limit: 100 })
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, index) => index + 1))
    expect(feed.filter((item) => item.kind === 'event' && item.source === 'engine')).toHaveLength(4)
  })

  test('a bootstrap credential is good for one exchange, and the lost answer may be asked for again', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const { buildId, attempt } = await startAttempt(scene, await submit(scene))
    const ask = (claimKey: string): ReturnType<typeof claimAttempt> =>
      claimAttempt(held.app, { buildId, attempt }, { ...PROTOCOL, claimKey })
    const first = await ask('the-key-of-one-engine')
    expect((await ask('the-key-of-one-engine')).token).toBe(first.token)
    await expect(ask('the-key-of-another-one')).rejects.toMatchObject({ code: 'claim-used' })
    await expect(
      claimAttempt(held.app, { buildId, attempt }, { ...PROTOCOL, protocol: 9, claimKey: 'the-key-of-one-engine' }),
    ).rejects.toMatchObject({
      code: 'protocol-unsupported',
    })
  })

  test('a finished attempt is refused while log bytes are missing, and its last answer may be asked for again', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    await writeLog(held.app, key, { offset: 0, text: 'half' })
    const last = numbered(key, [
      started,
      { type: 'attempt.finished', outcome: { status: 'success' }, streams: { system: { bytes: 8, sha256: 'x' } } },
    ])
    await expect(applyEvents(held.app, key, last)).rejects.toMatchObject({
      code: 'log-incomplete',
      details: { offsets: { system: 4 } },
    })
    expect(await writeLog(held.app, key, { offset: 4, text: 'whole' })).toBe(9)
    expect(await applyEvents(held.app, key, last)).toBe(2)
    expect(await applyEvents(held.app, key, last)).toBe(2)
    expect((await show(held.app, key.buildId)).status).toBe('success')
  })

  test('a silent engine is suspected, trusted again when it speaks, and given up when it stays silent', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const key = await runAttempt(scene, await submit(scene))
    clock.advance(TIMINGS.suspectMs + 1)
    await sweep(app, false)
    expect((await show(app, key.buildId)).attempts?.[0]?.status).toBe('running')
    await sweep(app, true)
    expect((await show(app, key.buildId)).attempts?.[0]?.status).toBe('suspect')
    await heartbeat(app, key)
    expect((await show(app, key.buildId)).attempts?.[0]?.status).toBe('running')
    clock.advance(TIMINGS.deadMs + 1)
    await sweep(app, true)
    expect(await show(app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending', retries: 1 })
    await expect(heartbeat(app, key)).rejects.toMatchObject({ code: 'attempt-stale' })
    await expect(writeLog(app, key, { offset: 0, text: 'late' })).rejects.toMatchObject({ code: 'attempt-stale' })
  })

  test('the next attempt starts only when the agent has confirmed that nothing of the lost one is left', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await say(app, key, started, stepDone('one'))
    await tell(scene, { ...key, state: 'lost', reason: 'node-lost', message: 'node n1 is gone' })
    await elect(app)
    expect(await show(app, build.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
    const [stop] = await take(scene)
    if (stop === undefined) throw new Error('no stop task')
    expect(stop.kind).toBe('stop-attempt')
    await report(scene, stop, 'failed', { message: 'the node does not answer' })
    await elect(app)
    expect((await show(app, build.id)).status).toBe('pending')
    held.clock.advance(TIMINGS.taskBackoffMs + 1)
    const [again] = await take(scene)
    if (again === undefined) throw new Error('no stop task')
    expect(again.revision).toBe(2)
    await report(scene, stop, 'done')
    await elect(app)
    expect((await show(app, build.id)).status).toBe('pending')
    await report(scene, again, 'done')
    const second = await startAttempt(scene, build)
    const claimed = await claimAttempt(app, second, { ...PROTOCOL, claimKey: 'key-of-the-second-engine' })
    expect(claimed.snapshot.steps).toMatchObject({ one: { status: 'success' }, two: { status: 'pending' } })
    expect(await show(app, build.id)).toMatchObject({
      attempt: 2,
      retries: 1,
      attempts: [{ result: 'lost', reason: 'node-lost', message: 'node n1 is gone' }, {}],
    })
  })

  test('an attempt whose start task nobody was given is made again at once', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { limits: { electedMs: 1000 } })
    const build = await submit(scene)
    await elect(held.app)
    await terminateBuild(held.app, build.id, 'tester')
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'terminated',
      reason: 'cancelled',
      attempts: [{ status: 'ended' }],
    })
    expect(await take(scene)).toEqual([])
  })

  test('a build that kills its engine three times in a row is poison', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { limits: { retries: 20 } })
    const build = await submit(scene)
    for (const attempt of [1, 2, 3]) {
      const key = await runAttempt(scene, build)
      expect(key.attempt).toBe(attempt)
      await tell(scene, { ...key, state: 'lost', reason: 'pod-failed', message: 'OOMKilled' })
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'infra-poison',
      attempt: 3,
      retries: 2,
      message: expect.stringContaining('OOMKilled'),
    })
  })

  test('losses are made good as often as the runtime allows, then the build ends with the reason of the last', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { limits: { retries: 1 } })
    const build = await submit(scene)
    for (const reason of ['evicted', 'node-lost'] as const) {
      await tell(scene, { ...(await runAttempt(scene, build)), state: 'lost', reason })
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'node-lost', attempt: 2, retries: 1 })
  })

  test('a permanent obstacle ends the build at once with the words of the cluster', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    const { buildId, attempt } = await startAttempt(scene, build)
    await tell(scene, {
      buildId,
      attempt,
      state: 'waiting',
      reason: 'pod-rejected',
      message: 'exceeded quota: pods=1',
      permanent: true,
    })
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'pod-rejected',
      message: 'exceeded quota: pods=1',
      retries: 0,
    })
  })

  test('an image that cannot be pulled ends the build after its time, an attempt that does not start after its own', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { pullMs: 1000, electedMs: 5000 } })
    const [pulling, stuck] = [await submit(scene), await submit(scene)]
    await elect(app)
    for (const task of await take(scene)) await report(scene, task, 'done')
    await tell(scene, {
      buildId: pulling.id,
      attempt: 1,
      state: 'waiting',
      reason: 'pod-image-error',
      message: 'ErrImagePull: no such host',
    })
    await tell(scene, {
      buildId: stuck.id,
      attempt: 1,
      state: 'waiting',
      reason: 'unschedulable',
      message: '0/1 nodes are available',
    })
    expect(await show(app, stuck.id)).toMatchObject({
      status: 'elected',
      reason: 'unschedulable',
      message: '0/1 nodes are available',
    })
    clock.advance(1001)
    await sweep(app, true)
    expect(await show(app, pulling.id)).toMatchObject({
      status: 'error',
      reason: 'pod-image-error',
      message: 'ErrImagePull: no such host',
    })
    clock.advance(4000)
    await sweep(app, true)
    expect(await show(app, stuck.id)).toMatchObject({
      status: 'error',
      reason: 'unschedulable',
      message: '0/1 nodes are available',
    })
  })

  test('terminate ends a waiting build at once, and reaches a running one as a command', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app, { capacity: 1 })
    const running = await submit(scene)
    const key = await runAttempt(scene, running)
    const waiting = await submit(scene)
    await terminateBuild(app, waiting.id, 'ann')
    expect(await show(app, waiting.id)).toMatchObject({
      status: 'terminated',
      reason: 'cancelled',
      message: 'Terminated by ann.',
    })
    await expect(terminateBuild(app, waiting.id, 'ann')).rejects.toMatchObject({ code: 'build-final' })
    await terminateBuild(app, running.id, 'ann')
    await terminateBuild(app, running.id, 'bob')
    const commands = await awaitCommands(app, key, { after: 0, waitMs: 0, signal: new AbortController().signal })
    expect(commands).toMatchObject([{ id: 1, type: 'terminate', reason: 'cancelled' }])
    expect((await show(app, running.id)).status).toBe('terminating')
    await say(app, key, started, ended('terminated', { reason: 'cancelled' }))
    expect(await show(app, running.id)).toMatchObject({
      status: 'terminated',
      reason: 'cancelled',
      message: 'Terminated by ann.',
    })
  })

  test('terminating never hangs: a build whose engine does not stop is ended by force', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const key = await runAttempt(scene, await submit(scene))
    await terminateBuild(app, key.buildId, 'ann')
    clock.advance(TIMINGS.terminatingSilentMs - 10)
    await heartbeat(app, key)
    await sweep(app, true)
    expect((await show(app, key.buildId)).status).toBe('terminating')
    clock.advance(20)
    await sweep(app, true)
    expect(await show(app, key.buildId)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
    expect((await take(scene)).map(({ kind }) => kind)).toEqual(['stop-attempt'])
  })

  test('a build that runs longer than builds may is told to stop', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { buildMs: 60_000 } })
    const key = await runAttempt(scene, await submit(scene))
    clock.advance(60_001)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, key.buildId)).toMatchObject({ status: 'terminating', reason: 'too-long' })
    await say(app, key, started, ended('terminated', { reason: 'cancelled' }))
    expect(await show(app, key.buildId)).toMatchObject({ status: 'terminated', reason: 'too-long' })
  })

  test('an infra outcome told by the engine itself is made good like a loss', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    await say(held.app, key, started, ended('error', { reason: 'dind-lost', message: 'connection refused' }))
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending', retries: 1 })
  })

  test('a restart has the document, variables, secrets and commits of the build before, and its own identity', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const document =
      "version: '1.0'\nsteps:\n  main_clone:\n    type: git-clone\n    repo: https://git.example.com/o/r\n    revision: main\n  two:\n    image: alpine\n    commands: [echo]\n"
    const first = await submit(scene, { document, branch: 'main', variables: { A: '1' }, secrets: { S: 's3cret' } })
    const key = await runAttempt(scene, first)
    const clone = { type: 'step.finished', step: 'main_clone', try: 1, status: 'success', exitCode: 0 } as const
    await say(
      app,
      key,
      started,
      { ...clone, members: { revision: 'c0ffee' }, exports: [] },
      ended('error', { reason: 'step-failed' }),
    )
    for (const task of await take(scene)) await report(scene, task, 'done')
    const again = await submit(scene, { document: undefined, restartOf: first.id })
    expect(again).toMatchObject({ restart_of: first.id, branch: 'main', number: 2 })
    const claimed = await claimAttempt(app, await startAttempt(scene, again), { ...PROTOCOL, claimKey: 'key-of-the-restart' })
    expect(claimed.plan.steps[0]?.action).toMatchObject({ kind: 'git-clone', revision: 'c0ffee' })
    const variables = Object.assign({}, ...claimed.plan.variables.map((layer) => layer.variables))
    expect(variables).toMatchObject({ A: { value: '1' }, CF_BUILD_ID: { value: again.id }, CF_BRANCH: { value: 'main' } })
    expect(Object.values(claimed.secrets)).toEqual(['s3cret'])
    expect(claimed.snapshot.steps['main_clone']?.status).toBe('pending')
    await expect(submit(scene, { document: undefined, restartOf: 'f'.repeat(24) })).rejects.toMatchObject({ code: 'not-found' })
  })
})
