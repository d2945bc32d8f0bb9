/** Filters on files for events without files: the forge is asked, and a forge that is away delays only what depends on it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LOOPBACK, FORGE_TOKEN, connectForge, openFakeForge, type FakeForge } from '../../support/fakes/fake-forge.ts'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../support/forge-scene.ts'
import { BEFORE, COMMIT, githubPull, githubPush } from '../../support/payloads/payloads.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import type { App } from '../../../src/app.ts'
import { showDelivery } from '../../../src/triggers/deliveries/deliveries.ts'
import { deliverLoop, processDeliveries } from '../../../src/triggers/deliveries/process.ts'

const PULL = { event: 'pull_request', forge: 'gitea' } as const

/** A pipeline that builds pull requests and pushes with changes in `src`. */
async function openFiltered(
  { app }: TestApp,
  forge: FakeForge,
  more: object = {},
): Promise<Awaited<ReturnType<typeof addWebhook>>> {
  const webhook = await connectForge(app, forge)
  await addPipeline(app, 'a/app')
  await addTrigger(app, 'a/app', { events: ['pullrequest', 'push'], modifiedFilesGlob: 'src/**', ...more })
  return webhook
}

async function buildCount({ store }: App): Promise<number> {
  return (await store.query.selectFrom('build').select('id').execute()).length
}

const fileRule = async (app: App, id: string): Promise<unknown> =>
  (await showDelivery(app, id)).triggers?.[0]?.rules.find(({ rule }) => rule === 'modified-files')

describe.each(DATABASES)('changed files on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test.each([
    ['src/a.ts', 1, 'src/a.ts matches src/**.'],
    ['text/a.md', 0, 'None of 2 changed files (text/a.md, b.md) matches src/**.'],
  ])('a pull request with %s builds %i times, after all pages of its files were read (P144)', async (name, count, why) => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    forge.serve = ({ path }) =>
      path.includes('page=2')
        ? { status: 200, body: [{ filename: 'b.md' }] }
        : { status: 200, body: [{ filename: name }], headers: { link: `<${forge.url}/x?limit=50&page=2>; rel="next"` } }
    const webhook = await openFiltered(held, forge)
    // Two triggers of one delivery ask once.
    await addPipeline(app, 'b/app')
    await addTrigger(app, 'b/app', { events: ['pullrequest'], modifiedFilesGlob: '!none' })
    const { id } = await deliver(app, webhook, githubPull('opened'), PULL)
    await processDeliveries(app)
    expect(await buildCount(app)).toBe(count + 1)
    expect(await fileRule(app, id)).toMatchObject({ holds: count === 1, text: why })
    expect(forge.calls.map(({ path }) => path)).toEqual([
      '/api/v1/repos/Acme/app/pulls/7/files?limit=50',
      '/api/v1/repos/Acme/app/pulls/7/files?limit=50&page=2',
    ])
    expect(forge.calls[0]?.headers.authorization).toBe(`token ${FORGE_TOKEN}`)
  })

  test('a push without its files is compared with the commit before it', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const commits = [{ sha: COMMIT, parents: [{ sha: BEFORE }], files: [{ filename: 'text/a.md' }] }]
    forge.serve = () => ({ status: 200, body: { total_commits: 1, commits } })
    const webhook = await openFiltered(held, forge)
    await deliver(app, webhook, githubPush({ commits: [], total_commits: 9 }), { forge: 'gitea' })
    await processDeliveries(app)
    expect(forge.calls.map(({ path }) => path)).toEqual([`/api/v1/repos/Acme/app/compare/${BEFORE}...${COMMIT}`])
    expect(await buildCount(app)).toBe(0)
  })

  test('the forge is not asked if it does not matter', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const webhook = await openFiltered(held, forge, { branchRegex: 'main' })
    // Another branch, and a push that names its files.
    await deliver(app, webhook, githubPull('opened'), PULL)
    await deliver(app, webhook, githubPush(), { forge: 'gitea' })
    await processDeliveries(app)
    expect(forge.calls).toEqual([])
    expect(await buildCount(app)).toBe(1)
  })

  test('a forge that is away is asked again, and other triggers of the event do not wait', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    const webhook = await openFiltered(held, forge)
    await addPipeline(app, 'b/app')
    await addTrigger(app, 'b/app', { events: ['pullrequest'] })
    forge.answers = [{ status: 502 }, { status: 429, headers: { 'retry-after': '1' } }]
    forge.serve = () => ({ status: 200, body: [{ filename: 'src/a.ts' }] })
    const { id } = await deliver(app, webhook, githubPull('opened'), PULL)
    await processDeliveries(app)
    expect(await buildCount(app)).toBe(1)
    expect(await showDelivery(app, id)).toMatchObject({ status: 'received', message: '127.0.0.1 answered 502.' })
    for (let i = 0; i < 2; i += 1) {
      clock.advance(60_000)
      await processDeliveries(app)
    }
    const shown = await showDelivery(app, id)
    expect(shown).toMatchObject({ status: 'processed', builds: [expect.any(String), expect.any(String)] })
    expect(shown.message).toBeUndefined()
    expect(await buildCount(app)).toBe(2)
  })

  test('the delivery of a forge that stays away says why, keeps its builds, and can be replayed', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    const webhook = await openFiltered(held, forge)
    forge.serve = () => ({ status: 503 })
    const { id } = await deliver(app, webhook, githubPull('opened'), PULL)
    for (let i = 0; i < 20; i += 1) {
      await processDeliveries(app)
      clock.advance(60_000)
    }
    expect(forge.calls).toHaveLength(10)
    expect(await showDelivery(app, id)).toMatchObject({
      status: 'processed',
      reason: 'forge-unreachable',
      message: '127.0.0.1 answered 503.',
      builds: [],
    })
    expect(await fileRule(app, id)).toEqual({ rule: 'modified-files', holds: false, text: '127.0.0.1 answered 503.' })
  })

  test.each([
    ['refuses the token', { status: 401 }, 'All files count as changed. 127.0.0.1 answered 401.'],
    [
      'answers something else',
      { status: 200, body: 'no list' },
      'All files count as changed. The forge does not list all changes.',
    ],
  ])('all files count as changed if the forge %s', async (_what, answer, why) => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    forge.serve = () => answer
    const webhook = await openFiltered(held, forge)
    const { id } = await deliver(app, webhook, githubPull('opened'), PULL)
    await processDeliveries(app)
    expect(await fileRule(app, id)).toMatchObject({ holds: true, text: why })
    expect(await buildCount(app)).toBe(1)
  })

  test('does not ask a forge at an address that no setting allows, and not without a context', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await openFiltered(held, forge)
    const without = await addWebhook(app, { name: 'without', forge: 'gitea' })
    const { id } = await deliver(app, webhook, githubPull('opened'), PULL)
    await deliver(app, without, githubPull('reopened'), PULL)
    await processDeliveries(app)
    expect(forge.calls).toEqual([])
    expect(await fileRule(app, id)).toMatchObject({
      holds: true,
      text: 'All files count as changed. The server may not connect to 127.0.0.1.',
    })
    expect(await buildCount(app)).toBe(2)
  })

  test('does not ask a forge that only an app-proxy reaches, and sends it no token', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    await openFiltered(held, forge)
    const appProxy = { runtime: 'prod', integration: 'work' }
    const behind = await addWebhook(app, { name: 'behind', forge: 'gitea', context: 'work', appProxy })
    await deliver(app, behind, githubPull('opened'), PULL)
    await processDeliveries(app)
    expect(forge.calls).toEqual([])
    expect(await buildCount(app)).toBe(1)
  })

  test('a forge that does not answer does not delay the events of other repositories', async () => {
    await using forge = await openFakeForge()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
    const { promise: answer, resolve: release } = Promise.withResolvers<{ status: number; body: unknown }>()
    forge.serve = () => {
      onAsked()
      return answer
    }
    const webhook = await openFiltered(held, forge)
    await addPipeline(app, 'b/app')
    await addTrigger(app, 'b/app', { repo: 'acme/other' })
    const closing = new AbortController()
    const loop = deliverLoop({ ...app, closing: closing.signal })
    await deliver(app, webhook, githubPull('opened'), PULL)
    await asked
    const { id } = await deliver(app, webhook, githubPush({ repository: { full_name: 'acme/other' } }), { forge: 'gitea' })
    await expect.poll(async () => (await showDelivery(app, id)).status).toBe('processed')
    expect(await buildCount(app)).toBe(1)
    release({ status: 200, body: [{ filename: 'src/a.ts' }] })
    await expect.poll(() => buildCount(app)).toBe(2)
    closing.abort()
    await loop
  })
})
