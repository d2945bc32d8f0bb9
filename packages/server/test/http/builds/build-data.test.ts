/** Data that public clients store with builds. */
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const call = async (scene: HttpScene, path: string, options: { token?: string; body?: unknown } = {}): Promise<Response> =>
  fetch(`${scene.server.url}/api/workflow/${path}`, {
    method: options.body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${options.token ?? scene.adminToken}`, 'content-type': 'application/json' },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  })

const store = async (scene: HttpScene, build: string, body: unknown): Promise<string> => {
  const answer = await call(scene, `${build}/data`, { body })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { _id: string })._id
}

test('is encrypted at rest, belongs to one build, and is readable only for those who may store some', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  const { build: other } = await scene.start()
  const item = await store(scene, build.id, { secret: 'the-word-of-the-day' })
  const rows = await scene.server.app.store.query.selectFrom('build_data').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain('the-word-of-the-day')
  const { token } = await scene.admin.keys.create({ name: 'reader', role: 'viewer' })
  const path = `${build.id}/data/${item}`
  const shown = await call(scene, path, { token })
  expect(await shown.json()).toEqual({ _id: item, metadata: { createdAt: expect.any(String) } })
  expect((await call(scene, `${path}?decrypt=true`, { token })).status).toBe(403)
  expect(await (await call(scene, `${path}?decrypt=true`)).json()).toMatchObject({ data: { secret: 'the-word-of-the-day' } })
  expect((await call(scene, `${other.id}/data/${item}`)).status).toBe(404)
  expect((await call(scene, `${build.id}/data`, { token, body: {} })).status).toBe(403)
})

test('has limits of size and number', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  expect((await call(scene, `${build.id}/data`, { body: { text: 'x'.repeat(262_144) } })).status).toBe(413)
  expect((await call(scene, `${build.id}/data`, { body: ['no', 'object'] })).status).toBe(400)
  for (let count = 0; count < 100; count += 1) await store(scene, build.id, { count })
  const refused = await call(scene, `${build.id}/data`, { body: {} })
  expect(refused.status).toBe(409)
  expect(await refused.json()).toMatchObject({ detail: 'The build has 100 data items, which is the maximum.' })
  const listed = (await (await call(scene, `${build.id}/data`)).json()) as { docs: unknown[] }
  expect(listed.docs).toHaveLength(100)
})
