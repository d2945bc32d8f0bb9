/** Links for people without an account, public pipelines and badges. */
import { manualClock, systemClock } from '@windlass/kit'
import { LINK_HEADER, SharedBuild } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const DAY_MS = 86_400_000
const PUBLIC = `version: '1.0'\nkind: pipeline\nmetadata: { name: shop/open }\nspec:\n  isPublic: true\n  steps:\n    hello: { image: alpine, commands: [echo hello] }\n`

interface Got {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

async function get({ server }: HttpScene, path: string, link?: string): Promise<Got> {
  const answer = await fetch(server.url + path, link === undefined ? {} : { headers: { [LINK_HEADER]: link } })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

/** Returns the build and the secret in the fragment of a link. */
function partsOf(url: string): { build: string; link: string } {
  const fragment = new URLSearchParams(new URL(url).hash.slice(1))
  return { build: fragment.get('build') ?? '', link: fragment.get('link') ?? '' }
}

/** Runs a build to its end and returns its id. */
async function endedBuild(scene: HttpScene, input?: object): Promise<string> {
  const { build, engine } = await scene.start(input)
  await engine.succeed()
  await takeStops(scene)
  return build.id
}

/** Takes the tasks that stop ended attempts, so that the next task starts one. */
async function takeStops({ agent }: HttpScene): Promise<void> {
  for (const task of await agent.claim()) await agent.report(task, 'done')
}

test('a link shows status and log of one build, until it ends or is deleted (P179, P186)', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const { admin } = scene
  const [id, other] = [await endedBuild(scene), await endedBuild(scene)]
  const shared = await admin.links.shareBuild(id, { expiresInDays: 2 })
  expect(shared).toMatchObject({ kind: 'build', buildId: id, createdBy: 'admin', expiresAt: clock.now() + 2 * DAY_MS })
  const { build, link } = partsOf(shared.url)
  expect([build, shared.url.startsWith(`${scene.server.url}/shared#`)]).toEqual([id, true])
  const shown = await get(scene, `/v1/shared/builds/${id}`, link)
  expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(SharedBuild.parse(JSON.parse(shown.text))).toMatchObject({
    status: 'success',
    steps: [{ name: 'hello' }],
    expiresAt: shared.expiresAt,
  })
  expect(Object.keys(JSON.parse(shown.text) as object)).not.toContain('initiator')
  const log = await get(scene, `/v1/shared/builds/${id}/log`, link)
  expect([log.status, log.text]).toEqual([200, expect.stringContaining('output of hello\n')])
  expect((await get(scene, `/v1/shared/builds/${id}/log?tail=1`, link)).text).toBe('output of hello\n')
  for (const path of [`/v1/shared/builds/${other}`, `/v1/shared/builds/${other}/log`])
    expect((await get(scene, path, link)).status).toBe(401)
  for (const wrong of [`${link}x`, link.slice(0, 24), 'x', scene.adminToken])
    expect((await get(scene, `/v1/shared/builds/${id}`, wrong)).status).toBe(401)
  expect((await get(scene, `/v1/shared/builds/${id}`)).status).toBe(404)
  // The secret is no credential for anything else.
  await expect(scene.nobody.withToken(link).builds.get(id)).rejects.toMatchObject({ code: 'unauthenticated' })
  const second = partsOf((await admin.links.shareBuild(id, {})).url).link
  await admin.links.delete(shared.id)
  expect((await get(scene, `/v1/shared/builds/${id}`, link)).status).toBe(401)
  expect((await get(scene, `/v1/shared/builds/${id}`, second)).status).toBe(200)
  expect((await admin.links.list()).items).toMatchObject([{ buildId: id, buildNumber: 1 }])
  clock.advance(7 * DAY_MS)
  expect((await get(scene, `/v1/shared/builds/${id}`, second)).status).toBe(401)
  expect((await admin.links.list()).items).toEqual([])
})

test('the store and the answers to repeated calls have no secret of a link in plain text', async () => {
  await using scene = await openHttpScene()
  const id = await endedBuild(scene)
  const { link } = partsOf((await scene.admin.links.shareBuild(id, {}, { idempotencyKey: 'share-1' })).url)
  const { query } = scene.server.app.store
  const rows = JSON.stringify([
    await query.selectFrom('shared_link').selectAll().execute(),
    await query.selectFrom('reply').selectAll().execute(),
  ])
  expect(rows).toContain(link.split('.')[0])
  expect(rows).not.toContain(link.split('.')[1])
})

test('only roles with the right share builds, in their projects', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['shop', 'other']) {
    await admin.projects.create({ name })
    await admin.pipelines.create({ name: `${name}/app`, document: HELLO })
  }
  const start = async (pipeline: string): Promise<string> => (await scene.submit({ pipeline, document: undefined })).id
  const [shop, other] = [await start('shop/app'), await start('other/app')]
  await admin.users.create({ name: 'dev', kind: 'service-account', role: 'none', projects: { shop: 'developer' } })
  const dev = scene.nobody.withToken((await admin.keys.create({ name: 'dev-1', role: 'admin', owner: 'dev' })).token)
  const ofOther = await admin.links.shareBuild(other, {})
  const ofShop = await dev.links.shareBuild(shop, {})
  await expect(dev.links.shareBuild(other, {})).rejects.toMatchObject({ code: 'not-found' })
  await expect(dev.links.delete(ofOther.id)).rejects.toMatchObject({ code: 'not-found' })
  expect((await dev.links.list()).items.map(({ id }) => id)).toEqual([ofShop.id])
  expect(new Set((await admin.links.list()).items.map(({ id }) => id))).toEqual(new Set([ofOther.id, ofShop.id]))
  const viewer = scene.nobody.withToken((await admin.keys.create({ name: 'viewer', role: 'viewer' })).token)
  await expect(viewer.links.shareBuild(shop, {})).rejects.toMatchObject({ code: 'forbidden' })
  await dev.links.delete(ofShop.id)
  expect((await dev.links.list()).items).toEqual([])
  await expect(admin.links.shareBuild(shop, { expiresInDays: 91 })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('any person sees the builds of a public pipeline, and none of others (P186)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: 'shop/open', document: PUBLIC })
  await admin.pipelines.create({ name: 'shop/closed', document: HELLO })
  const open = await endedBuild(scene, { pipeline: 'shop/open', document: undefined })
  const closed = await endedBuild(scene, { pipeline: 'shop/closed', document: undefined })
  expect(JSON.parse((await get(scene, `/v1/shared/builds/${open}`)).text)).toMatchObject({
    pipeline: 'shop/open',
    status: 'success',
  })
  expect((await get(scene, `/v1/shared/builds/${open}/log`)).text).toContain('output of hello')
  for (const path of [`/v1/shared/builds/${closed}`, `/v1/shared/builds/${closed}/log`])
    expect((await get(scene, path)).status).toBe(404)
  // Only the stored pipeline decides, not the document of a build.
  const named = PUBLIC.replace('shop/open', 'shop/closed')
  const claimed = await scene.submit({ pipeline: 'shop/closed', document: named })
  expect((await get(scene, `/v1/shared/builds/${claimed.id}`)).status).toBe(404)
  await admin.pipelines.put('shop/open', { name: 'shop/open', document: PUBLIC.replace('isPublic: true', 'isPublic: false') })
  expect((await get(scene, `/v1/shared/builds/${open}`)).status).toBe(404)
})

test('a badge shows the latest build of a pipeline and of a branch (P186)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: 'shop/open', document: PUBLIC })
  const text = async (path: string): Promise<string | undefined> =>
    /<title>([^<]*)<\/title>/.exec((await get(scene, path)).text)?.[1]
  expect(await text('/badges/shop/open.svg')).toBe('build: no builds')
  await endedBuild(scene, { pipeline: 'shop/open', document: undefined, branch: 'main' })
  const failing = await scene.start({ pipeline: 'shop/open', document: undefined, branch: 'topic' })
  expect(await text('/badges/shop/open.svg')).toBe('build: running')
  await failing.engine.finish({ status: 'error', reason: 'exit-code' })
  for (const path of ['/badges/shop/open.svg', '/badges/shop%2Fopen.svg', '/badges/shop/open?branch=topic'])
    expect([path, await text(path)]).toEqual([path, 'build: failing'])
  expect(await text('/badges/shop/open.svg?branch=main')).toBe('build: passing')
  expect(await text('/badges/shop/open.svg?branch=none')).toBe('build: no builds')
  expect(await text('/api/badges/pipeline/default/shop%2Fopen?branch=main&type=cf-2')).toBe('build: passing')
  const { status, headers } = await get(scene, '/badges/shop/open.svg')
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'image/svg+xml; charset=utf-8',
    'no-cache, max-age=0',
  ])
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('the badge of another pipeline needs its address with a token, and looks like that of no pipeline without it', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['closed', 'second']) await admin.pipelines.create({ name: `shop/${name}`, document: HELLO })
  const shared = await admin.links.shareBadge('shop/closed', {})
  expect(shared).not.toHaveProperty('expiresAt')
  const { pathname, search, searchParams } = new URL(shared.url)
  const token = searchParams.get('token') ?? ''
  expect(await get(scene, pathname + search)).toMatchObject({ status: 200, text: expect.stringContaining('no builds') })
  expect(await get(scene, `/api/badges/pipeline/default/shop%2Fclosed?key=${token}`)).toMatchObject({ status: 200 })
  const [hidden, absent] = [await get(scene, '/badges/shop/closed.svg'), await get(scene, '/badges/shop/absent.svg')]
  expect([hidden.status, absent.status, hidden.text === absent.text]).toEqual([404, 404, true])
  expect((await get(scene, `/badges/shop/second.svg?token=${token}`)).status).toBe(404)
  const id = await endedBuild(scene, { pipeline: 'shop/closed', document: undefined })
  // Neither kind of link opens what the other one shows.
  expect((await get(scene, `/v1/shared/builds/${id}`, token)).status).toBe(401)
  const { link } = partsOf((await admin.links.shareBuild(id, {})).url)
  expect((await get(scene, `/badges/shop/closed.svg?token=${link}`)).status).toBe(404)
  await admin.links.delete(shared.id)
  expect((await get(scene, pathname + search)).status).toBe(404)
})
