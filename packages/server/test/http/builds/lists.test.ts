/** Lists, counts, the queue, actions with several builds, plans and search over HTTP. */
import { fault } from '@windlass/kit'
import { BuildActionResults } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { leaks, plantSecrets, SECRETS } from '../../support/secrets-scene.ts'

const ENDED = 'steps: 5'

async function put({ admin }: HttpScene, name: string, more: object = {}): Promise<void> {
  await admin.pipelines.put(name, { name, document: HELLO, ...more })
}

test('lists builds by repeated filters, and counts them', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['shop/app', 'shop/site']) await put(scene, name)
  for (const branch of ['main', 'next', 'old']) await scene.submit({ pipeline: 'shop/app', document: undefined, branch })
  await scene.submit({ pipeline: 'shop/site', document: undefined, branch: 'main', git: { commitMessage: 'Fix the tax' } })
  const numbers = async (query: object) => (await admin.builds.list({ query })).items.map(({ number }) => number)
  expect(await numbers({ branch: ['main', 'next'] })).toEqual([4, 2, 1])
  expect(await numbers({ branch: ['main', 'next'], pipeline: 'shop/app', q: 'NEX' })).toEqual([2])
  expect(await numbers({ q: 'tax' })).toEqual([4])
  expect((await admin.builds.list({ query: { number: 4 } })).items).toMatchObject([
    { commit: { message: 'Fix the tax' }, progress: { total: 1, done: 0, failed: 0 } },
  ])
  expect(await admin.builds.counts({ query: { by: 'pipeline', branch: 'main' } })).toEqual({
    items: [
      { value: 'shop/app', count: 1 },
      { value: 'shop/site', count: 1 },
    ],
    isExact: true,
  })
  await expect(admin.builds.list({ query: { reason: 'tired' as never } })).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(admin.builds.list({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('shows the limit, its holder and the place of a waiting build in the list, the build and the queue', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await put(scene, 'shop/app', { concurrency: 1 })
  const { build: holder } = await scene.start({ pipeline: 'shop/app', document: undefined })
  const waiting = await scene.submit({ pipeline: 'shop/app', document: undefined })
  await expect.poll(async () => (await admin.builds.get(waiting.id)).waiting?.reason).toBe('pipeline-limit')
  const expected = { used: 1, limit: 1, place: 1, holders: [{ id: holder.id, number: holder.number }] }
  expect((await admin.builds.get(waiting.id)).waiting).toMatchObject(expected)
  expect((await admin.builds.list({ query: { number: waiting.number } })).items[0]?.waiting).toMatchObject(expected)
  expect(await admin.builds.queue()).toMatchObject({
    waiting: 1,
    items: [{ reason: 'pipeline-limit', pipeline: 'shop/app', builds: [{ id: waiting.id }], holders: [{ id: holder.id }] }],
  })
})

test('terminates and restarts several builds with a result for each', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const live = await scene.submit()
  const ended = await scene.submit({ document: ENDED })
  const none = 'f'.repeat(24)
  const stopped = await admin.builds.act({ action: 'terminate', ids: [live.id, ended.id, none, live.id] })
  expect(stopped.items).toMatchObject([
    { id: live.id, build: { id: live.id } },
    { id: ended.id, problem: { code: 'build-final' } },
    { id: none, problem: { code: 'not-found', message: `Build ${none} does not exist.` } },
  ])
  const restarted = await admin.builds.act({ action: 'restart', ids: [ended.id] })
  expect(restarted.items).toMatchObject([{ id: ended.id, build: { restartOf: ended.id, trigger: { kind: 'restart' } } }])
  const refused = await admin.builds.act({ action: 'approve', ids: [ended.id], comment: 'fine' })
  expect(refused.items).toMatchObject([{ problem: { code: 'build-final' } }])
  await expect(admin.builds.act({ action: 'terminate', ids: [] })).rejects.toMatchObject({ code: 'request-invalid' })
  const many = Array.from({ length: 201 }, () => live.id)
  await expect(admin.builds.act({ action: 'terminate', ids: many })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('an action with builds of another project says that they do not exist, and a viewer may do nothing', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['shop/app', 'blog/site']) await put(scene, name)
  const own = await scene.submit({ pipeline: 'shop/app', document: undefined })
  const other = await scene.submit({ pipeline: 'blog/site', document: undefined })
  const clientOf = async (role: 'viewer' | 'developer') => {
    await admin.users.create({ name: `shop-${role}`, kind: 'service-account', role: 'none', projects: { shop: role } })
    return scene.nobody.withToken((await admin.keys.create({ name: role, owner: `shop-${role}`, role: 'admin' })).token)
  }
  const developer = await clientOf('developer')
  const results = await developer.builds.act({ action: 'terminate', ids: [other.id, own.id] })
  expect(results.items).toMatchObject([
    { problem: { code: 'not-found', message: `Build ${other.id} does not exist.` } },
    { build: { id: own.id } },
  ])
  const viewer = await clientOf('viewer')
  await expect(viewer.builds.act({ action: 'terminate', ids: [own.id] })).rejects.toMatchObject({ code: 'forbidden' })
  expect((await viewer.builds.search({ query: { q: 'i' } })).items).toEqual([])
  expect((await viewer.builds.queue()).waiting).toBe(0)
})

/** Rolls the transaction back that creates the build with this number, once. */
function failAt(app: App, number: number): void {
  const write = app.store.write.bind(app.store)
  let isArmed = true
  Object.assign(app.store, {
    write: (work: Parameters<typeof write>[0]) =>
      write(async (tx) => {
        const result = await work(tx)
        const created = await tx.query.selectFrom('build').select('id').where('number', '=', number).executeTakeFirst()
        if (created === undefined || !isArmed) return result
        isArmed = false
        throw fault('unavailable')
      }),
  })
}

test('a repeated action continues with the builds that have no result yet', async () => {
  await using scene = await openHttpScene()
  const { admin, server, adminToken } = scene
  const builds = [await scene.submit({ document: ENDED }), await scene.submit({ document: ENDED })]
  const ids = builds.map(({ id }) => id)
  const call = async () => {
    const answer = await fetch(`${server.url}/v1/builds/actions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', 'idempotency-key': 'once' },
      body: JSON.stringify({ action: 'restart', ids }),
    })
    return { status: answer.status, body: await answer.json() }
  }
  const count = async () => (await admin.builds.list()).items.length
  failAt(server.app, 4)
  expect((await call()).status).toBe(503)
  expect(await count()).toBe(3)
  const second = await call()
  const { items } = BuildActionResults.parse(second.body)
  expect(items.map(({ build }) => build?.restartOf)).toEqual(ids)
  expect(await count()).toBe(4)
  expect(await call()).toEqual(second)
  expect(await count()).toBe(4)
})

test('no plan of a build and no preview contains a secret', async () => {
  await using scene = await openHttpScene()
  const { build } = await plantSecrets(scene)
  const { admin, server, adminToken } = scene
  const revealing = `version: '1.0'
steps:
  one: { title: 'with \${{WRITTEN}} \${{ONCE}} \${{SHARED}}', image: 'alpine:\${{LISTED}}', commands: ['echo \${{WRITTEN}}'] }
`
  const texts = [{ place: 'plan', text: await admin.text('GET', `/v1/builds/${build.id}/plan`) }]
  for (const pipeline of ['keys/written', 'keys/listed']) {
    const answer = await fetch(`${server.url}/v1/plan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ pipeline, document: revealing, secrets: { ONCE: SECRETS.run }, contexts: ['shared', 'shaped'] }),
    })
    expect(answer.status).toBe(200)
    texts.push({ place: `preview of ${pipeline}`, text: await answer.text() })
  }
  expect(texts[0]?.text).toContain('"isSecret":true')
  expect(texts[1]?.text).toContain('"ONCE"')
  expect(leaks(texts, SECRETS)).toEqual([])
  const { variables = [] } = (await admin.builds.plan(build.id)).plan ?? {}
  expect(variables.filter(({ isSecret }) => isSecret).map(({ name }) => name)).toEqual(['ONCE', 'SHAPED', 'SHARED', 'WRITTEN'])
})
