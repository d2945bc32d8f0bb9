/** Builds that a server of the previous version ends during an upgrade are reported afterwards, once. */
import { EventTriggerInput, NotificationInput } from '@windlass/protocol'
import { newId } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { reportMissedEnds } from '../../../src/builds/lifecycle/ends/missed-ends.ts'
import { sweep } from '../../../src/builds/lifecycle/ends/sweep.ts'
import type { Actor } from '../../../src/identity/actor.ts'
import { createNotification } from '../../../src/notifications/notifications.ts'
import { sendMessages } from '../../../src/outbox/send.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { createEventTrigger } from '../../../src/triggers/events/event-triggers.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { connectForge, openFakeForge, type FakeForge } from '../../support/fakes/fake-forge.ts'
import { addPipeline, addTrigger, deliver } from '../../support/forge-scene.ts'
import { githubPush } from '../../support/payloads/payloads.ts'
import { LOOPBACK, openHook } from '../../support/fakes/receivers.ts'
import { ended, openScene, runAttempt, say, started, stepDone } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const ADMIN: Actor = { kind: 'key', id: newId(0), accountId: '', name: 'admin', role: 'admin' }
const DAY_MS = 86_400_000

interface Scene extends AsyncDisposable {
  /** Two servers of one database; the same one twice if the database has a single server. */
  readonly apps: readonly [App, App]
  readonly clocks: readonly TestApp['clock'][]
  readonly forge: FakeForge
  readonly hook: Awaited<ReturnType<typeof openHook>>
  readonly build: BuildRow
  readonly agents: Awaited<ReturnType<typeof openScene>>
}

/** Starts a build that is reported to a forge, to a receiver of notifications and to a trigger. */
async function openReported(database: Database): Promise<Scene> {
  const place = { ...(await database.fresh()), ...LOOPBACK, startAt: Date.now() }
  const servers = [await openTestApp(database, place)]
  if (database.name === 'PostgreSQL') servers.push(await openTestApp(database, place))
  const [first, second = first] = servers
  if (first === undefined || second === undefined) throw new Error('no server')
  const { app } = first
  const forge = await openFakeForge()
  const hook = await openHook()
  const agents = await openScene(app)
  const webhook = await connectForge(app, forge)
  await addPipeline(app, 'a/app')
  await addPipeline(app, 'a/deploy')
  await addTrigger(app, 'a/app')
  const channel = { type: 'webhook', url: hook.url }
  await createNotification(app, {
    input: NotificationInput.parse({ name: 'ops', channel, pipelines: ['a/app'], on: ['always'] }),
    actor: ADMIN,
  })
  await createEventTrigger(app, {
    input: EventTriggerInput.parse({ pipeline: 'a/deploy', name: 'after', type: 'build', source: 'a/app' }),
  })
  await deliver(app, webhook, githubPush(), { forge: 'gitea' })
  await processDeliveries(app)
  await sendMessages(app)
  const build = await app.store.query.selectFrom('build').selectAll().executeTakeFirstOrThrow()
  return {
    apps: [app, second.app],
    clocks: servers.map(({ clock }) => clock),
    forge,
    hook,
    build,
    agents,
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server[Symbol.asyncDispose]()
      await forge[Symbol.asyncDispose]()
      await hook[Symbol.asyncDispose]()
    },
  }
}

/** Ends a build as a server of the previous version does: it writes only the row of the build. */
async function endByOlderServer({ store }: App, { id }: BuildRow, finishedAt: number): Promise<void> {
  await store.query.updateTable('build').set({ status: 'success', finished_at: finishedAt }).where('id', '=', id).execute()
}

/** Lets both servers sweep at the same time, and carries out what follows. */
async function settle({ apps, hook, forge }: Scene): Promise<{ states: string[]; notices: string[]; started: string[] }> {
  await Promise.all(apps.map((app) => sweep(app, false)))
  const [app] = apps
  await processDeliveries(app)
  // The first round replaces notices by the messages of their receivers.
  for (let round = 0; round < 2; round += 1) await sendMessages(app)
  const deploys = await app.store.query.selectFrom('build').select('initiator').where('pipeline', '=', 'a/deploy').execute()
  return {
    states: forge.calls.map(({ body }) => (body as { state: string }).state),
    notices: hook.calls.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    started: deploys.map(({ initiator }) => initiator),
  }
}

describe.each(DATABASES)('ends of builds at older servers on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('are reported to the forge, to receivers and to triggers once, by one of two servers', async () => {
    await using scene = await openReported(database)
    const [app] = scene.apps
    const before = await settle(scene)
    expect(before).toEqual({ states: ['pending'], notices: [], started: [] })
    await endByOlderServer(app, scene.build, app.clock.now())
    const after = { states: ['pending', 'success'], notices: ['build.succeeded'], started: [expect.any(String)] }
    expect(await settle(scene)).toEqual(after)
    expect(await settle(scene)).toEqual(after)
  })

  test('are in the statistics, also behind a page of builds that cannot be reported', async () => {
    await using scene = await openReported(database)
    const [app] = scene.apps
    const { query } = app.store
    const key = await runAttempt(scene.agents, scene.build)
    await say(app, key, started, { type: 'step.started', step: 'one', try: 1 } as never, stepDone('one'))
    const build = await query.selectFrom('build').selectAll().where('id', '=', scene.build.id).executeTakeFirstOrThrow()
    const at = app.clock.now()
    // Rows that no server can report.
    for (let n = 1; n <= 150; n += 1) {
      const copy = { ...build, id: newId(at), number: 1000 + n, status: 'running', finished_at: at, end_reported: null } as const
      await query.insertInto('build').values(copy).execute()
    }
    await endByOlderServer(app, scene.build, at + 1)
    await reportMissedEnds(app)
    expect(await query.selectFrom('ended_step').select(['build_id', 'step', 'status']).execute()).toEqual([
      { build_id: scene.build.id, step: 'one', status: 'success' },
    ])
    await reportMissedEnds(app)
    const row = await query.selectFrom('build').select('end_reported').where('id', '=', scene.build.id).executeTakeFirst()
    expect(row).toEqual({ end_reported: 1 })
  })

  test('are not reported if they were before the upgrade, or a week ago', async () => {
    await using scene = await openReported(database)
    const [app] = scene.apps
    const nothing = { states: ['pending'], notices: [], started: [] }
    await endByOlderServer(app, scene.build, app.clock.now() - 1)
    expect(await settle(scene)).toEqual(nothing)
    await endByOlderServer(app, scene.build, app.clock.now() + 1)
    for (const clock of scene.clocks) clock.advance(8 * DAY_MS)
    expect(await settle(scene)).toEqual(nothing)
  })

  test('are not reported again for builds that end at servers of this version', async () => {
    await using scene = await openReported(database)
    const [app] = scene.apps
    const key = await runAttempt(scene.agents, scene.build)
    await say(app, key, started, ended('success'))
    const { query } = app.store
    const row = await query.selectFrom('build').select('end_reported').where('id', '=', scene.build.id).executeTakeFirst()
    expect(row).toEqual({ end_reported: 1 })
    expect(await settle(scene)).toMatchObject({ states: ['pending', 'success'], notices: ['build.succeeded'] })
  })
})
