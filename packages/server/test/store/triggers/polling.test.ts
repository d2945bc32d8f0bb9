/** Polling of branches: a push that no call reported is built once, whatever calls come late. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LOOPBACK, connectForge, openFakeForge, type FakeForge } from '../../support/fakes/fake-forge.ts'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../support/forge-scene.ts'
import { giteaDelete, githubPush, NO_COMMIT } from '../../support/payloads/payloads.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import type { App } from '../../../src/app.ts'
import type { WebhookCreated } from '@windlass/protocol'
import { pollRepos } from '../../../src/triggers/poll/poll.ts'
import { listDeliveryPage, replayDelivery, showDelivery } from '../../../src/triggers/deliveries/deliveries.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { describeWebhook, removeWebhook } from '../../../src/triggers/webhooks.ts'
import { findWebhook } from '../../../src/store/triggers/webhooks.ts'
import { getTrigger, removeTrigger } from '../../../src/triggers/triggers.ts'

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40)) as [string, string, string, string]
const PERIOD_MS = 300_000

interface Scene {
  readonly app: App
  readonly forge: FakeForge
  readonly webhook: WebhookCreated
  /** Branch -> commit, at the forge. */
  readonly branches: Map<string, string>
  /** Polls after a period, and processes what it found. Returns the branch and commit of each build since the last call. */
  poll(): Promise<string[]>
  /** Sends the call of a push that the forge has carried out. */
  push(before: string, after: string, branch?: string): Promise<string>
  /** Processes calls. Returns the branch and commit of each build since the last call. */
  process(): Promise<string[]>
}

async function openPolled(
  { app, clock }: TestApp,
  forge: FakeForge,
  more: { webhook?: object; trigger?: object; message?: string } = {},
): Promise<Scene> {
  const branches = new Map([['main', A]])
  forge.serve = () => {
    const list = [...branches].map(([name, id]) => ({
      name,
      commit: { id, message: more.message ?? 'Fix it', author: { name: 'Ann' } },
    }))
    return { status: 200, body: list }
  }
  const webhook = await connectForge(app, forge, more.webhook)
  await addPipeline(app, 'a/app')
  await addTrigger(app, 'a/app', { repo: 'Acme/app', ...more.trigger })
  let seen = 0
  const process = async (): Promise<string[]> => {
    await processDeliveries(app)
    const builds = await app.store.query.selectFrom('build').select(['branch', 'revision']).orderBy('number').execute()
    const found = builds.slice(seen).map(({ branch, revision }) => `${branch} ${revision?.[0]}`)
    seen = builds.length
    return found
  }
  return {
    app,
    forge,
    webhook,
    branches,
    process,
    async poll() {
      clock.advance(PERIOD_MS)
      await pollRepos(app)
      return process()
    },
    async push(before, after, branch = 'main') {
      clock.advance(1)
      const { id } = await deliver(
        app,
        webhook,
        githubPush({ ref: `refs/heads/${branch}`, before, after, head_commit: { id: after } }),
        { forge: 'gitea' },
      )
      return id
    },
  }
}

const page = async (app: App): ReturnType<typeof listDeliveryPage> => listDeliveryPage(app, { limit: 50 })

describe.each(DATABASES)('branch polling on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('builds the last commit of a branch whose pushes were not reported, once', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll } = await openPolled(held, forge)
    // The first list shows how things are.
    expect(await poll()).toEqual([])
    branches.set('main', C).set('feature', B)
    expect((await poll()).toSorted()).toEqual(['feature b', 'main c'])
    expect(await poll()).toEqual([])
    const { items } = await page(app)
    expect(items).toMatchObject([{ isPolled: true }, { isPolled: true }])
    const main = items.find(({ branch }) => branch === 'main')
    expect(main).toMatchObject({ event: 'push', repo: 'acme/app', revision: C, status: 'processed' })
    expect(JSON.parse((await showDelivery(app, main?.id ?? '')).body ?? '')).toMatchObject({
      ref: 'refs/heads/main',
      before: A,
      after: C,
      repository: { full_name: 'Acme/app' },
      head_commit: { message: 'Fix it' },
    })
    const feature = items.find(({ branch }) => branch === 'feature')
    expect(JSON.parse((await showDelivery(app, feature?.id ?? '')).body ?? '')).toMatchObject({ before: NO_COMMIT })
    const webhook = await findWebhook(app.store.query, app.accountId, 'forge')
    if (webhook === undefined) throw new Error('no webhook')
    expect((await describeWebhook(app, webhook)).polled).toEqual([{ repo: 'Acme/app', polledAt: expect.any(Number) }])
  })

  test('leaves alone what calls report, also before it is processed, and deleted branches', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll, push } = await openPolled(held, forge)
    await poll()
    branches.set('main', B).set('new', C)
    await push(A, B)
    await push(NO_COMMIT, C, 'new')
    expect((await poll()).toSorted()).toEqual(['main b', 'new c'])
    branches.delete('new')
    expect(await poll()).toEqual([])
    expect((await page(app)).items.filter(({ isPolled }) => isPolled === true)).toEqual([])
    branches.set('new', D)
    expect(await poll()).toEqual(['new d'])
  })

  test('a branch that one list lacks is not built again, and a list without branches is not believed', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll } = await openPolled(held, forge)
    branches.set('other', B)
    await poll()
    branches.delete('other')
    expect(await poll()).toEqual([])
    branches.set('other', B)
    expect(await poll()).toEqual([])
    const all = [...branches]
    branches.clear()
    expect(await poll()).toEqual([])
    const [row] = await app.store.query.selectFrom('polled_repo').select('problem').execute()
    expect(row?.problem).toBe('The forge lists no branches.')
    for (const [name, head] of all) branches.set(name, head)
    expect(await poll()).toEqual([])
    // A day later the branch is forgotten, and one with its name is new.
    branches.delete('other')
    await poll()
    held.clock.advance(25 * 3_600_000)
    expect(await poll()).toEqual([])
    branches.set('other', B)
    expect(await poll()).toEqual(['other b'])
  })

  test('the end of a branch that no call reported is an event after two lists without it, also for a call that comes late', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, webhook, branches, poll, process } = await openPolled(held, forge, {
      trigger: { events: ['push', 'push.deleteBranch'] },
    })
    const deleteByCall = async (): Promise<string> =>
      (await deliver(app, webhook, giteaDelete({ ref: 'feature' }), { forge: 'gitea', event: 'delete' })).id
    branches.set('feature', B)
    await poll()
    branches.delete('feature')
    // The server is away for longer than the head of a missing branch is kept.
    held.clock.advance(30 * 3_600_000)
    expect(await poll()).toEqual([])
    expect(await poll()).toEqual(['feature undefined'])
    expect(await poll()).toEqual([])
    const [delivery, ...others] = (await page(app)).items
    expect(others).toEqual([])
    expect(delivery).toMatchObject({ isPolled: true, event: 'push', branch: 'feature', status: 'processed' })
    const late = await deleteByCall()
    expect(await process()).toEqual([])
    expect(await showDelivery(app, late)).toMatchObject({ reason: 'already-built' })
    branches.set('feature', C)
    expect(await poll()).toEqual(['feature c'])
    branches.delete('feature')
    await deleteByCall()
    expect(await process()).toEqual(['feature undefined'])
    expect([...(await poll()), ...(await poll()), ...(await poll())]).toEqual([])
  })

  test('a call that comes after the poll starts no second build, also if several pushes were missed', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll, push, process } = await openPolled(held, forge)
    await poll()
    branches.set('main', C).set('feature', C)
    expect(await poll()).toHaveLength(2)
    // The pushes of main were A to B and B to C.
    await push(A, B)
    const late = await push(B, C)
    await push(B, C, 'feature')
    expect(await process()).toEqual(['main b'])
    expect(await showDelivery(app, late)).toMatchObject({ reason: 'already-built' })
    expect(await poll()).toEqual([])
    // A push that returns to the commit later is a new event.
    branches.set('main', D)
    await push(C, D)
    expect(await poll()).toEqual(['main d'])
    branches.set('main', C)
    await push(D, C)
    expect(await process()).toEqual(['main c'])
  })

  test('a call that arrives while the forge lists its branches is not reported twice', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { branches, poll, push, app } = await openPolled(held, forge)
    await poll()
    const { serve } = forge
    branches.set('main', B)
    forge.serve = async (call) => {
      await push(A, B)
      return serve(call)
    }
    expect(await poll()).toEqual(['main b'])
    expect((await page(app)).items).toMatchObject([{ branch: 'main' }])
    expect((await page(app)).items[0]?.isPolled).toBeUndefined()
  })

  test('a branch that is created again while the forge lists its branches has not ended', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { branches, poll, push } = await openPolled(held, forge, { trigger: { events: ['push', 'push.deleteBranch'] } })
    branches.set('feature', B)
    await poll()
    branches.delete('feature')
    expect(await poll()).toEqual([])
    const { serve } = forge
    forge.serve = async (call) => {
      const listed = await serve(call)
      forge.serve = serve
      branches.set('feature', C)
      await push(NO_COMMIT, C, 'feature')
      return listed
    }
    expect(await poll()).toEqual(['feature c'])
    expect([...(await poll()), ...(await poll())]).toEqual([])
    // Its end is found as before.
    branches.delete('feature')
    expect([...(await poll()), ...(await poll())]).toEqual(['feature undefined'])
  })

  test('a push that arrives while the forge lists its branches is the last one, also if the list has an earlier one', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { branches, poll, push } = await openPolled(held, forge)
    await poll()
    const { serve } = forge
    branches.set('main', B)
    forge.serve = async (call) => {
      const listed = await serve(call)
      forge.serve = serve
      branches.set('main', C)
      await push(B, C)
      return listed
    }
    expect(await poll()).toEqual(['main c'])
    expect([...(await poll()), ...(await poll())]).toEqual([])
  })

  test('a found push obeys the rules of its trigger, and can be replayed', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll, process } = await openPolled(held, forge, { message: 'Fix it [skip ci]' })
    await poll()
    branches.set('main', B)
    expect(await poll()).toEqual([])
    const [delivery] = (await page(app)).items
    expect(delivery).toMatchObject({ reason: 'skip-text', isPolled: true })
    const replay = await replayDelivery(app, { id: delivery?.id ?? '' })
    expect(await process()).toEqual([])
    expect(await showDelivery(app, replay.id)).toMatchObject({ reason: 'skip-text', isPolled: true, status: 'processed' })
  })

  test('asks only for repositories of push triggers, with a context, unless polling is off', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, poll, webhook } = await openPolled(held, forge, { trigger: { events: ['pullrequest'] } })
    await addTrigger(app, 'a/app', { name: 'off', disabled: true })
    await addTrigger(app, 'a/app', { name: 'other-context', context: 'another' })
    await addWebhook(app, { name: 'none', forge: 'gitea' })
    await addWebhook(app, { name: 'off', forge: 'gitea', context: 'work', polls: false })
    await poll()
    expect(forge.calls).toEqual([])
    await addTrigger(app, 'a/app', { name: 'b', repo: 'acme/b', provider: 'forgejo' })
    await poll()
    expect(forge.calls.map(({ path }) => path)).toEqual(['/api/v1/repos/acme/b/branches?limit=50'])
    await removeTrigger(app, (await getTrigger(app.store.query, app.accountId, 'a/app#b')).id)
    await poll()
    expect(forge.calls).toHaveLength(1)
    await addTrigger(app, 'a/app', { name: 'b', repo: 'acme/b' })
    await poll()
    await removeWebhook(app, webhook.id)
    for (const table of ['polled_repo', 'branch_head'] as const)
      expect(await app.store.query.selectFrom(table).selectAll().execute()).toEqual([])
    await expect(addWebhook(app, { name: 'wrong', polls: true })).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('a forge that is away is asked in the next period, one that refuses later, and the webhook shows why', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll } = await openPolled(held, forge)
    await poll()
    branches.set('main', B)
    forge.answers = [{ status: 500 }, { status: 404 }]
    expect(await poll()).toEqual([])
    const problem = async (): Promise<unknown> =>
      (await app.store.query.selectFrom('polled_repo').select('problem').executeTakeFirstOrThrow()).problem
    expect(await problem()).toBe('127.0.0.1 answered 500.')
    await poll()
    expect(await problem()).toBe('127.0.0.1 answered 404.')
    for (let i = 0; i < 11; i += 1) expect(await poll()).toEqual([])
    expect(forge.calls).toHaveLength(3)
    expect(await poll()).toEqual(['main b'])
    expect(await problem()).toBeNull()
  })

  test('a path that is not the name of a repository never reaches the forge', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, poll } = await openPolled(held, forge, { trigger: { repo: '../admin' } })
    await poll()
    expect(forge.calls).toEqual([])
    const { problem } = await app.store.query.selectFrom('polled_repo').select('problem').executeTakeFirstOrThrow()
    expect(problem).toBe('The name of the repository cannot be part of a URL.')
  })

  const reportsSome = async (): Promise<void> => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, branches, poll, push } = await openPolled(held, forge)
    await poll()
    for (let n = 0; n < 130; n += 1) branches.set(`b${n}`, n.toString(16).padStart(40, '1'))
    await push(NO_COMMIT, branches.get('b5') ?? '', 'b5')
    expect(await poll()).toHaveLength(101)
    await pollRepos(app)
    expect(await poll()).toHaveLength(29)
    expect(await poll()).toEqual([])
  }
  // The pushes are counted outside SQL.
  if (name === 'SQLite') test('reports at most 100 pushes at once, and the others with the next poll', reportsSome)

  const sharedTest = name === 'SQLite' ? undefined : test
  sharedTest?.('of two servers one polls', async () => {
    await using forge = await openFakeForge()
    const at = await database.fresh()
    await using first = await openTestApp(database, { ...at, ...LOOPBACK })
    await using second = await openTestApp(database, { ...at, ...LOOPBACK })
    const { branches, process } = await openPolled(first, forge)
    const both = async (): Promise<string[]> => {
      for (const { clock } of [first, second]) clock.advance(PERIOD_MS)
      await Promise.all([pollRepos(first.app), pollRepos(second.app)])
      return process()
    }
    await both()
    branches.set('main', B)
    expect(await both()).toEqual(['main b'])
    expect(forge.calls).toHaveLength(2)
    expect((await page(first.app)).items).toHaveLength(1)
  })
})
