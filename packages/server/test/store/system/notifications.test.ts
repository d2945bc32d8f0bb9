/** Notifications: who is told what about a build, once it is stored, although receivers are away and servers are killed. */
import { newId } from '@windlass/kit'
import {
  BuildInput,
  NoticeDocument,
  NotificationInput,
  PipelineInput,
  UserInput,
  type NotificationCreated,
} from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Webhook } from 'standardwebhooks'
import type { App } from '../../../src/app.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { decideApproval } from '../../../src/builds/lifecycle/approve.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import type { Actor } from '../../../src/identity/actor.ts'
import { findUserActor } from '../../../src/identity/keys/key-actor.ts'
import { createUser, grantRole, removeUser } from '../../../src/identity/users/users.ts'
import { createNotification, showNotification } from '../../../src/notifications/notifications.ts'
import { fanOut } from '../../../src/notifications/fan-out.ts'
import { listMessagePage } from '../../../src/outbox/messages.ts'
import { sendMessages } from '../../../src/outbox/send.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { HELLO, ended, openScene, runAttempt, say, started, type Scene } from '../../support/scene.ts'
import { openHook, LOOPBACK, type Hook } from '../../support/fakes/receivers.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const ADMIN: Actor = { kind: 'key', id: newId(0), accountId: '', name: 'admin', role: 'admin' }
const GATE = "version: '1.0'\nsteps:\n  gate: { type: pending-approval }\n  after: { image: alpine, commands: [echo] }\n"

interface Opened extends AsyncDisposable {
  readonly app: App
  readonly clock: TestApp['clock']
  readonly scene: Scene
  readonly hook: Hook
}

async function openWithPipelines(database: Database): Promise<Opened> {
  const hook = await openHook()
  const held = await openTestApp(database, { ...LOOPBACK, startAt: Date.now() })
  for (const [name, document] of [
    ['shop/app', HELLO],
    ['shop/gated', GATE],
    ['other/app', HELLO],
  ] as const)
    await putPipeline(held.app, { input: PipelineInput.parse({ name, document }), precondition: {} })
  return {
    app: held.app,
    clock: held.clock,
    scene: await openScene(held.app),
    hook,
    async [Symbol.asyncDispose]() {
      await held[Symbol.asyncDispose]()
      await hook[Symbol.asyncDispose]()
    },
  }
}

async function addNotification({ app, hook }: Opened, input: object, actor: Actor = ADMIN): Promise<NotificationCreated> {
  const channel = { type: 'webhook', url: hook.url }
  return createNotification(app, { input: NotificationInput.parse({ name: 'ops', channel, ...input }), actor })
}

async function addUser(app: App, name: string, projects: Record<string, 'viewer' | 'developer'>): Promise<Actor> {
  const { id } = await createUser(app, UserInput.parse({ name, role: 'none', projects, password: 'correct horse battery' }))
  const actor = await findUserActor(app.store.query, app.accountId, id)
  if (actor === undefined) throw new Error(`no user ${name}`)
  return actor
}

interface Started {
  readonly pipeline?: string
  readonly branch?: string
  readonly initiator?: string
  readonly kind?: 'manual' | 'webhook' | 'restart'
  readonly request?: object
}

async function begin(
  app: App,
  { pipeline = 'shop/app', branch = 'main', initiator = 'forge', kind = 'webhook', request }: Started,
) {
  return createBuild(app, {
    request: BuildInput.parse({ pipeline, branch, ...request }),
    initiator,
    trigger: { kind },
  })
}

/** Starts a build and ends it. */
async function run({ app, scene }: Opened, status: 'success' | 'error', how: Started = {}): Promise<BuildRow> {
  const build = await begin(app, how)
  const key = await runAttempt(scene, build)
  const failure = { reason: 'exit-code', message: 'The command ended with exit code 3.', exitCode: 3 } as const
  await say(app, key, started, { type: 'step.started', step: 'one', try: 1 })
  await say(app, key, {
    type: 'step.finished',
    step: 'one',
    try: 1,
    members: {},
    exports: [],
    ...(status === 'success' ? { status, exitCode: 0 } : { status, ...failure }),
  })
  const why = status === 'success' ? {} : { reason: 'step-failed', message: 'Step "one" failed.' }
  await say(app, key, ended(status, why))
  return build
}

const documents = ({ calls }: Hook): NoticeDocument[] => calls.map(({ body }) => NoticeDocument.parse(JSON.parse(body)))
const types = (hook: Hook): string[] => documents(hook).map(({ type }) => type)

describe.each(DATABASES)('notifications on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('reports a failure with its first failing step and a link, signed, and the recovery of the branch (N001, N003)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    const { secret = '' } = await addNotification(opened, { pipelines: ['shop/app'] })
    await run(opened, 'success')
    const failed = await run(opened, 'error')
    await run(opened, 'success', { branch: 'dev' })
    await terminateBuild(app, (await begin(app, {})).id, 'tester')
    await run(opened, 'success')
    await run(opened, 'success')
    await run(opened, 'error', { pipeline: 'other/app' })
    await sendMessages(app)
    expect(types(hook).toSorted()).toEqual(['build.failed', 'build.recovered'])
    const call = hook.calls.find(({ body }) => body.includes('build.failed'))
    const document = NoticeDocument.parse(new Webhook(secret).verify(call?.body ?? '', call?.headers as Record<string, string>))
    expect(document.data).toMatchObject({
      notification: 'ops',
      build: {
        id: failed.id,
        status: 'error',
        pipeline: 'shop/app',
        branch: 'main',
        url: `http://server.test/builds/${failed.id}`,
      },
      step: { name: 'one', message: 'The command ended with exit code 3.', exitCode: 3 },
    })
    expect(document.data.text).toContain('Step "one" failed: The command ended with exit code 3.')
    expect(await showNotification(app, 'ops', ADMIN)).toMatchObject({ sentAt: expect.any(Number) })
  })

  test('`always` reports every end, also of documents that do not compile, on the branches of the filter (N001)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    await addNotification(opened, { on: ['always'], projects: ['shop'], branch: 'release/*' })
    await run(opened, 'success')
    await run(opened, 'success', { branch: 'release/1' })
    await terminateBuild(app, (await begin(app, { branch: 'release/1' })).id, 'tester')
    const invalid = await begin(app, { branch: 'release/1', request: { document: 'steps: 5' } })
    await sendMessages(app)
    expect(types(hook).toSorted()).toEqual(['build.failed', 'build.succeeded', 'build.terminated'])
    expect(documents(hook).find(({ type }) => type === 'build.failed')?.data.build).toMatchObject({
      id: invalid.id,
      reason: 'invalid-pipeline',
    })
  })

  test('builds that users start are reported to teams only if they ask for it, and to the user always (N001, N002)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    const mira = await addUser(app, 'mira', { shop: 'developer' })
    await addNotification(opened, { name: 'team' })
    await addNotification(opened, { name: 'me', personal: true, mine: true }, mira)
    const quiet = await run(opened, 'error', { kind: 'manual', initiator: 'mira' })
    await run(opened, 'error', { kind: 'manual', initiator: 'jo' })
    await run(opened, 'error', { kind: 'restart', initiator: 'jo', request: { restartOf: quiet.id } })
    await sendMessages(app)
    expect(documents(hook).map(({ data }) => [data.notification, data.build?.id])).toEqual([['me', quiet.id]])
    await run(opened, 'error', { kind: 'manual', initiator: 'jo', request: { enableNotifications: true } })
    await sendMessages(app)
    expect(documents(hook).map(({ data }) => data.notification)).toEqual(['me', 'team'])
  })

  test('a user is told only about what the user may see at that time, and nothing after the account was deleted (N002)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    const mira = await addUser(app, 'mira', { shop: 'viewer', other: 'viewer' })
    await addNotification(opened, { name: 'all', personal: true }, mira)
    await expect(showNotification(app, 'all', ADMIN)).rejects.toMatchObject({ code: 'not-found' })
    await run(opened, 'error')
    await run(opened, 'error', { pipeline: 'other/app' })
    await grantRole(app, { user: 'mira', at: { project: 'other' }, role: undefined })
    await sendMessages(app)
    expect(documents(hook).map(({ data }) => data.build?.pipeline)).toEqual(['shop/app'])
    await createUser(app, UserInput.parse({ name: 'root', role: 'admin', password: 'correct horse battery' }))
    await removeUser(app, 'mira')
    await run(opened, 'error')
    await sendMessages(app)
    expect(hook.calls).toHaveLength(1)
    expect(await app.store.query.selectFrom('notification').selectAll().execute()).toEqual([])
  })

  test('an approval is reported to those who may decide it, while it waits (N002)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook, scene } = opened
    const [decider, viewer] = [await addUser(app, 'mira', { shop: 'developer' }), await addUser(app, 'jo', { shop: 'viewer' })]
    for (const [name, actor] of [
      ['decide', decider],
      ['look', viewer],
    ] as const)
      await addNotification(opened, { name, personal: true, on: ['approval'] }, actor)
    const wait = async (): Promise<BuildRow> => {
      const build = await begin(app, { pipeline: 'shop/gated' })
      const key = await runAttempt(scene, build)
      await say(app, key, started, { type: 'step.waiting', step: 'gate', reason: 'approval' })
      await say(app, key, { type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
      return build
    }
    const build = await wait()
    await sendMessages(app)
    expect(documents(hook)).toMatchObject([
      {
        type: 'build.waiting',
        data: { notification: 'decide', build: { id: build.id }, step: { name: 'gate', status: 'waiting' } },
      },
    ])
    expect(documents(hook)[0]?.data.text).toContain(`windlass approve ${build.id}`)
    const decided = await wait()
    await decideApproval(app, decided.id, { decision: 'approved', by: { name: 'ann', type: 'user' } })
    await sendMessages(app)
    expect(hook.calls).toHaveLength(1)
  })

  test('a receiver that is away gets the message later with the same id, also from a server that was killed (N007)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook, clock } = opened
    await addNotification(opened, {})
    await run(opened, 'error')
    const [notice] = await app.store.query.selectFrom('message').selectAll().execute()
    if (notice === undefined) throw new Error('no message')
    // A server that is killed before it has deleted the notice finds the same receivers again.
    await fanOut(app, notice)
    await app.store.query.insertInto('message').values(notice).execute()
    hook.answers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '60' } }]
    await sendMessages(app)
    expect(await showNotification(app, 'ops', ADMIN)).toMatchObject({ problem: '127.0.0.1 answered 503.' })
    clock.advance(10_000)
    await sendMessages(app)
    clock.advance(60_000)
    await sendMessages(app)
    clock.advance(600_000)
    await sendMessages(app)
    expect(hook.calls).toHaveLength(3)
    expect(new Set(documents(hook).map(({ id }) => id)).size).toBe(1)
    expect(new Set(hook.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    const shown = await showNotification(app, 'ops', ADMIN)
    expect([shown.problem, shown.sentAt]).toEqual([undefined, clock.now() - 600_000])
  })

  test('a refused message is given up and listed, and names neither URL nor address (N007)', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    await addNotification(opened, {})
    hook.answers = [{ status: 410 }]
    await run(opened, 'error')
    await sendMessages(app)
    const { items } = await listMessagePage(app, { limit: 10, state: 'failed' })
    expect(items).toMatchObject([{ kind: 'notification', subject: expect.stringContaining('notification ops about build') }])
    expect(JSON.stringify(items)).not.toContain('s3cret-path')
    expect(JSON.stringify(await app.store.query.selectFrom('message').selectAll().execute())).not.toContain('s3cret-path')
  })

  test('a disabled or deleted notification sends nothing, and without notifications nothing is stored', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    await run(opened, 'error')
    expect(await app.store.query.selectFrom('message').selectAll().execute()).toEqual([])
    await addNotification(opened, { disabled: true })
    await run(opened, 'error')
    await sendMessages(app)
    expect(hook.calls).toEqual([])
    expect(await app.store.query.selectFrom('message').selectAll().execute()).toEqual([])
  })

  test('does not connect to private addresses unless a setting allows them (N008)', async () => {
    await using hook = await openHook()
    await using held = await openTestApp(database)
    const { app } = held
    await putPipeline(app, { input: PipelineInput.parse({ name: 'shop/app', document: HELLO }), precondition: {} })
    const opened = { app, hook, clock: held.clock, scene: await openScene(app) } as Opened
    await addNotification(opened, {})
    await run(opened, 'error')
    await sendMessages(app)
    expect(hook.calls).toEqual([])
    expect(await showNotification(app, 'ops', ADMIN)).toMatchObject({ problem: 'The server may not connect to 127.0.0.1.' })
  })

  test('the pages of many notifications are all found, each receiver once', async () => {
    await using opened = await openWithPipelines(database)
    const { app, hook } = opened
    for (let n = 0; n < 230; n += 1) await addNotification(opened, { name: `n${n}`, on: [n % 23 === 0 ? 'failure' : 'approval'] })
    await run(opened, 'error')
    await sendMessages(app)
    expect(
      documents(hook)
        .map(({ data }) => data.notification)
        .toSorted(),
    ).toEqual(Array.from({ length: 10 }, (_, n) => `n${n * 23}`).toSorted())
  })
})
