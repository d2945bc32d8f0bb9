/** The page while its server is away, and after a newer one has taken its place. */
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Build } from '@windlass/protocol'
import { memoryFolder } from '../../support/memory-folder.ts'
import { startServer } from '../../../packages/server/src/index.ts'
import { openPage } from '../support/chromium.ts'
import { failBuild } from '../support/seeds.ts'
import { openServer, openWebScene, type WebScene } from '../support/web-scene.ts'

/** The chunk of the log viewer, which the build screen loads last. */
const VIEWER = '**/assets/viewer-*.js'

let web: WebScene
let build: Build

beforeAll(async () => {
  web = await openWebScene()
  build = await failBuild(web.server)
})

afterAll(() => web[Symbol.asyncDispose]())

test('a server that ends and starts again: a bar says so, reading goes on, and its return needs no reload (W008)', async () => {
  const dataDir = await memoryFolder('windlass-web-')
  await using own = await openServer({ dataDir })
  const ofOwn = await failBuild(own)
  await using opened = await openPage(web.browser, { url: own.server.url, key: own.adminToken })
  const { page } = opened
  await page.goto(`/builds/${ofOwn.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).getByText('expected 19 to be 7').waitFor()
  await own.server.close()
  await page.getByText('The server has not answered since').waitFor()
  const restart = page.getByRole('button', { name: 'Restart from unit_tests' })
  await expect.poll(() => restart.getAttribute('aria-disabled')).toBe('true')
  expect(await page.getByText('expected 19 to be 7').first().isVisible()).toBe(true)
  const again = await startServer({ dataDir, port: Number(new URL(own.server.url).port), minFreeShare: 0 })
  try {
    await page.getByText('The server has not answered since').waitFor({ state: 'detached' })
    await expect.poll(() => restart.getAttribute('aria-disabled')).toBeNull()
  } finally {
    await again.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('a document whose script does not arrive is loaded again, and one that never gets it says so (W008)', async () => {
  await using opened = await web.open({})
  const { page } = opened
  const entry = '**/assets/index-*.js'
  let refused = 0
  await page.route(entry, (route) => (refused++ === 0 ? route.abort('internetdisconnected') : route.continue()))
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).getByText('expected 19 to be 7').waitFor()
  await page.unroute(entry)
  await page.evaluate(() => sessionStorage.clear())
  let documents = 0
  page.on('framenavigated', () => (documents += 1))
  await page.route(entry, (route) => route.abort('internetdisconnected'))
  await page.reload()
  await page.getByText('The page could not be loaded completely.').waitFor()
  expect(documents).toBe(4)
})

test('a document that gets neither its script nor the one that loads it again says so (W008)', async () => {
  await using opened = await web.open({ reducedMotion: 'reduce' })
  const { page } = opened
  await page.route('**/*.js', (route) => route.abort('internetdisconnected'))
  await page.goto('/builds')
  await page.getByText('The page is not loaded yet.').waitFor()
})

test('a part of the page that is on its way when the server ends arrives after its return (W008)', async () => {
  const dataDir = await memoryFolder('windlass-web-')
  await using own = await openServer({ dataDir })
  const ofOwn = await failBuild(own)
  await using opened = await openPage(web.browser, { url: own.server.url, key: own.adminToken })
  const { page } = opened
  const asked = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  await page.route(VIEWER, async (route) => {
    asked.resolve()
    await closed.promise
    await route.continue()
  })
  await page.goto(`/builds/${ofOwn.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).waitFor()
  await asked.promise
  await own.server.close()
  closed.resolve()
  await page.getByText('The server has not answered since').waitFor()
  expect(await page.getByRole('region', { name: 'Why it failed' }).isVisible()).toBe(true)
  const again = await startServer({ dataDir, port: Number(new URL(own.server.url).port), minFreeShare: 0 })
  try {
    await page.getByText('The server has not answered since').waitFor({ state: 'detached' })
    await page.getByRole('searchbox', { name: 'Search the log' }).waitFor()
  } finally {
    await again.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('a page that is opened while the server is away says so, and shows what was asked for after its return (W008)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.route('**/v1/**', (route) => route.abort())
  await page.route('**/healthz', (route) => route.abort())
  await page.goto(`/builds/${build.id}`)
  await page.getByText('The server has not answered since').waitFor()
  await page.unroute('**/v1/**')
  await page.unroute('**/healthz')
  await page.getByRole('region', { name: 'Why it failed' }).waitFor()
  await page.getByText('The server has not answered since').waitFor({ state: 'detached' })
})

test('a gateway that answers for a server which is gone counts as silence (W008)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).waitFor()
  const isOfServer = ({ pathname }: URL): boolean => pathname.startsWith('/v1/') || pathname === '/healthz'
  await page.route(isOfServer, (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }))
  await page.getByRole('link', { name: 'Events' }).click()
  await page.getByText('The server has not answered since').waitFor()
  await page.unroute(isOfServer)
  await page.getByText('The server has not answered since').waitFor({ state: 'detached' })
})

test('a part of an older page loads the page again at the same address, once (W013)', async () => {
  await using opened = await web.open()
  const { page } = opened
  let documents = 0
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents += 1
  })
  await page.route(VIEWER, (route) => route.fulfill({ status: 404, body: '' }))
  // The page asks which scripts the server has now.
  await page.route(`**/builds/${build.id}`, async (route) => {
    if (route.request().isNavigationRequest()) return route.continue()
    const answer = await route.fetch()
    return route.fulfill({ response: answer, body: (await answer.text()).replace('/assets/index-', '/assets/index-newer-') })
  })
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('alert').getByText('Failed to fetch dynamically imported module').waitFor()
  expect(documents).toBe(2)
  expect(new URL(page.url()).pathname).toBe(`/builds/${build.id}`)
  await page.unroute(VIEWER)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('region', { name: 'Why it failed' }).waitFor()
})

test('styles of a part that do not arrive are asked for again', async () => {
  await using opened = await web.open()
  const { page } = opened
  let asked = 0
  await page.route('**/assets/build-screen-*.css', (route) => {
    asked += 1
    return asked === 1 ? route.abort() : route.continue()
  })
  await page.goto(`/builds/${build.id}`)
  const card = page.getByRole('region', { name: 'Why it failed' })
  await card.waitFor()
  expect(asked).toBe(2)
  await expect
    .poll(() => card.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).borderTopWidth))
    .toBe('1px')
})
