import { AccountSettings, PipelineInput, type PipelineSettings } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAnnotations } from '../../../src/annotations/annotations.ts'
import { putAccountSettings } from '../../../src/account/settings.ts'
import type { App } from '../../../src/app.ts'
import { decideApproval } from '../../../src/builds/lifecycle/approve.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { awaitCommands, heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { readServerHealth } from '../../../src/health/read-health.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  ended,
  HELLO,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  type Scene,
  show,
  startAttempt,
  started,
  submit,
  sweep,
  take,
  writeLog,
} from '../../support/scene.ts'

const GATE = `version: '1.0'
steps:
  gate: { type: pending-approval }
  after: { image: alpine, commands: [echo after] }
`
type Settings = Parameters<typeof PipelineSettings.parse>[0]

async function pipeline(app: App, name: string, more: object = {}): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO, ...more }), precondition: {} })
}

const run = (scene: Scene, name: string, more: object = {}): Promise<BuildRow> =>
  submit(scene, { document: undefined, pipeline: name, ...more })

async function statusesOf(app: App, builds: readonly BuildRow[]): Promise<string[]> {
  return Promise.all(builds.map(async ({ id }) => (await show(app, id)).status))
}

const policy = (...terminationPolicy: object[]): { settings: Settings } => ({ settings: { terminationPolicy } })

/** Pauses a build at its approval gate and ends its attempt. */
async function pause(scene: Scene, build: BuildRow): Promise<void> {
  const key = await runAttempt(scene, build)
  await say(scene.app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
  await say(scene.app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
  for (const task of await take(scene)) await report(scene, task, 'done')
}

describe.each(DATABASES)('limits and policies on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('applies limits of pipeline, branch and trigger, freezes at 0, and shows the reason (P153, R246)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/one', { concurrency: 1 })
    await pipeline(app, 'p/branch', { branchConcurrency: 1 })
    await pipeline(app, 'p/trigger', { triggerConcurrency: 1 })
    await pipeline(app, 'p/frozen', { concurrency: 0 })
    const builds = [
      await run(scene, 'p/one'),
      await run(scene, 'p/one'),
      await run(scene, 'p/branch', { branch: 'main' }),
      await run(scene, 'p/branch', { branch: 'main' }),
      await run(scene, 'p/branch', { branch: 'other' }),
      await run(scene, 'p/trigger', { trigger: 'push' }),
      await run(scene, 'p/trigger', { trigger: 'push' }),
      await run(scene, 'p/trigger', { trigger: 'nightly' }),
      await run(scene, 'p/frozen'),
    ]
    await elect(app)
    const seen = await Promise.all(builds.map(async ({ id }) => show(app, id)))
    expect(seen.map(({ status, reason }) => (status === 'pending' ? reason : status))).toEqual([
      'elected',
      'pipeline-limit',
      'elected',
      'branch-limit',
      'elected',
      'elected',
      'trigger-limit',
      'elected',
      'pipeline-frozen',
    ])
  })

  test('starts the waiting pipeline with the higher priority first (P154, R246)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app, { capacity: 1 })
    await pipeline(app, 'p/low', { priority: -5 })
    await pipeline(app, 'p/high', { priority: 10 })
    const builds = [await run(scene, 'p/low'), await run(scene, 'p/high')]
    await elect(app)
    expect(await statusesOf(app, builds)).toEqual(['pending', 'elected'])
  })

  test('starts no builds in a paused account, and applies the account limit across pipelines (R246)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const builds = [await submit(scene), await submit(scene)]
    await putAccountSettings(app, AccountSettings.parse({ pauseBuilds: true }))
    await elect(app)
    expect(await show(app, builds[0]?.id ?? '')).toMatchObject({ status: 'pending', reason: 'account-paused' })
    await putAccountSettings(app, AccountSettings.parse({ concurrency: 1 }))
    await elect(app)
    expect(await statusesOf(app, builds)).toEqual(['elected', 'pending'])
    expect(await show(app, builds[1]?.id ?? '')).toMatchObject({ reason: 'account-limit' })
  })

  test('every build that waits for the end of a pause repeats its reason, also one that changes during the pause', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const builds = [await submit(scene), await submit(scene)]
    const messages = (): Promise<unknown[]> => Promise.all(builds.map(async ({ id }) => (await show(app, id)).message))
    await putAccountSettings(app, AccountSettings.parse({ pauseBuilds: true, pauseReason: 'upgrade of the database' }))
    await elect(app)
    const first = 'New builds of the account are paused: upgrade of the database'
    expect(await messages()).toEqual([first, first])
    await putAccountSettings(app, AccountSettings.parse({ pauseBuilds: true, pauseReason: 'a move of the cluster' }))
    const second = 'New builds of the account are paused: a move of the cluster'
    expect(await messages()).toEqual([second, second])
    expect((await readServerHealth(app, await listShownRuntimes(app))).sentence).toBe(
      'New builds are paused: a move of the cluster. 2 builds wait.',
    )
  })

  test.each([
    [false, 'elected'],
    [true, 'pending'],
  ])('counts a build that waits for approval against its pipeline: %s (P079)', async (counts, next) => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/gate', {
      document: GATE,
      concurrency: 1,
      settings: { options: { pendingApprovalConcurrencyApplied: counts } },
    })
    const first = await run(scene, 'p/gate')
    await pause(scene, first)
    const second = await run(scene, 'p/gate')
    await elect(app)
    expect(await statusesOf(app, [first, second])).toEqual(['pending-approval', next])
    if (counts) {
      await decideApproval(app, first.id, { decision: 'approved', by: { name: 'ann', type: 'user' } })
      await elect(app)
      expect(await statusesOf(app, [first, second])).toEqual(['elected', 'pending'])
    }
  })

  test.each([
    [true, true],
    [false, false],
  ])('sets in the stop task whether the disk is kept for a waiting build (%s) (P078)', async (keeps, isKept) => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    await putAccountSettings(app, AccountSettings.parse({ keepPVCsForPendingApproval: keeps }))
    const build = await submit(scene, { document: GATE })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    await say(app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
    const [stop] = await take(scene)
    const until = stop?.kind === 'stop-attempt' ? stop.keepDiskUntil : undefined
    expect(until === undefined ? false : until > clock.now() + 167 * 3_600_000).toBe(isKept)
    if (stop !== undefined) await report(scene, stop, 'done')
    await terminateBuild(app, build.id, 'tester')
    const released = await take(scene)
    expect(released.map((task) => task.kind === 'stop-attempt' && task.keepDiskUntil === 0)).toEqual(isKept ? [true] : [])
  })

  test('terminates earlier builds of the same branch and trigger when a new one is created (P155)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/own', policy({ type: 'branch', event: 'onCreate' }))
    const [old, other, byTrigger] = [
      await run(scene, 'p/own', { branch: 'main' }),
      await run(scene, 'p/own', { branch: 'other' }),
      await run(scene, 'p/own', { branch: 'main', trigger: 'push' }),
    ]
    const key = await runAttempt(scene, old)
    await run(scene, 'p/own', { branch: 'main' })
    expect(await statusesOf(app, [old, other, byTrigger])).toEqual(['terminating', 'elected', 'elected'])
    expect(await show(app, old.id)).toMatchObject({ reason: 'superseded', message: 'Superseded by build 4.' })
    const [command] = await awaitCommands(app, key, { after: 0, waitMs: 0, signal: new AbortController().signal })
    expect(command).toMatchObject({ type: 'terminate', reason: 'superseded' })
  })

  test('applies the policy to branches of a pattern, to all branches, and to all triggers (P155)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/pattern', policy({ type: 'branch', event: 'onCreate', branchName: '^feature/', ignoreTrigger: true }))
    await pipeline(app, 'p/all', policy({ type: 'branch', event: 'onCreate', ignoreBranch: true }))
    const [feature, main] = [
      await run(scene, 'p/pattern', { branch: 'feature/x', trigger: 'push' }),
      await run(scene, 'p/pattern', { branch: 'main' }),
    ]
    await run(scene, 'p/pattern', { branch: 'feature/x' })
    await run(scene, 'p/pattern', { branch: 'main' })
    expect(await statusesOf(app, [feature, main])).toEqual(['terminated', 'pending'])
    const any = await run(scene, 'p/all', { branch: 'one' })
    await run(scene, 'p/all', { branch: 'two' })
    expect(await statusesOf(app, [any])).toEqual(['terminated'])
  })

  test('terminates child builds with their parent if the pipeline says so (P155)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/parent', policy({ type: 'annotation', event: 'onTerminate', key: 'cf_predecessor' }))
    const [parent, lonely] = [await run(scene, 'p/parent'), await submit(scene)]
    const child = await submit(scene, { annotations: { cf_predecessor: parent.id } })
    const stranger = await submit(scene, { annotations: { cf_predecessor: lonely.id } })
    await terminateBuild(app, parent.id, 'tester')
    await terminateBuild(app, lonely.id, 'tester')
    expect(await statusesOf(app, [child, stranger])).toEqual(['terminated', 'pending'])
    expect(await show(app, child.id)).toMatchObject({ reason: 'parent-terminated' })
    await pipeline(app, 'p/ring', policy({ type: 'annotation', event: 'onTerminate', key: 'started_by' }))
    const [one, two] = [await run(scene, 'p/ring'), await run(scene, 'p/ring')]
    await putAnnotations(app, { entity: 'build', id: one.id }, { values: { started_by: two.id } })
    await putAnnotations(app, { entity: 'build', id: two.id }, { values: { started_by: one.id } })
    await terminateBuild(app, one.id, 'tester')
    expect(await statusesOf(app, [one, two]), 'annotations that form a cycle').toEqual(['terminated', 'terminated'])
  })

  test('terminates an inactive build, and output counts as activity (P156)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { inactiveMs: 60_000, activity: 'output' } })
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    clock.advance(50_000)
    await writeLog(app, key, { offset: 0, text: 'still here\n' })
    clock.advance(50_000)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'running' })
    clock.advance(10_001)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'terminating', reason: 'inactive' })
    const [command] = await awaitCommands(app, key, { after: 0, waitMs: 0, signal: new AbortController().signal })
    expect(command).toMatchObject({ type: 'terminate', reason: 'inactive' })
  })

  test('counts resource usage of a silent container as activity unless only output counts (P156)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { inactiveMs: 60_000 } })
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    for (const cpuMs of [10, 20, 30]) {
      clock.advance(50_000)
      await say(app, key, { type: 'step.usage', step: 'one', usage: { cpuMs } })
      await heartbeat(app, key)
      await sweep(app, true)
    }
    expect(await show(app, build.id)).toMatchObject({ status: 'running' })
    clock.advance(50_000)
    await say(app, key, { type: 'step.usage', step: 'one', usage: { cpuMs: 30 } })
    clock.advance(10_001)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'terminating', reason: 'inactive' })
  })

  test('ignores the silence of a step that a debugger holds (P156)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { inactiveMs: 60_000 } })
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await say(app, key, { type: 'step.waiting', step: 'one', reason: 'debugger', phase: 'before' })
    clock.advance(600_000)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'running' })
    await say(app, key, { type: 'step.started', step: 'one', try: 1 })
    clock.advance(60_001)
    await heartbeat(app, key)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'terminating', reason: 'inactive' })
  })

  test('does not count the time of an approval towards the age of a build (P156)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { limits: { buildMs: 3_600_000, inactiveMs: 360_000_000 } })
    const build = await submit(scene, { document: GATE })
    await pause(scene, build)
    clock.advance(100 * 3_600_000)
    await decideApproval(app, build.id, { decision: 'approved', by: { name: 'ann', type: 'user' } })
    // The agent calls again.
    await take(scene)
    await runAttempt(scene, build)
    await sweep(app, false)
    expect(await show(app, build.id)).toMatchObject({ status: 'running' })
    clock.advance(3_600_001)
    await sweep(app, false)
    expect(await show(app, build.id)).toMatchObject({ status: 'terminating', reason: 'too-long' })
  })

  test('terminates the oldest builds of a queue that is too long, and builds that wait too long', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await putAccountSettings(app, AccountSettings.parse({ maxQueuedBuilds: 2, maxQueuedDays: 1 }))
    const builds = [await submit({ app }), await submit({ app }), await submit({ app })]
    await sweep(app, false)
    expect(await statusesOf(app, builds)).toEqual(['terminated', 'pending', 'pending'])
    clock.advance(86_400_001)
    await sweep(app, false)
    expect(await statusesOf(app, builds)).toEqual(['terminated', 'terminated', 'terminated'])
    expect(await show(app, builds[1]?.id ?? '')).toMatchObject({ reason: 'queue-expired' })
  })

  test('gives the engine the lowest log limits of server, runtime, pipeline and account (P178)', async () => {
    await using held = await openTestApp(database, { logLimits: { stepBytes: 5000, buildBytes: 9000 } })
    const { app } = held
    const scene = await openScene(app, { limits: { stepLogBytes: 4000 } })
    await pipeline(app, 'p/small', { settings: { logLimits: { stepBytes: 3000 } } })
    await putAccountSettings(app, AccountSettings.parse({ logLimits: { buildBytes: 8000 } }))
    const limitsOf = async (build: BuildRow): Promise<object> => {
      const { buildId, attempt } = await startAttempt(scene, build)
      return (await claimAttempt(app, { buildId, attempt }, { ...PROTOCOL, claimKey: `claim-key-of-${buildId}` })).limits
    }
    expect(await limitsOf(await run(scene, 'p/small'))).toMatchObject({ stepLogBytes: 3000, buildLogBytes: 8000 })
    expect(await limitsOf(await submit(scene))).toMatchObject({ stepLogBytes: 4000, buildLogBytes: 8000 })
  })

  test('does not terminate the children of a build that ended by itself', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await pipeline(app, 'p/done', policy({ type: 'annotation', event: 'onTerminate', key: 'cf_predecessor' }))
    const parent = await run(scene, 'p/done')
    const child = await submit(scene, { annotations: { cf_predecessor: parent.id } })
    await say(app, await runAttempt(scene, parent), started, ended('success'))
    expect(await statusesOf(app, [parent, child])).toEqual(['success', 'elected'])
  })
})
