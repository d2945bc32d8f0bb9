import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decideApproval, type ApprovalCall } from '../../../src/builds/lifecycle/approve.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { awaitCommands } from '../../../src/builds/engine/engine-link.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { openApp } from '../../../src/open-app.ts'
import type { App } from '../../../src/app.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  ended,
  feedOf,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  type Scene,
  show,
  startAttempt,
  started,
  stepDone,
  submit,
  sweep,
  take,
} from '../../support/scene.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const GATE = `version: '1.0'
steps:
  before: { image: alpine, commands: [echo before] }
  gate: { type: pending-approval, timeout: { duration: 30, timeUnit: minutes, finalState: FINAL } }
  after: { image: alpine, commands: [echo after] }
`
const by = { name: 'ann', type: 'user' }
const approve: ApprovalCall = { decision: 'approved', by }
const deny: ApprovalCall = { decision: 'denied', by }
const MINUTE = 60_000

/** Submits a build whose first attempt has ended because its gate waits. */
async function waitAtGate(scene: Scene, final = 'terminated'): Promise<{ build: BuildRow; key: AttemptKey }> {
  const build = await submit(scene, { document: GATE.replace('FINAL', final) })
  const key = await runAttempt(scene, build)
  await say(scene.app, key, started, { type: 'step.started', step: 'before', try: 1 }, stepDone('before'))
  await say(scene.app, key, { type: 'step.started', step: 'gate', try: 1 })
  await say(scene.app, key, { type: 'step.waiting', step: 'gate', reason: 'approval' })
  await say(scene.app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval', step: 'gate' }, streams: {} })
  return { build, key }
}

async function stopAll(scene: Scene): Promise<void> {
  for (const task of await take(scene)) await report(scene, task, 'done')
}

async function decisionsOf(app: App, id: string): Promise<unknown[]> {
  const feed = await feedOf(app, id, { after: 0, limit: 1000 })
  return feed.flatMap((item) => (item.kind === 'event' && item.type === 'step.decided' ? [item.data['decision']] : []))
}

describe.each(DATABASES)('approvals on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('keeps a build that waits for approval without pods and continues it in a new attempt that does not count as a retry (P073)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const { build } = await waitAtGate(scene)
    expect(await show(app, build.id)).toMatchObject({
      status: 'pending-approval',
      reason: 'approval',
      message: 'Waiting for approval of "gate".',
      steps: [{ status: 'success' }, { name: 'gate', status: 'waiting' }, { status: 'pending' }],
      approvals: [{ step: 'gate', expiresAt: clock.now() + 30 * MINUTE }],
      attempts: [{ status: 'ended', result: 'pending-approval' }],
    })
    const [stop, ...more] = await take(scene)
    expect([stop?.kind, more]).toEqual(['stop-attempt', []])
    clock.advance(10 * MINUTE)
    await decideApproval(app, build.id, { ...approve, comment: 'looks good' })
    await elect(app)
    expect(await show(app, build.id), 'pods of the first attempt may still be there').toMatchObject({
      status: 'pending',
      attempt: 1,
    })
    if (stop !== undefined) await report(scene, stop, 'done')
    const { attempt } = await startAttempt(scene, build)
    const { snapshot } = await claimAttempt(app, { buildId: build.id, attempt }, { ...PROTOCOL, claimKey: 'second-attempt-key' })
    expect(snapshot.steps).toMatchObject({
      before: { status: 'success' },
      gate: { status: 'success', members: { result: 'approved' } },
    })
    const key = { buildId: build.id, attempt }
    await say(app, key, started, { type: 'step.started', step: 'after', try: 1 }, stepDone('after'), ended('success'))
    expect(await show(app, build.id)).toMatchObject({
      status: 'success',
      attempt: 2,
      retries: 0,
      approvals: [{ decision: 'approved', by, comment: 'looks good' }],
    })
    expect(await decisionsOf(app, build.id)).toEqual(['approved'])
  })

  test('gives the next attempt the decider as members of the step (P077)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const { build } = await waitAtGate(scene)
    await decideApproval(held.app, build.id, approve)
    await stopAll(scene)
    const key = await startAttempt(scene, build)
    const claimed = await claimAttempt(held.app, key, { ...PROTOCOL, claimKey: 'another-claim-key' })
    expect(claimed.snapshot.steps['gate']?.members).toEqual({
      result: 'approved',
      'authEntity.name': 'ann',
      'authEntity.type': 'user',
    })
  })

  test('ends the build as denied in the next attempt after a denial (P074)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { build } = await waitAtGate(scene)
    await decideApproval(app, build.id, deny)
    await stopAll(scene)
    const key = await runAttempt(scene, build)
    await say(app, key, started, ended('error', { reason: 'denied', step: 'gate' }))
    expect(await show(app, build.id)).toMatchObject({
      status: 'error',
      reason: 'denied',
      steps: [{ status: 'success' }, { status: 'error', reason: 'denied' }, { status: 'skipped' }],
    })
  })

  test('makes a decision once, accepts a repetition and rejects a different one', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { build } = await waitAtGate(scene)
    const verdicts = await Promise.allSettled(
      [approve, deny, approve, deny, approve].map((call) => decideApproval(app, build.id, { ...call, step: 'gate' })),
    )
    const [decision] = await decisionsOf(app, build.id)
    expect(await decisionsOf(app, build.id)).toHaveLength(1)
    for (const [index, verdict] of verdicts.entries()) {
      const wasSame = (index % 2 === 0 ? 'approved' : 'denied') === decision
      expect(verdict).toMatchObject(wasSame ? { status: 'fulfilled' } : { reason: { code: 'approval-decided' } })
    }
    await expect(decideApproval(app, build.id, { ...approve, step: 'before' })).rejects.toMatchObject({
      code: 'approval-missing',
    })
  })

  test('rejects an approval for a build without approval steps or a build that has ended', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    await expect(decideApproval(held.app, build.id, approve)).rejects.toMatchObject({ code: 'approval-missing' })
    await terminateBuild(held.app, build.id, 'tester')
    await expect(decideApproval(held.app, build.id, approve)).rejects.toMatchObject({ code: 'build-final' })
  })

  test.each([
    ['approved', 'pending'],
    ['denied', 'pending'],
    ['terminated', 'terminated'],
  ])('decides an approval after its timeout as %s (P076)', async (finalState, status) => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const { build } = await waitAtGate(scene, finalState)
    clock.advance(30 * MINUTE - 1)
    await sweep(app, false)
    expect(await show(app, build.id)).toMatchObject({ status: 'pending-approval' })
    clock.advance(1)
    await Promise.all([sweep(app, false), sweep(app, false)])
    expect(await decisionsOf(app, build.id)).toEqual([finalState])
    const reason = finalState === 'terminated' ? 'approval-timeout' : 'queued'
    expect(await show(app, build.id)).toMatchObject({ status, reason, approvals: [{ by: { type: 'timeout' } }] })
  })

  test('terminates a build that waits for approval immediately (P157)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { build } = await waitAtGate(scene)
    await terminateBuild(app, build.id, 'tester')
    expect(await show(app, build.id)).toMatchObject({
      status: 'terminated',
      reason: 'cancelled',
      steps: [{}, { status: 'terminated' }, {}],
    })
  })

  test('sends a decision to the engine while other steps run and ignores its echo', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene, { document: GATE.replace('FINAL', 'denied') })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    await decideApproval(app, build.id, approve)
    const [command] = await awaitCommands(app, key, { after: 0, waitMs: 0, signal: new AbortController().signal })
    expect(command).toMatchObject({ type: 'decide', step: 'gate', decision: 'approved', by })
    await say(app, key, { type: 'step.decided', step: 'gate', decision: 'approved', by })
    expect(await decisionsOf(app, build.id)).toEqual(['approved'])
    expect(await show(app, build.id)).toMatchObject({ status: 'running', steps: [{}, { status: 'success' }, {}] })
  })

  test('continues the build immediately if the engine ends its attempt before it receives the decision', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene, { document: GATE.replace('FINAL', 'denied') })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    await decideApproval(app, build.id, approve)
    await say(app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
    expect(await show(app, build.id)).toMatchObject({ status: 'pending', reason: 'queued', retries: 0 })
    await stopAll(scene)
    const next = await startAttempt(scene, build)
    const { snapshot } = await claimAttempt(app, next, { ...PROTOCOL, claimKey: 'the-attempt-after' })
    expect(snapshot.steps['gate']).toMatchObject({ status: 'success', members: { result: 'approved' } })
  })

  test('keeps a decision when the engine that received it is lost', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const build = await submit(scene, { document: GATE.replace('FINAL', 'denied') })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    await decideApproval(app, build.id, approve)
    clock.advance(app.timings.deadMs + 1)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'pending', retries: 1, steps: [{}, { status: 'success' }, {}] })
    expect(await decisionsOf(app, build.id)).toEqual(['approved'])
  })

  test('keeps the waiting time of a step across attempts', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const build = await submit(scene, { document: GATE.replace('FINAL', 'denied') })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    const { approvals } = await show(app, build.id)
    clock.advance(app.timings.deadMs + 1)
    await sweep(app, true)
    await stopAll(scene)
    const next = await runAttempt(scene, build)
    await say(app, next, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    expect((await show(app, build.id)).approvals).toEqual(approvals)
  })
})

describe('approvals with two servers on one PostgreSQL', () => {
  test('decides once and starts one attempt', async () => {
    await using database = await DATABASES[1].open()
    const options = { ...(await database.fresh()), startsLoops: false }
    const [one, two] = [await openApp(options, () => ''), await openApp(options, () => '')]
    try {
      const scene = await openScene(one.app)
      for (let round = 0; round < 5; round += 1) {
        const { build } = await waitAtGate(scene)
        const calls = [approve, deny].flatMap((call) => [one, two].map(({ app }) => decideApproval(app, build.id, call)))
        const verdicts = await Promise.allSettled(calls)
        expect(verdicts.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
        expect(await decisionsOf(two.app, build.id)).toHaveLength(1)
        await stopAll(scene)
        await Promise.all([elect(one.app), elect(two.app)])
        expect(await show(one.app, build.id)).toMatchObject({ status: 'elected', attempt: 2, retries: 0 })
        await stopAll(scene)
      }
    } finally {
      await one.close()
      await two.close()
    }
  })
})
