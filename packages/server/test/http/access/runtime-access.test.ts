/** Access to runtimes by their tags and the teams that the account gives the tags to. */
import type { ApiClient } from '@windlass/client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const DENIED = { code: 'runtime-denied' }
const Listed = z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }))

/** Creates a developer, and a key with all rights of the user. */
async function addDeveloper({ admin, nobody }: HttpScene, name: string): Promise<ApiClient> {
  await admin.users.create({ name, role: 'developer', password: 'correct horse battery' })
  return nobody.withToken((await admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })).token)
}

async function give({ admin }: HttpScene, runtimeAccess: Record<string, string[]>): Promise<void> {
  await admin.settings.put({ ...(await admin.settings.get()), runtimeAccess })
}

async function namesOf(client: ApiClient): Promise<string[]> {
  return (await client.runtimes.list()).items.map(({ name }) => name)
}

test('only members of a team of its tags see a runtime and build on it; others get 403 (R076)', async () => {
  await using scene = await openHttpScene()
  const { admin, server } = scene
  const [mira, jo] = [await addDeveloper(scene, 'mira'), await addDeveloper(scene, 'jo')]
  await admin.teams.create({ name: 'ml', members: ['mira'] })
  const gpu = { name: 'gpu', type: 'fake', agent: 'agent', spec: { tags: ['gpu', 'fast'] } } as const
  await admin.runtimes.create(gpu)
  const train = { name: 'shop/train', document: HELLO, runtime: 'gpu' }
  await admin.pipelines.create(train)
  await admin.pipelines.create({ name: 'shop/free', document: HELLO })
  // A tag that is not given to teams restricts nothing.
  await give(scene, { slow: ['ml'] })
  const before = await jo.builds.create({ pipeline: train.name })
  expect(await namesOf(jo)).toEqual(['gpu', 'local'])

  await give(scene, { gpu: ['ml'] })
  const inline = `version: '1.0'\nkind: pipeline\nmetadata: {name: shop/inline}\nspec:\n  runtimeEnvironment: {name: gpu}\n  steps: {one: {image: alpine}}\n`
  const nightly = { pipeline: 'shop/free', name: 'nightly', message: 'nightly', expression: '@daily' }
  const calls: Record<string, (client: ApiClient) => Promise<unknown>> = {
    'start its pipeline': (client) => client.builds.create({ pipeline: train.name }),
    'start a build on it': (client) => client.builds.create({ document: HELLO, runtime: 'gpu' }),
    'start a document that names it': (client) => client.builds.create({ document: inline }),
    'repeat a build': (client) => client.builds.restart(before.id, {}),
    'ask what a build would do': (client) => client.builds.preview({ pipeline: train.name }),
    'store its pipeline': (client) => client.pipelines.put(train.name, train),
    'store a document that names it': (client) => client.pipelines.put('shop/inline', { name: 'shop/inline', document: inline }),
    'store a trigger': (client) => client.cronTriggers.create({ ...nightly, runtimeEnvironment: { name: 'gpu' } }),
    'store a trigger of its pipeline': (client) =>
      client.cronTriggers.create({ ...nightly, pipeline: train.name, name: 'of-train' }),
    'store a pipeline whose trigger names it': (client) =>
      client.pipelines.put('shop/free', { name: 'shop/free', document: HELLO, runtime: 'local' }),
    'read it': (client) => client.runtimes.get('gpu'),
    'read its versions': (client) => client.runtimes.versions('gpu'),
    'compare its versions': (client) => client.runtimes.diff('gpu', { query: { from: 1 } }),
    'read its images': (client) => client.runtimes.images('gpu'),
    'read its activity': (client) => client.runtimes.activity('gpu'),
    'read its health': (client) => client.health.runtime('gpu'),
    'read it as the public client': (client) => client.call('GET', '/api/runtime-environments/gpu', z.unknown()),
    'read its base images': (client) => client.call('GET', '/api/runtime-environments/gpu/base-images', z.unknown()),
  }
  for (const [what, call] of Object.entries(calls)) {
    await expect(call(jo), what).rejects.toMatchObject(DENIED)
    await expect(call(mira), what).resolves.toBeDefined()
  }
  const headers = { authorization: `Bearer ${(await admin.keys.create({ name: 'jo-2', role: 'viewer', owner: 'jo' })).token}` }
  const answer = await fetch(`${server.url}/v1/runtimes/gpu`, { headers })
  expect([answer.status, await answer.json()]).toEqual([
    403,
    expect.objectContaining({
      code: 'runtime-denied',
      detail: 'Only members of "ml" and admins may use the runtime environment "gpu".',
    }),
  ])
  expect([await namesOf(jo), await namesOf(mira)]).toEqual([['local'], ['gpu', 'local']])
  expect((await jo.health.server()).runtimes.map(({ name }) => name)).toEqual(['local'])
  const listed = await jo.call('GET', '/api/runtime-environments', Listed)
  expect(listed.map(({ metadata }) => metadata.name)).toEqual(['local'])
  const found = async ({ builds }: ApiClient) =>
    (await builds.search({ query: { q: 'g', limit: 1 } })).items.map(({ name }) => name)
  await admin.runtimes.create({ name: 'grid', type: 'fake' })
  expect([await found(jo), await found(mira)]).toEqual([['grid'], ['gpu']])
  await admin.runtimes.delete('grid')
  // Developers change no runtimes, members of teams included.
  for (const client of [jo, mira]) await expect(client.runtimes.put('gpu', gpu)).rejects.toMatchObject({ code: 'forbidden' })
  // What does not use it is not affected, and a member may use it by any of its tags.
  await jo.builds.create({ pipeline: 'shop/free' })
  await give(scene, { gpu: [], fast: ['ml'] })
  await mira.runtimes.get('gpu')
  // A key of an admin with a lower role is not an admin.
  const low = scene.nobody.withToken((await admin.keys.create({ name: 'low', role: 'developer' })).token)
  await expect(low.runtimes.get('gpu')).rejects.toMatchObject(DENIED)
  expect(await admin.builds.create({ pipeline: train.name })).toMatchObject({ runtime: 'gpu' })

  await admin.pipelines.create({ name: 'shop/open', document: HELLO })
  await admin.runtimes.makeDefault('gpu')
  const open = { ...nightly, pipeline: 'shop/open' }
  const onDefault: Record<string, (client: ApiClient) => Promise<unknown>> = {
    'start a build': (client) => client.builds.create({ document: HELLO }),
    'store a trigger': (client) => client.cronTriggers.create(open),
    'store a pipeline': (client) => client.pipelines.put('shop/open', { name: 'shop/open', document: HELLO }),
  }
  for (const [what, call] of Object.entries(onDefault)) {
    await expect(call(jo), `${what} on the default runtime`).rejects.toMatchObject(DENIED)
    await expect(call(mira), `${what} on the default runtime`).resolves.toBeDefined()
  }
  // A trigger, and a pipeline whose triggers name none, are free to name another one.
  await jo.cronTriggers.create({ ...open, name: 'on-local', runtimeEnvironment: { name: 'local' } })
  await jo.pipelines.put('shop/open', { name: 'shop/open', document: HELLO, runtime: 'local' })
  await admin.teams.removeMember('ml', 'mira')
  await expect(mira.runtimes.get('gpu')).rejects.toMatchObject(DENIED)
  await give(scene, {})
  expect(await namesOf(jo)).toEqual(['gpu', 'local'])
})

test('a page is not told of runtimes that its user may not use', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const jo = await addDeveloper(scene, 'jo')
  await give(scene, { gpu: [] })
  const told: string[] = []
  const stop = new AbortController()
  for await (const { event, data } of jo.server.stream({ query: { topic: ['account'] }, signal: stop.signal })) {
    if (event === 'counts' && told.length === 0) {
      await admin.runtimes.create({ name: 'hidden', type: 'fake', spec: { tags: ['gpu'] } })
      await admin.runtimes.create({ name: 'seen', type: 'fake' })
    }
    const { change } =
      z
        .object({ change: z.looseObject({ item: z.looseObject({ name: z.string().optional() }).optional() }) })
        .safeParse(JSON.parse(data)).data ?? {}
    if (event === 'changed' && change?.item?.name !== undefined) told.push(change.item.name)
    if (told.includes('seen')) break
  }
  stop.abort()
  expect(told).not.toContain('hidden')
})

test('tags are given to teams that exist, and a deleted team leaves its tags to admins', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await expect(give(scene, { gpu: ['ml'] })).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('"ml"'),
  })
  await admin.teams.create({ name: 'ml' })
  const jo = await addDeveloper(scene, 'jo')
  await admin.runtimes.create({ name: 'gpu', type: 'fake', spec: { tags: ['gpu'] } })
  await give(scene, { gpu: ['ml'] })
  await admin.teams.delete('ml')
  // Other settings can still be changed.
  await admin.settings.put({ ...(await admin.settings.get()), concurrency: 3 })
  await expect(jo.runtimes.get('gpu')).rejects.toMatchObject(DENIED)
  // A client that does not know the setting keeps it, and only a given one opens the runtime.
  expect(await admin.settings.put({ concurrency: 4 })).toMatchObject({ concurrency: 4, runtimeAccess: { gpu: ['ml'] } })
  await expect(jo.runtimes.get('gpu')).rejects.toMatchObject(DENIED)
  await admin.settings.put({ runtimeAccess: {} })
  await jo.runtimes.get('gpu')
})
