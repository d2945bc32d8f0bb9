/** How many connections the tabs of one browser hold. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { openWebScene, type WebScene } from '../support/web-scene.ts'
import { passBuild } from '../support/seeds.ts'
import { live } from '../support/waits.ts'

const STREAM = /\/v1\/stream\?/
const HIDDEN_MS = 30_000

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
  await passBuild(web.server)
})
afterAll(() => web[Symbol.asyncDispose]())

/** Counts the streams that a page holds. */
function watchStreams(page: Page): () => number {
  const open = new Set<unknown>()
  page.on('request', (request) => STREAM.test(request.url()) && open.add(request))
  page.on('requestfinished', (request) => open.delete(request))
  page.on('requestfailed', (request) => open.delete(request))
  return () => open.size
}

/** Chromium under a debugger shows all tabs as visible. This one is told when it is. */
const VISIBILITY = `
  let isHidden = false
  Object.defineProperty(document, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') })
  Object.defineProperty(document, 'hidden', { get: () => isHidden })
  window.__show = (isShown) => { isHidden = !isShown; document.dispatchEvent(new Event('visibilitychange')) }
`
const show = (page: Page, isShown: boolean): Promise<void> =>
  page.evaluate((shown) => (window as unknown as { __show(isShown: boolean): void }).__show(shown), isShown)

/** Stops the installed clock of a page, whose time passes otherwise while the test is late. It stands from the first try on, so the second one succeeds. */
async function stopClock(page: Page): Promise<void> {
  const stop = async (): Promise<void> => page.clock.pauseAt((await page.evaluate(() => Date.now())) + 100)
  await stop().catch(stop)
}

test('a visible tab holds one connection on all its screens, a hidden one none after 30 s, and it catches up when it is shown (W009)', async () => {
  // The clock is that of the context, which no other test should get.
  await using opened = await web.open({})
  const { page } = opened
  await page.addInitScript(VISIBILITY)
  await page.clock.install()
  const streams = watchStreams(page)
  await page.goto('/builds')
  await live(page)
  expect(streams()).toBe(1)
  await page.locator('[data-build] a').first().click()
  await page.getByRole('navigation', { name: 'Parts of the build' }).waitFor()
  await expect.poll(streams).toBe(1)
  await page.goBack()
  await page.locator('[data-build]').first().waitFor()
  await expect.poll(streams).toBe(1)
  await stopClock(page)
  await show(page, false)
  await page.clock.fastForward(HIDDEN_MS - 1_000)
  expect(streams()).toBe(1)
  await page.clock.fastForward(1_500)
  await expect.poll(streams).toBe(0)
  await page.clock.resume()
  const missed = await passBuild(web.server)
  await show(page, true)
  await expect.poll(streams).toBe(1)
  await page.locator(`[data-build="${missed.id}"]`).waitFor()
  expect(opened.seen).toEqual([])
})

test('with ten tabs that were shown for a moment, the eleventh loads and is live over HTTP/1.1 (W009)', async () => {
  await using opened = await web.open({})
  const context = opened.page.context()
  await context.addInitScript(VISIBILITY)
  const counts: (() => number)[] = []
  const pages: Page[] = []
  for (let n = 0; n < 10; n += 1) {
    const page = await context.newPage()
    counts.push(watchStreams(page))
    await page.goto('/builds')
    await page.locator('[data-build]').first().waitFor()
    await show(page, false)
    pages.push(page)
  }
  const eleventh = await context.newPage()
  counts.push(watchStreams(eleventh))
  await eleventh.goto('/builds')
  await eleventh.locator('[data-build]').first().waitFor()
  await live(eleventh)
  await expect.poll(() => counts.reduce((sum, count) => sum + count(), 0)).toBe(1)
  const [first] = pages
  if (first === undefined) throw new Error('no tab was opened')
  await show(eleventh, false)
  await show(first, true)
  await live(first)
  const build = await passBuild(web.server)
  await first.locator(`[data-build="${build.id}"]`).waitFor()
})

test('a tab that is opened in the background holds no connection until it is shown (W009)', async () => {
  await using opened = await web.open({})
  const { page } = opened
  await page.addInitScript(VISIBILITY.replace('let isHidden = false', 'let isHidden = true'))
  const streams = watchStreams(page)
  await page.goto('/builds')
  await page.locator('[data-build]').first().waitFor()
  expect(streams()).toBe(0)
  await show(page, true)
  await live(page)
  expect(streams()).toBe(1)
})
