/** The stories of the people who use the page, with the keyboard alone, and what screen readers are told. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Locator, Page } from 'playwright-core'
import { openPage } from '../support/chromium.ts'
import { CONNECTED } from '../support/fleet-seeds.ts'
import { failBuild, passBuild, runBuild } from '../support/seeds.ts'
import { live, pressBoth } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene(CONNECTED)
})
afterAll(() => web[Symbol.asyncDispose]())

/** Most elements before the wanted one. */
const MOST_TABS = 120

interface Focus {
  readonly isBody: boolean
  readonly isSeen: boolean
  readonly html: string
}

/** Returns what has the focus, and whether a person sees it: with a mark, and inside the window. */
function focusOf(page: Page): Promise<Focus> {
  return page.evaluate(() => {
    const element = document.activeElement ?? document.body
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element)
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
    const isInside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && width > 0 && height > 0
    const hasMark = (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
    // A field shows its caret, and the content takes the focus of what is gone.
    const isExempt = element.matches('input, textarea, main, [role="dialog"]')
    return { isBody: element === document.body, isSeen: isInside && (hasMark || isExempt), html: element.outerHTML.slice(0, 200) }
  })
}

/** Presses Tab until the element has the focus. Fails if the focus cannot be seen on the way. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor()
  for (let n = 0; n < MOST_TABS; n += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
    const { isSeen, isBody, html } = await focusOf(page)
    if (!isBody) expect({ isSeen, html }).toEqual({ isSeen: true, html })
  }
  throw new Error('the element never has the focus')
}

/** Waits until something of the page has the focus. */
async function expectFocus(page: Page): Promise<void> {
  await expect.poll(async () => (await focusOf(page)).isBody).toBe(false)
}

test('a developer finds the first error of a failed build, searches its log and restarts it, with the keyboard alone (W089)', async () => {
  await passBuild(web.server, { pipeline: 'demo/app', document: undefined })
  const build = await failBuild(web.server, { pipeline: 'demo/app', document: undefined })
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds?status=error')
  await page.locator('[data-build]').first().waitFor()
  await page.keyboard.press('j')
  await expectFocus(page)
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/builds/${build.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).getByText('expected 19 to be 7').waitFor()
  await expectFocus(page)
  await page.keyboard.press('e')
  await page.waitForURL('**/steps/unit_tests')
  const search = page.getByRole('searchbox', { name: 'Search the log' })
  await search.waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('AssertionError')
  await page.keyboard.press('Enter')
  await page.getByText('1 of 1').first().waitFor()
  await page.keyboard.press('Escape')
  await tabTo(page, page.getByRole('button', { name: 'Actions' }))
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: /^Restart from the failed steps/ }).waitFor()
  await page.keyboard.press('Escape')
  const actions = page.getByRole('button', { name: 'Actions' })
  await expect.poll(() => actions.evaluate((button) => button === document.activeElement)).toBe(true)
  await page.keyboard.press('s')
  await page.waitForURL((url) => url.pathname.startsWith('/builds/') && !url.pathname.includes(build.id))
  await expectFocus(page)
  await web.server.admin.builds.terminate(page.url().split('/').at(-1) ?? '')
  expect(opened.seen).toEqual([])
})

test('an engineer sees what builds wait for and raises the capacity, with the keyboard alone (W089)', async () => {
  const { admin } = web.server
  const runtime = { name: 'local', type: 'fake', agent: 'agent', isDefault: true } as const
  await admin.runtimes.put('local', { ...runtime, spec: { capacity: 1 } })
  await runBuild(web.server)
  await web.server.submit()
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds')
  await live(page)
  await tabTo(page, page.getByRole('button', { name: 'Raise capacity' }))
  await page.keyboard.press('Enter')
  const field = page.getByLabel('Builds that run at the same time')
  await field.waitFor()
  await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('30')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Waiting builds' }).waitFor({ state: 'detached' })
  // The button that opened the dialog is gone, so the content has the focus, and the next Tab goes on in it.
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main')
  await page.keyboard.press('Tab')
  await expectFocus(page)
  expect(opened.seen).toEqual([])
})

test('a lead goes from the pipelines to the last builds of one, with the keyboard alone (W089)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds')
  await page.getByRole('heading', { level: 1, name: 'Builds' }).waitFor()
  await pressBoth(page, 'g', 'p')
  await page.getByRole('heading', { level: 1, name: 'Pipelines' }).waitFor()
  await expectFocus(page)
  await tabTo(page, page.getByRole('link', { name: 'demo/app' }))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'demo/app' }).waitFor()
  await expectFocus(page)
  await tabTo(
    page,
    page
      .locator('main')
      .getByRole('link', { name: /^#\d+$/ })
      .first(),
  )
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Parts of the build' }).waitFor()
  await expectFocus(page)
  expect(opened.seen).toEqual([])
})

test('a newcomer signs in with the printed link and runs a pipeline with another value, with the keyboard alone (W089)', async () => {
  const build = await passBuild(web.server)
  const { code } = await web.server.admin.sessions.createCode()
  await using opened = await openPage(web.browser, { url: web.server.server.url })
  const { page } = opened
  await page.goto(`/signin?next=${encodeURIComponent(`/builds/${build.id}`)}#code=${code}`)
  await page.getByRole('button', { name: 'Sign in with this link' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/builds/${build.id}`)
  await page.getByRole('navigation', { name: 'Parts of the build' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').pressSequentially('demo/app')
  await page.getByRole('option', { name: /Names.*demo\/app/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'demo/app' }).waitFor()
  await expectFocus(page)
  await tabTo(page, page.getByRole('navigation', { name: 'Parts of the pipeline' }).getByRole('link', { name: 'Run' }))
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByLabel('Branch'))
  await page.keyboard.type('next')
  await tabTo(page, page.getByRole('button', { name: 'Run the pipeline' }))
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname.startsWith('/builds/') && !url.pathname.includes(build.id))
  await expectFocus(page)
  expect(opened.seen).toEqual([])
})

test('a change of status is told to screen readers once, and the log, the steps and the list have positions (W097)', async () => {
  const { build, engine } = await runBuild(web.server, { pipeline: 'demo/app', document: undefined })
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}/steps/install`)
  await live(page)
  await page
    .getByRole('status')
    .filter({ hasText: /^Running$/ })
    .waitFor({ state: 'attached' })
  await page.evaluate(() => {
    const said: string[] = []
    Object.assign(window, { __said: said })
    const regions = document.querySelectorAll('[role="status"], [role="alert"], [aria-live]')
    const observer = new MutationObserver((changes) => {
      for (const { target } of changes) {
        const region = (target instanceof Element ? target : target.parentElement)?.closest(
          '[role="status"], [role="alert"], [aria-live]',
        )
        if (region !== null && region !== undefined) said.push(region.textContent ?? '')
      }
    })
    for (const region of regions) observer.observe(region, { childList: true, characterData: true, subtree: true })
  })
  await engine.log('step/install', 'added 412 packages\n')
  await engine.event({ type: 'step.usage', step: 'install', usage: { memoryPeakBytes: 1, memoryLimitBytes: 2, cpuMs: 1 } })
  await engine.event({ type: 'step.finished', step: 'install', try: 1, status: 'success', exitCode: 0, members: {}, exports: [] })
  await engine.finish({ status: 'success' })
  await page
    .getByRole('status')
    .filter({ hasText: /^Succeeded$/ })
    .waitFor({ state: 'attached' })
  await page.waitForTimeout(500)
  const said = await page.evaluate(() => (window as unknown as { __said: string[] }).__said)
  expect(said.filter((text) => text !== '')).toEqual(['Succeeded'])
  const log = page.getByRole('table', { name: /^Lines of/ })
  await expect.poll(() => log.getAttribute('aria-rowcount')).toMatch(/^\d+$/)
  const indexes = await log.getByRole('row').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-rowindex')))
  expect(indexes.slice(0, 2)).toEqual(['1', '2'])
  for (const [path, label] of [
    [`/builds/${build.id}`, 'Steps'],
    ['/builds', 'Builds'],
  ] as const) {
    await page.goto(path)
    const items = page.getByRole('list', { name: label }).getByRole('listitem')
    await items.first().waitFor()
    const count = await items.count()
    const places = await items.evaluateAll((rows) =>
      rows.map((row) => `${row.getAttribute('aria-posinset')}/${row.getAttribute('aria-setsize')}`),
    )
    expect(places).toEqual(Array.from({ length: count }, (_, n) => `${n + 1}/${count}`))
  }
})
