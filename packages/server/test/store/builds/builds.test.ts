import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { awaitCommands, heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { applyEvents } from '../../../src/builds/engine/events.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { EngineEvent, PipelineInput } from '@windlass/protocol'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { TIMINGS } from '../../../src/open-app.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  ended,
  feedOf,
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
  sweep,
  take,
  tell,
  writeLog,
} from '../../support/scene.ts'

describe.each(DATABASES)('builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('runs a build from request to success and records its steps and attempt', async () => {
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

  test('ends a build with the problems of an invalid document', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene, { document: "version: '1.0'\nsteps:\n  one:\n    imag: alpine\n" })
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'invalid-pipeline', attempt: 0 })
    expect((await show(held.app, build.id)).problems).toContainEqual(expect.objectContaining({ line: 3, severity: 'error' }))
    expect((await feedOf(held.app, build.id, { after: 0, limit: 10 })).map((item) => 'type' in item && item.type)).toEqual([
      'build.created',
      'build.finished',
    ])
  })

  test('shows why a build waits: no runtime, no agent, no capacity, pipeline and branch limits', async () => {
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

  test('orders the queue by priority, then by age', async () => {
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

  test('stores repeated, unordered or incomplete events exactly once and in order', async () => {
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
    const feed = await feedOf(held.app, key.buildId, { after: 0, limit: 100 })
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, index) => index + 1))
    expect(feed.filter((item) => item.kind === 'event' && item.source === 'engine')).toHaveLength(4)
  })

  test('accepts a bootstrap credential for one exchange and repeats a lost response', async () => {
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

  test('rejects the end of an attempt while log bytes are missing and repeats a lost response', async () => {
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

  test('rejects the end of a step while its log bytes are missing, so that it follows them in the feed', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    const events = numbered(key, [
      started,
      { type: 'step.started', step: 'one', try: 1 },
      { type: 'step.finished', step: 'one', try: 1, status: 'success', members: {}, exports: [], streams: { 'step/one': 9 } },
      { type: 'step.started', step: 'two', try: 1 },
    ])
    const refused = { code: 'log-incomplete', details: { offsets: { 'step/one': 0 } } }
    await expect(applyEvents(held.app, key, events)).rejects.toMatchObject(refused)
    await writeLog(held.app, key, { stream: 'step/one', offset: 0, text: 'half' })
    await expect(applyEvents(held.app, key, events)).rejects.toMatchObject({ details: { offsets: { 'step/one': 4 } } })
    await writeLog(held.app, key, { stream: 'step/one', offset: 4, text: 'whole' })
    expect(await applyEvents(held.app, key, events)).toBe(4)
    const feed = await feedOf(held.app, key.buildId, { after: 0, limit: 100 })
    const names = feed.map((item) => (item.kind === 'log' ? `${item.stream} ${item.offset}` : item.type))
    expect(names.slice(names.indexOf('attempt.started'))).toEqual([
      'attempt.started',
      'step.started',
      'step/one 0',
      'step/one 4',
      'step.finished',
      'step.started',
    ])
  })

  test('checks the end of a step only against its own streams', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    const foreign = Array.from({ length: 10_000 }, (_, n): [string, number] => [`step/other-${n}`, 9])
    const own = { 'step/one': 4, 'step/one.services': 5 }
    const events = numbered(key, [
      started,
      { type: 'step.started', step: 'one', try: 1 },
      {
        type: 'step.finished',
        step: 'one',
        try: 1,
        status: 'success',
        members: {},
        exports: [],
        streams: { ...Object.fromEntries(foreign), ...own },
      },
    ]).map((event) => EngineEvent.parse(event))
    await writeLog(held.app, key, { stream: 'step/one', offset: 0, text: 'half' })
    await expect(applyEvents(held.app, key, events)).rejects.toMatchObject({ details: { offsets: { 'step/one.services': 0 } } })
    await writeLog(held.app, key, { stream: 'step/one.services', offset: 0, text: 'ready' })
    expect(await applyEvents(held.app, key, events)).toBe(3)
    const feed = await feedOf(held.app, key.buildId, { after: 0, limit: 100 })
    const end = feed.find((item) => item.kind === 'event' && item.type === 'step.finished')
    expect(end).toMatchObject({ data: { streams: own } })
    expect(JSON.stringify(end)).not.toContain('other')
  })

  test('marks a silent engine as suspect, clears that when it calls, and loses the attempt when it stays silent', async () => {
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

  test('starts the next attempt only after the agent has confirmed that nothing of the lost one is left', async () => {
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

  test('ends an attempt immediately if its start task was never handed out', async () => {
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

  test('ends a build as poison after it kills its engine three times in a row', async () => {
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

  test('retries losses up to the limit of the runtime, then ends the build with the last reason', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { limits: { retries: 1 } })
    const build = await submit(scene)
    for (const reason of ['evicted', 'node-lost'] as const) {
      await tell(scene, { ...(await runAttempt(scene, build)), state: 'lost', reason })
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'node-lost', attempt: 2, retries: 1 })
  })

  test('ends a build immediately on a permanent obstacle, with the Kubernetes message', async () => {
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

  test('ends a build after the pull timeout of an image, and an attempt that does not start after its own timeout', async () => {
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

  test('a build that waits for its turn on the nodes says so until its pods exist', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const { id: buildId } = await submit(scene)
    await elect(held.app)
    const message = 'At most 2 builds and warm pairs start at once on these nodes. 3 builds start before this one.'
    await tell(scene, { buildId, attempt: 1, state: 'waiting', reason: 'start-limit', message })
    expect(await show(held.app, buildId)).toMatchObject({ status: 'elected', reason: 'start-limit', message })
    await tell(scene, { buildId, attempt: 1, state: 'starting', object: 'dind-1' })
    const { status, reason } = await show(held.app, buildId)
    expect([status, reason ?? null]).toEqual(['elected', null])
  })

  test('the wait for a turn on the nodes does not count against the start timeout', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { electedMs: 5000 } })
    const { id: buildId } = await submit(scene)
    await elect(app)
    const wait = { buildId, attempt: 1, state: 'waiting', reason: 'start-limit' } as const
    for (const before of [2, 1]) {
      await tell(scene, { ...wait, message: `${before} before this one` })
      clock.advance(4000)
      await sweep(app, true)
    }
    expect(await show(app, buildId)).toMatchObject({ status: 'elected', reason: 'start-limit' })
    await tell(scene, { buildId, attempt: 1, state: 'starting', object: 'dind-1' })
    clock.advance(1001)
    await sweep(app, true)
    expect(await show(app, buildId)).toMatchObject({ status: 'error', reason: 'start-timeout' })
  })

  test('terminates a waiting build immediately and sends a command to a running one', async () => {
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

  test('ends a terminating build by force if its engine does not stop', async () => {
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

  test('terminates a build that exceeds its maximum duration', async () => {
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

  test('retries an infrastructure failure that the engine reports, like a loss', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const key = await runAttempt(scene, await submit(scene))
    await say(held.app, key, started, ended('error', { reason: 'dind-lost', message: 'connection refused' }))
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending', retries: 1 })
  })

  test('restarts a build with the same document, variables, secrets and commits, and a new identity', async () => {
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
