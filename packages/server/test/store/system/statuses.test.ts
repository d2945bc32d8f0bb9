/** Commit statuses: a forge gets the last state of every build that its events start. */
import { systemClock } from '@windlass/kit'
import { BuildInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { decideApproval } from '../../../src/builds/lifecycle/approve.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { readSettings } from '../../../src/pipelines/settings.ts'
import { sendMessages } from '../../../src/outbox/send.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { connectForge, FORGE_TOKEN, LOOPBACK, openFakeForge, type FakeForge } from '../../support/fakes/fake-forge.ts'
import { addPipeline, addTrigger, deliver } from '../../support/forge-scene.ts'
import { COMMIT, githubPush } from '../../support/payloads/payloads.ts'
import { ended, openScene, report, runAttempt, say, show, started, stepDone, take } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const GATE = `version: '1.0'
steps:
  gate: { type: pending-approval }
  after: { image: alpine, commands: [echo after] }
`

/** A pipeline whose trigger reports to the forge, and a push that starts a build of it. */
async function openReporting(
  { app }: TestApp,
  forge: FakeForge,
  more: { pipeline?: object; trigger?: object; push?: Readonly<Record<string, unknown>> } = {},
): Promise<BuildRow> {
  const webhook = await connectForge(app, forge)
  await addPipeline(app, 'a/app', more.pipeline)
  await addTrigger(app, 'a/app', more.trigger)
  await deliver(app, webhook, githubPush(more.push), { forge: 'gitea' })
  await processDeliveries(app)
  return app.store.query.selectFrom('build').selectAll().executeTakeFirstOrThrow()
}

interface SentStatus {
  readonly state: string
  readonly description: string
  readonly context: string
  readonly target_url: string
}
const sent = ({ calls }: FakeForge): SentStatus[] => calls.map(({ body }) => body as SentStatus)
const states = (forge: FakeForge): string[] => sent(forge).map(({ state }) => state)

const start = (app: App, kind: 'restart' | 'manual', input: object): Promise<BuildRow> =>
  createBuild(app, { request: BuildInput.parse(input), initiator: 'tester', trigger: { kind } })

describe.each(DATABASES)('commit statuses on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a commit gets the state of its build at the start and at the end, with a link (P151)', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const scene = await openScene(app)
    const trigger = { commitStatusTitle: 'ci of ${{CF_BRANCH}}: ${{CF_PIPELINE_NAME}}' }
    const build = await openReporting(held, forge, { trigger })
    await sendMessages(app)
    expect(forge.calls).toMatchObject([
      {
        method: 'POST',
        path: `/api/v1/repos/Acme/app/statuses/${COMMIT}`,
        headers: { authorization: `token ${FORGE_TOKEN}` },
        body: { state: 'pending', context: 'ci of main: a/app', target_url: `http://server.test/builds/${build.id}` },
      },
    ])
    const key = await runAttempt(scene, build)
    await say(app, key, started, stepDone('one'), stepDone('two'), ended('success'))
    expect(await show(app, build.id)).toMatchObject({ commitStatus: { state: 'success', message: 'waiting' } })
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending', 'success'])
    expect(await show(app, build.id)).toMatchObject({ commitStatus: { state: 'success', message: 'sent' } })
    await sendMessages(app)
    expect(forge.calls).toHaveLength(2)
  })

  test('a forge that is away gets only the last state, when it asks to be called again', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await openScene(app)
    const { id } = await openReporting(held, forge)
    forge.answers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '100' } }]
    await sendMessages(app)
    expect(await show(app, id)).toMatchObject({
      commitStatus: { state: 'pending', message: 'waiting', problem: '127.0.0.1 answered 503.' },
    })
    await terminateBuild(app, id, 'tester')
    clock.advance(10_000)
    await sendMessages(app)
    clock.advance(90_000)
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending', 'error'])
    clock.advance(20_000)
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending', 'error', 'error'])
    expect((await show(app, id)).commitStatus).toEqual({ state: 'error', message: 'sent' })
  })

  test('a status waits until the limit of the forge ends', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await openScene(app)
    const { id } = await openReporting(held, forge)
    const reset = String(Math.ceil(clock.now() / 1000) + 1_000)
    forge.answers = [{ status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset } }]
    await sendMessages(app)
    expect(await show(app, id)).toMatchObject({ commitStatus: { message: 'waiting', problem: '127.0.0.1 answered 403.' } })
    clock.advance(900_000)
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending'])
    clock.advance(101_000)
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending', 'pending'])
    expect(await show(app, id)).toMatchObject({ commitStatus: { message: 'sent' } })
  })

  test('a status that is refused is given up, and the next state is tried', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await openScene(app)
    const { id } = await openReporting(held, forge)
    forge.answers = [{ status: 404 }]
    for (let i = 0; i < 3; i += 1) {
      await sendMessages(app)
      clock.advance(3_600_000)
    }
    expect(states(forge)).toEqual(['pending'])
    expect((await show(app, id)).commitStatus).toEqual({
      state: 'pending',
      message: 'failed',
      problem: '127.0.0.1 answered 404.',
    })
    await terminateBuild(app, id, 'tester')
    await sendMessages(app)
    expect(states(forge)).toEqual(['pending', 'error'])
  })

  test('a build that waits for approval stays pending, and its description says so', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const scene = await openScene(app)
    const build = await openReporting(held, forge, { pipeline: { document: GATE } })
    await sendMessages(app)
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
    await say(app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
    for (const task of await take(scene)) await report(scene, task, 'done')
    await sendMessages(app)
    expect(sent(forge).at(-1)).toMatchObject({ state: 'pending', description: 'Waiting for approval of "gate".' })
    await decideApproval(app, build.id, { decision: 'approved', by: { name: 'ann', type: 'user' } })
    await sendMessages(app)
    expect(sent(forge).at(-1)).toMatchObject({ state: 'pending', description: 'The build has not ended.' })
  })

  test('a build with errors in its document is a failure at once, and its description fits', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const document = `version: '1.0'\nsteps:\n  ${'long-name-'.repeat(20)}:\n    imag: alpine\n`
    await openReporting(held, forge, { pipeline: { document } })
    await sendMessages(held.app)
    expect(states(forge)).toEqual(['failure'])
    expect(sent(forge)[0]?.description.length).toBeLessThanOrEqual(140)
  })

  test('a repeated build reports to the same commit in place of the first one, unless it builds another one', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    await openScene(app)
    const first = await openReporting(held, forge)
    await terminateBuild(app, first.id, 'tester')
    const again = await start(app, 'restart', { restartOf: first.id })
    await sendMessages(app)
    const link = `http://server.test/builds/${again.id}`
    expect(sent(forge)).toMatchObject([{ state: 'pending', target_url: link, context: 'a/app' }])
    expect((await show(app, first.id)).commitStatus).toBeUndefined()
    expect((await show(app, again.id)).commitStatus).toEqual({ state: 'pending', message: 'sent' })
    const third = await start(app, 'restart', { restartOf: again.id })
    await terminateBuild(app, again.id, 'tester')
    await terminateBuild(app, third.id, 'tester')
    await start(app, 'restart', { restartOf: third.id, revision: 'c'.repeat(40) })
    await sendMessages(app)
    expect(sent(forge).slice(1)).toMatchObject([{ state: 'error', target_url: `http://server.test/builds/${third.id}` }])
  })

  test('a build that ends while it is repeated does not report in place of the later one', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    await openScene(app)
    const first = await openReporting(held, forge)
    const stored = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const repeating = createBuild(app, {
      request: BuildInput.parse({ restartOf: first.id }),
      initiator: 'tester',
      trigger: { kind: 'restart' },
      async within() {
        stored.resolve()
        await commit.promise
      },
    })
    await stored.promise
    const ending = terminateBuild(app, first.id, 'tester')
    // Until it waits for the other transaction.
    await systemClock.sleep(300)
    commit.resolve()
    const again = await repeating
    await ending
    await sendMessages(app)
    const link = `http://server.test/builds/${again.id}`
    expect(sent(forge)).toMatchObject([{ state: 'pending', target_url: link }])
    await terminateBuild(app, again.id, 'tester')
    await sendMessages(app)
    expect(sent(forge).slice(1)).toMatchObject([{ state: 'error', target_url: link }])
    expect((await show(app, first.id)).commitStatus).toBeUndefined()
  })

  test('a build that a user starts is reported only if the user asks for it (P151)', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    await openReporting(held, forge, { trigger: { branchRegex: 'none' }, push: { ref: 'refs/heads/none' } })
    await sendMessages(app)
    forge.calls.length = 0
    const input = { pipeline: 'a/app', branch: 'dev', revision: 'c'.repeat(40) }
    await start(app, 'manual', input)
    await sendMessages(app)
    expect(forge.calls).toEqual([])
    const asked = await start(app, 'manual', { ...input, enableNotifications: true })
    await sendMessages(app)
    expect(forge.calls.map(({ path }) => path)).toEqual([`/api/v1/repos/acme/app/statuses/${'c'.repeat(40)}`])
    expect(await show(app, asked.id)).toMatchObject({ commitStatus: { state: 'pending', message: 'sent' } })
    await start(app, 'manual', { ...input, enableNotifications: true, revision: 'short' })
    await start(app, 'manual', { ...input, enableNotifications: true, trigger: 'unknown' })
    await sendMessages(app)
    expect(forge.calls).toHaveLength(1)
  })

  test('sends nothing to addresses that are not public, unless a setting allows them', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database)
    const { app } = held
    const { id } = await openReporting(held, forge)
    await sendMessages(app)
    expect(forge.calls).toEqual([])
    expect(await show(app, id)).toMatchObject({
      commitStatus: { message: 'failed', problem: 'The server may not connect to 127.0.0.1.' },
    })
  })

  test.each([
    ['the pipeline', { pipeline: { settings: { options: { commitStatus: false } } } }],
    ['the trigger', { trigger: { options: { commitStatus: false } } }],
  ])('%s can turn it off (P151)', async (_what, more) => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { id } = await openReporting(held, forge, more)
    await sendMessages(held.app)
    expect(forge.calls).toEqual([])
    expect((await show(held.app, id)).commitStatus).toBeUndefined()
  })
})

test('a document turns it off with the option of Codefresh (P151)', () => {
  const settingsOf = (options: string): boolean | undefined =>
    readSettings(`version: '1.0'\nkind: pipeline\nmetadata: {name: a/app}\nspec:\n  options: ${options}\n  steps: {}\n`, 'a.yaml')
      ?.settings?.options.commitStatus
  expect(settingsOf('{enableNotifications: false}')).toBe(false)
  expect(settingsOf('{enableNotifications: true}')).toBe(true)
  expect(settingsOf('{}')).toBe(true)
})
