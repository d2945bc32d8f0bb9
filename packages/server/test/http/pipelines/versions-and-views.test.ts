/** Versions of pipelines, views, preferences and the use of keys, as clients see them. */
import { expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const NAME = 'shop/app'

/** Creates a service account and returns a client with its key. */
async function account({ admin, nobody }: HttpScene, name: string, roles: object) {
  await admin.users.create({ name, kind: 'service-account', role: 'none', ...roles })
  const { token } = await admin.keys.create({ name: `key-${name}`, owner: name, role: 'admin' })
  return nobody.withToken(token)
}

test('a change has the name of the owner of the key and its message, and a restoration is protected by If-Match (W069)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: NAME, document: HELLO }, { query: { message: 'The first one' } })
  const mira = await account(scene, 'mira', { pipelines: { [NAME]: 'developer' } })
  await mira.pipelines.put(NAME, { name: NAME, document: HELLO, priority: 2 }, { query: { message: 'Faster' } })
  expect((await mira.pipelines.versions(NAME)).items).toMatchObject([
    { version: 2, changedBy: 'mira', message: 'Faster', current: true },
    { version: 1, changedBy: 'admin', message: 'The first one', current: false },
  ])
  const stale = mira.pipelines.restore(NAME, 1, { headers: { 'if-match': '"1"' } })
  await expect(stale).rejects.toMatchObject({ code: 'conflict' })
  expect(await mira.pipelines.restore(NAME, 1, { headers: { 'if-match': '"2"' } })).toMatchObject({ revision: 3, priority: 0 })
  const { items } = await admin.audit.list()
  expect(items.map(({ action, actor }) => [action, actor])).toContainEqual([
    'POST /v1/pipelines/{name}/versions/{version}/restore',
    'key-mira',
  ])
})

test('a role for one pipeline sees and restores no versions of another one, and restores no name', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const named = (name: string) => `kind: pipeline\nmetadata: {name: ${name}}\nspec: {steps: {a: {image: alpine}}}\n`
  await admin.pipelines.create({ name: 'shop/old', document: named('shop/old') })
  await admin.pipelines.put('shop/old', { name: NAME, document: named(NAME) })
  await admin.pipelines.create({ name: 'shop/second', document: HELLO })
  const jo = await account(scene, 'jo', { pipelines: { [NAME]: 'developer' } })
  const viewer = await account(scene, 'eve', { pipelines: { [NAME]: 'viewer' } })
  await expect(jo.pipelines.versions('shop/second')).rejects.toMatchObject({ code: 'not-found' })
  await expect(jo.pipelines.restore('shop/second', 1)).rejects.toMatchObject({ code: 'not-found' })
  await expect(viewer.pipelines.restore(NAME, 1)).rejects.toMatchObject({ code: 'forbidden' })
  expect((await viewer.pipelines.version(NAME, 1)).name).toBe('shop/old')
  // Version 1 has another name, which a role for the pipeline does not give.
  await expect(jo.pipelines.restore(NAME, 1)).rejects.toMatchObject({ code: 'not-found' })
  expect((await admin.pipelines.get(NAME)).revision).toBe(2)
})

test('preferences belong to the user, with all keys, and are protected by their revision', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  const mira = await account(scene, 'mira', {})
  const second = nobody.withToken((await admin.keys.create({ name: 'second', owner: 'mira', role: 'viewer' })).token)
  expect(await mira.preferences.get()).toEqual({ views: [], page: {}, revision: 0 })
  const views = [{ name: 'Failed', filter: { status: ['error'] } }]
  const stored = await mira.preferences.put({ views, page: { theme: 'dark' } }, { headers: { 'if-match': '"0"' } })
  expect(stored.revision).toBe(1)
  expect(await second.preferences.get()).toEqual(stored)
  expect((await admin.preferences.get()).views).toEqual([])
  const late = second.preferences.put({ views: [] }, { headers: { 'if-match': '"0"' } })
  await expect(late).rejects.toMatchObject({ code: 'conflict' })
  const large = mira.preferences.put({ page: { text: 'x'.repeat(16_384) } })
  await expect(large).rejects.toMatchObject({ code: 'request-invalid', message: expect.stringContaining('16384') })
  const twice = mira.preferences.put({ views: [...views, ...views] })
  await expect(twice).rejects.toMatchObject({ code: 'request-invalid' })
})

test('a maintainer shares, renames and deletes views, and others only read them', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const maintainer = await account(scene, 'mia', { role: 'maintainer' })
  const developer = await account(scene, 'dan', { role: 'developer' })
  const view = { name: 'Failed on main', filter: { status: ['error'], branch: ['main'] } }
  await expect(developer.views.create(view)).rejects.toMatchObject({ code: 'forbidden' })
  await maintainer.views.create(view)
  await expect(admin.views.create(view)).rejects.toMatchObject({ code: 'conflict' })
  expect((await developer.views.list()).items).toMatchObject([{ ...view, createdBy: 'mia' }])
  await maintainer.views.put(view.name, { ...view, name: 'Red' })
  await expect(developer.views.delete('Red')).rejects.toMatchObject({ code: 'forbidden' })
  await maintainer.views.delete('Red')
  expect((await developer.views.list()).items).toEqual([])
})

test('preferences and views that a newer server stored are read without the fields that this one does not know', async () => {
  await using scene = await openHttpScene()
  const { admin, server } = scene
  await admin.preferences.put({ views: [{ name: 'Mine', filter: { branch: ['main'] } }] })
  await admin.views.create({ name: 'Red', filter: { status: ['error'] } })
  await server.app.store.write(async (tx) => {
    const data = JSON.stringify({
      views: [{ name: 'Mine', filter: { branch: ['main'], size: ['big'] }, color: 'red' }],
      sound: 'on',
    })
    await tx.query.updateTable('preference').set({ data }).execute()
    await tx.query.updateTable('shared_view').set({ filter: '{"status":["error"],"size":["big"]}' }).execute()
  })
  expect(await admin.preferences.get()).toMatchObject({ views: [{ name: 'Mine', filter: { branch: ['main'] } }] })
  expect((await admin.views.list()).items).toMatchObject([{ name: 'Red', filter: { status: ['error'] } }])
})

test('a key tells its owner, its creator, its end and when it was used', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const mira = await account(scene, 'mira', { role: 'viewer' })
  const find = async () => (await admin.keys.list()).items.find(({ name }) => name === 'key-mira')
  const unused = await find()
  expect(unused).toMatchObject({ owner: { name: 'mira', kind: 'service-account' }, createdBy: 'admin', role: 'admin' })
  expect(unused?.usedAt).toBeUndefined()
  const before = Date.now()
  await mira.server.whoami()
  // A use is stored beside the call.
  await expect.poll(async () => (await find())?.usedAt).toBeGreaterThanOrEqual(before)
})

test('lists the branches of builds of a pipeline, the latest first', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: NAME, document: HELLO })
  await admin.pipelines.create({ name: 'shop/second', document: HELLO })
  for (const branch of ['main', 'next', 'main']) await admin.builds.create({ pipeline: NAME, branch }, { idempotencyKey: false })
  await admin.builds.create({ pipeline: 'shop/second', branch: 'other' })
  expect((await admin.pipelines.branches(NAME)).items.map(({ branch }) => branch)).toEqual(['main', 'next'])
  expect((await admin.pipelines.branches(NAME, { query: { q: 'NE' } })).items.map(({ branch }) => branch)).toEqual(['next'])
})
