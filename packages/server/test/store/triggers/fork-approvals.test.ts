/** Builds of pull requests from forks: they wait for approval of their commit, and nothing of them exists before. */
import { BuildInput, ContextInput, type Delivery } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { decideApproval, type ApprovalCall } from '../../../src/builds/lifecycle/approve.ts'
import { MAX_HELD_STARTS, START_APPROVAL_MS } from '../../../src/builds/lifecycle/start-approval.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { openApp } from '../../../src/open-app.ts'
import { retain } from '../../../src/retention.ts'
import { updateApproval } from '../../../src/store/builds/approvals.ts'
import { replayDelivery, showDelivery } from '../../../src/triggers/deliveries/deliveries.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { tryEvent } from '../../../src/triggers/try-event.ts'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../support/forge-scene.ts'
import { COMMIT, githubComment, githubPull, githubPush, type PullOptions } from '../../support/payloads/payloads.ts'
import {
  ended,
  feedOf,
  openScene,
  PROTOCOL,
  runAttempt,
  say,
  show,
  startAttempt,
  started,
  stepDone,
  sweep,
  take,
} from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const NEWER = 'c3'.repeat(20)
const by = { name: 'ann', type: 'user' }
const approve: ApprovalCall = { decision: 'approved', by }
const deny: ApprovalCall = { decision: 'denied', by }
const STRANGER: PullOptions = { fork: true, association: 'NONE' }
const ALLOWS = { name: 'forks', events: ['pullrequest', 'pullrequest.commentAdded'], pullRequestAllowForkEvents: true }

async function openForks(app: App, trigger: object = {}): Promise<(body: unknown, event?: string) => Promise<Delivery>> {
  const webhook = await addWebhook(app)
  await addPipeline(app, 'a/app')
  await addTrigger(app, 'a/app', { ...ALLOWS, ...trigger })
  return async (body, event = 'pull_request') => {
    const { id } = await deliver(app, webhook, body, { event })
    await processDeliveries(app)
    return showDelivery(app, id)
  }
}

/** Returns the only build of a delivery. */
function buildOf({ builds, reason, message }: Delivery): string {
  const [id, ...more] = builds
  if (id === undefined || more.length > 0) throw new Error(`${builds.length} builds: ${reason}: ${message}`)
  return id
}

describe.each(DATABASES)('approvals of forks on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a pull request of a stranger waits without an attempt, and starts after the approval of its commit (P146)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const secret = ContextInput.parse({ name: 'deploy', type: 'secret', data: { TOKEN: 's3cret-of-deploy' } })
    await putContext(app, { input: secret, mustBeNew: true })
    const call = await openForks(app, { contexts: ['deploy'] })
    const delivery = await call(githubPull('opened', STRANGER))
    const id = buildOf(delivery)
    expect(delivery).toMatchObject({ status: 'processed', triggers: [{ needsApproval: true, buildId: id }] })
    expect(delivery.triggers?.[0]?.message).toContain('waits for approval')
    await elect(app)
    expect(await take(scene)).toEqual([])
    expect(await show(app, id)).toMatchObject({
      status: 'pending-approval',
      reason: 'fork-approval',
      message: expect.stringContaining(COMMIT),
      hint: expect.stringContaining(`windlass approve ${id}`),
      revision: COMMIT,
      attempt: 0,
      approvals: [{ step: '' }],
    })
    await decideApproval(app, id, { ...approve, comment: 'read it' })
    expect(await show(app, id)).toMatchObject({
      status: 'pending',
      approvals: [{ decision: 'approved', by, comment: 'read it' }],
    })
    const key = await startAttempt(scene, { id })
    const claimed = await claimAttempt(app, key, { ...PROTOCOL, claimKey: 'the-key-of-an-engine' })
    expect(Object.values(claimed.secrets)).toEqual(['s3cret-of-deploy'])
    const attempt = { buildId: id, attempt: key.attempt }
    await say(app, attempt, started, stepDone('one'), stepDone('two'), ended('success'))
    expect(await show(app, id)).toMatchObject({ status: 'success', attempt: 1, retries: 0 })
    const feed = await feedOf(app, id, { after: 0, limit: 100 })
    const types = feed.flatMap((item) => (item.kind === 'event' ? [item.type] : []))
    expect(types.filter((type) => /^build\.(waiting|decided|resumed)$/.test(type))).toEqual([
      'build.waiting',
      'build.decided',
      'build.resumed',
    ])
  })

  test('a server that takes the approval of a build for one of a step cannot decide it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const call = await openForks(app)
    const id = buildOf(await call(githubPull('opened', STRANGER)))
    // What a server of the previous version writes.
    const decided = { decision: 'denied', decided_by: 'ann', decider_type: 'user', decided_at: 1 } as const
    await expect(app.store.write((tx) => updateApproval(tx, { build_id: id, step: '' }, decided))).rejects.toThrow(/check/i)
    expect(await show(app, id)).toMatchObject({ status: 'pending-approval' })
    await decideApproval(app, id, approve)
    expect(await show(app, id)).toMatchObject({ status: 'pending' })
  })

  test('a new push needs a new approval, and ends the build that waited', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const call = await openForks(app)
    const first = buildOf(await call(githubPull('opened', STRANGER)))
    const other = buildOf(await call(githubPull('opened', { ...STRANGER, number: 8, commit: 'e5'.repeat(20) })))
    const second = buildOf(await call(githubPull('synchronize', { ...STRANGER, commit: NEWER })))
    expect(await show(app, first)).toMatchObject({ status: 'terminated', reason: 'superseded' })
    expect(await show(app, other)).toMatchObject({ status: 'pending-approval' })
    await expect(decideApproval(app, first, approve)).rejects.toMatchObject({ code: 'build-final' })
    await decideApproval(app, second, approve)
    await runAttempt(scene, { id: second })
    const third = buildOf(await call(githubPull('synchronize', { ...STRANGER, commit: 'd4'.repeat(20) })))
    expect(await show(app, third)).toMatchObject({ status: 'pending-approval', revision: 'd4'.repeat(20) })
    expect(await show(app, second)).toMatchObject({ status: 'running', revision: NEWER })
    // The text of a pull request changes without a commit, and steps see it.
    const edited = buildOf(await call(githubPull('edited', { ...STRANGER, commit: NEWER })))
    expect(await show(app, edited)).toMatchObject({ status: 'pending-approval' })
  })

  test('a denied build ends, and is not approved afterwards', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const call = await openForks(app)
    const delivery = await call(githubPull('opened', STRANGER))
    const id = buildOf(delivery)
    await decideApproval(app, id, deny)
    await decideApproval(app, id, deny)
    await expect(decideApproval(app, id, approve)).rejects.toMatchObject({
      code: 'approval-decided',
      message: 'The build was denied by ann.',
    })
    expect(await show(app, id)).toMatchObject({ status: 'error', reason: 'denied', message: 'Denied by ann.', attempt: 0 })
    await replayDelivery(app, { id: delivery.id })
    await processDeliveries(app)
    await elect(app)
    expect(await take(scene)).toEqual([])
  })

  test('a repetition of a build that was not approved waits, also of one that was denied or terminated', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const call = await openForks(app)
    const id = buildOf(await call(githubPull('opened', STRANGER)))
    const repeat = async (restartOf: string): Promise<string> => {
      const request = BuildInput.parse({ restartOf })
      return (await createBuild(app, { request, initiator: 'bob', trigger: { kind: 'restart' } })).id
    }
    const waiting = await repeat(id)
    expect(await show(app, waiting)).toMatchObject({ status: 'pending-approval', revision: COMMIT })
    expect(await show(app, id), 'the repetition replaces it').toMatchObject({ reason: 'superseded' })
    expect(await show(app, await repeat(id))).toMatchObject({ status: 'pending-approval' })
    const last = await repeat(waiting)
    await decideApproval(app, last, deny)
    const again = await repeat(last)
    expect(await show(app, again)).toMatchObject({ status: 'pending-approval' })
    await decideApproval(app, again, approve)
    await terminateBuild(app, again, 'bob')
    expect(await show(app, await repeat(again)), 'its commit was approved').toMatchObject({ status: 'pending', reason: 'queued' })
  })

  test('a build that nobody approves ends after 14 days', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openScene(app)
    const call = await openForks(app)
    const id = buildOf(await call(githubPull('opened', STRANGER)))
    clock.advance(START_APPROVAL_MS - 1)
    await sweep(app, false)
    expect(await show(app, id)).toMatchObject({ status: 'pending-approval' })
    clock.advance(1)
    await sweep(app, false)
    expect(await show(app, id)).toMatchObject({ status: 'terminated', reason: 'approval-timeout' })
  })

  test('a fork whose branch is called main ends no builds of main, and takes no place of the limits', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const terminationPolicy = [{ type: 'branch', event: 'onCreate' }]
    const settings = { terminationPolicy, options: { pendingApprovalConcurrencyApplied: true } }
    await addPipeline(app, 'a/app', { settings, concurrency: 1 })
    await addTrigger(app, 'a/app', { ...ALLOWS, events: ['push', 'pullrequest'] })
    const webhook = await addWebhook(app)
    await deliver(app, webhook, githubPull('opened', { ...STRANGER, branch: 'main' }), { event: 'pull_request' })
    await processDeliveries(app)
    const { id: push } = await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    const own = buildOf(await showDelivery(app, push))
    await runAttempt(scene, { id: own })
    await deliver(app, webhook, githubPull('opened', { ...STRANGER, branch: 'main', number: 9 }), { event: 'pull_request' })
    await processDeliveries(app)
    expect(await show(app, own)).toMatchObject({ status: 'running' })
  })

  test('strangers cannot let more than a fixed number of builds wait', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const call = await openForks(app)
    for (let number = 1; number <= MAX_HELD_STARTS; number += 1)
      await createBuild(app, {
        request: BuildInput.parse({ pipeline: 'a/app', git: { pullRequest: { number: String(number + 100) } } }),
        initiator: 'eve',
        trigger: { kind: 'webhook', name: 'forks' },
        needsApproval: true,
      })
    const { triggers, builds } = await call(githubPull('opened', STRANGER))
    expect(builds).toEqual([])
    expect(triggers).toMatchObject([{ reason: 'build-refused', message: expect.stringContaining('already wait') }])
  })

  test('a comment of a writer builds the commit that an earlier event named, that of a stranger waits (P146)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const events = ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted']
    const call = await openForks(app, { events, commentRegex: '/^\\/test/' })
    const unknown = await call(githubComment('/test', 'MEMBER'), 'issue_comment')
    expect(unknown).toMatchObject({ builds: [], reason: 'fork', message: expect.stringContaining('commit is not known') })
    await call(githubPull('opened', STRANGER))
    await call(githubPull('synchronize', { ...STRANGER, commit: NEWER }))
    const build = await show(app, buildOf(await call({ ...githubComment('/test', 'MEMBER'), n: 2 }, 'issue_comment')))
    expect(build).toMatchObject({ status: 'pending', revision: NEWER, branch: 'feature/x' })
    const plan = await app.store.query.selectFrom('build_plan').select('request').where('build_id', '=', build.id).execute()
    expect(JSON.parse(plan[0]?.request ?? '')).toMatchObject({ git: { pullRequest: { headCommit: NEWER, target: 'main' } } })
    const comment = { id: 78, body: '/test', user: { login: 'eve' }, author_association: 'NONE' }
    const held2 = await call({ ...githubComment('/test', 'NONE'), comment }, 'issue_comment')
    expect(await show(app, buildOf(held2))).toMatchObject({ status: 'pending-approval', revision: NEWER })
    const tested = await tryEvent(app, {
      forge: 'github',
      event: 'issue_comment',
      body: JSON.stringify(githubComment('/test', 'NONE')),
    })
    expect(tested).toMatchObject({ revision: NEWER, triggers: [{ needsApproval: true }] })
  })

  test('an event that a forge reports late does not move a pull request back, and an old pull request is forgotten', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openScene(app)
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', ALLOWS)
    const { id: old } = await deliver(app, webhook, githubPull('opened', STRANGER), { event: 'pull_request' })
    clock.advance(1)
    await deliver(app, webhook, githubPull('synchronize', { ...STRANGER, commit: NEWER }), { event: 'pull_request' })
    await processDeliveries(app)
    clock.advance(1)
    await replayDelivery(app, { id: old })
    await processDeliveries(app)
    const known = (): Promise<unknown> => app.store.query.selectFrom('pull_request').select('revision').execute()
    expect(await known()).toEqual([{ revision: NEWER }])
    clock.advance(181 * 86_400_000)
    await retain(app)
    expect(await known()).toEqual([])
  })
})

describe('approvals of forks with two servers on one PostgreSQL', () => {
  test('one decision counts, and starts one attempt or none', async () => {
    await using database = await DATABASES[1].open()
    const options = { ...(await database.fresh()), startsLoops: false }
    const [one, two] = [await openApp(options, () => ''), await openApp(options, () => '')]
    try {
      await openScene(one.app)
      const call = await openForks(one.app)
      for (let number = 1; number <= 5; number += 1) {
        const id = buildOf(await call(githubPull('opened', { ...STRANGER, number, commit: String(number).repeat(40) })))
        const verdicts = await Promise.allSettled(
          [approve, deny].flatMap((decision) => [one, two].map(({ app }) => decideApproval(app, id, decision))),
        )
        expect(verdicts.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
        await Promise.all([elect(one.app), elect(two.app)])
        const { status, attempt, approvals } = await show(two.app, id)
        const isApproved = approvals?.[0]?.decision === 'approved'
        expect({ status, attempt }).toEqual(isApproved ? { status: 'elected', attempt: 1 } : { status: 'error', attempt: 0 })
      }
    } finally {
      await one.close()
      await two.close()
    }
  })
})
