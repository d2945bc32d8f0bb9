/** The keys that the help lists, the palette, the rail and the looks. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { pathOf, ROUTES } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import type { WatchedPage } from '../support/chromium.ts'
import { copyRows } from '../support/copy-rows.ts'
import { failBuild, passBuild } from '../support/seeds.ts'
import { drawn, pressBoth, show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let build: Build

beforeAll(async () => {
  web = await openWebScene()
  for (let n = 0; n < 3; n += 1) await passBuild(web.server)
  build = await failBuild(web.server, { pipeline: 'demo/app', document: undefined })
})
afterAll(() => web[Symbol.asyncDispose]())

const heading = (page: Page, name: string | RegExp): Promise<void> => page.getByRole('heading', { level: 1, name }).waitFor()
const at = (page: Page, path: string): Promise<void> => page.waitForURL((url) => url.pathname + url.hash === path)
const rowOfCursor = (page: Page): Promise<string | null> =>
  page.evaluate(() => document.activeElement?.closest('[data-build]')?.getAttribute('data-build') ?? null)

/** What each key must do on the list of builds, where the cursor is on the first row. */
const ON_LIST: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'Ctrl+k': (page) => page.getByRole('combobox', { name: 'Search or go to' }).waitFor(),
  '.': async (page) => expect(await page.getByRole('combobox').inputValue()).toBe('> '),
  '?': (page) => page.getByRole('dialog', { name: 'Keys of this page' }).waitFor(),
  'g b': (page) => heading(page, 'Builds'),
  'g p': (page) => heading(page, 'Pipelines'),
  'g a': (page) => heading(page, 'Approvals'),
  '[': (page) => page.getByRole('button', { name: 'Open the rail' }).waitFor(),
  f: (page) => page.getByRole('menuitem', { name: 'Pipeline', exact: true }).waitFor(),
  '/': async (page) =>
    await expect.poll(() => page.getByLabel('Search builds').evaluate((field) => field === document.activeElement)).toBe(true),
  j: async (page) => {
    const second = await page.locator('[data-build]').nth(1).getAttribute('data-build')
    await expect.poll(() => rowOfCursor(page)).toBe(second)
  },
  k: async (page) => {
    const first = await page.locator('[data-build]').first().getAttribute('data-build')
    await page.keyboard.press('j')
    await expect.poll(() => rowOfCursor(page)).not.toBe(first)
    await page.keyboard.press('k')
    await expect.poll(() => rowOfCursor(page)).toBe(first)
  },
  Enter: (page) => at(page, `/builds/${build.id}`),
  'Ctrl+Enter': async (page) => {
    await expect.poll(() => page.context().pages().length).toBe(2)
    await at(page, '/builds')
    for (const other of page.context().pages()) if (other !== page) await other.close()
  },
  x: (page) => page.getByText('1 selected').waitFor(),
  'Shift+x': (page) => page.getByText('1 selected').waitFor(),
  r: async (page) => expect(await page.locator('[data-build]').count()).toBeGreaterThan(3),
}

async function press(page: Page, keys: string): Promise<void> {
  const [first = '', second] = keys.split(' ').map((key) => key.replace('Ctrl', 'Control').replace(/^Shift\+x$/, 'Shift+X'))
  await (second === undefined ? page.keyboard.press(first) : pressBoth(page, first, second))
}

/** Shows the list anew, with the cursor on its first row. Loads the page if it is not loaded yet. */
async function openList(page: Page): Promise<void> {
  if (await page.evaluate(() => document.querySelector('main') === null)) await page.goto('/builds')
  else for (const path of ['/nothing-here', '/builds']) await show(page, path)
  await page.locator('[data-build]').first().waitFor()
  await page.keyboard.press('j')
  await expect.poll(() => rowOfCursor(page)).toBe(build.id)
}

/** Returns the keys that the help lists, by group. */
async function listedKeys(page: Page): Promise<string[]> {
  await page.getByRole('button', { name: 'Keys of this page' }).click()
  const dialog = page.getByRole('dialog', { name: 'Keys of this page' })
  await dialog.waitFor()
  const keys = await dialog
    .locator('dt')
    .evaluateAll((terms) => terms.map((term) => [...term.children].map((key) => key.textContent).join(' ')))
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  return keys
}

describe('the list', () => {
  let opened: WatchedPage
  beforeAll(async () => {
    opened = await web.open()
  })
  afterEach(() => opened.page.keyboard.press('Escape'))
  afterAll(() => opened[Symbol.asyncDispose]())

  test('the help of the list names exactly the keys that the next tests press (W012)', async () => {
    await openList(opened.page)
    // A screen that is added gets its place in the rail and with it a key.
    const listed = (await listedKeys(opened.page)).filter((keys) => !/^g [^bpa]$/.test(keys))
    expect(listed.toSorted()).toEqual(Object.keys(ON_LIST).toSorted())
  })

  test.each(Object.entries(ON_LIST))('the key %s does what the help of the list says (W012)', async (keys, shows) => {
    const { page } = opened
    await openList(page)
    await press(page, keys)
    await shows(page)
    expect(opened.seen).toEqual([])
  })
})

test('the other keys to places lead there (W012)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  for (const keys of (await listedKeys(page)).filter((one) => one.startsWith('g '))) {
    await show(page, '/nothing-here')
    await heading(page, 'No such page')
    await press(page, keys)
    await page.waitForURL((url) => url.pathname !== '/nothing-here')
    await page.locator('nav [aria-current="page"]').first().waitFor()
  }
})

/** What keys must do on a build that failed. */
const ON_BUILD: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  '1': (page) => page.locator('nav [aria-current="page"]', { hasText: 'Steps' }).waitFor(),
  '2': (page) => page.waitForURL(`**/builds/${build.id}/*`),
  e: (page) => page.waitForURL('**/steps/unit_tests'),
  j: (page) => page.waitForURL('**/steps/*'),
  k: (page) => page.waitForURL('**/steps/*'),
  t: (page) => page.getByText('The build has ended.').first().waitFor(),
  y: (page) => page.getByText(/^Copied the address\.$|^The browser does not allow copying here\.$/).waitFor(),
  '/': (page) =>
    expect.poll(() => page.getByLabel('Search the log').evaluate((field) => field === document.activeElement)).toBe(true),
}

test('the keys of a build that the help lists do what it says (W012)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/nothing-here')
  const openBuild = async (): Promise<void> => {
    for (const path of ['/nothing-here', `/builds/${build.id}`]) await show(page, path)
    await page.getByRole('table', { name: /^Lines of/ }).waitFor()
  }
  await openBuild()
  const listed = await listedKeys(page)
  for (const [keys, shows] of Object.entries(ON_BUILD)) {
    expect(listed).toContain(keys)
    await openBuild()
    await press(page, keys)
    await shows(page)
    await page.keyboard.press('Escape')
  }
  expect(opened.seen).toEqual([])
})

test('Shift+x selects from the last selected build to the cursor (W012)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  for (const key of ['x', 'j', 'j', 'Shift+X']) await page.keyboard.press(key)
  await page.getByText('3 selected').waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('3 selected').waitFor({ state: 'detached' })
})

test('the switch turns single keys off, also after a reload, and leaves keys with Ctrl (W012)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  await page.keyboard.press('?')
  await page.getByLabel('Single keys work outside of fields').uncheck()
  await page.keyboard.press('Escape')
  await page.reload()
  await page.locator('[data-build]').first().waitFor()
  for (const key of ['j', '[', '?', 'x', '.']) await page.keyboard.press(key)
  expect(await rowOfCursor(page)).toBeNull()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.getByRole('button', { name: 'Fold the rail' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
})

test('single keys do nothing in a field (W012)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  await page.getByLabel('Search builds').fill('')
  await page.getByLabel('Search builds').pressSequentially('jx.[')
  await expect.poll(() => page.getByLabel('Search builds').inputValue()).toBe('jx.[')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('the rail folds to 56 px and stays folded after a reload', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  await page.keyboard.press('[')
  const rail = page.getByRole('navigation', { name: 'Places' })
  await expect.poll(async () => (await rail.boundingBox())?.width).toBe(56)
  await page.reload()
  await expect.poll(async () => (await rail.boundingBox())?.width).toBe(56)
  await rail.getByRole('link', { name: 'Pipelines' }).click()
  await heading(page, 'Pipelines')
})

test('compact rows are lower, at once and after a reload', async () => {
  await using opened = await web.open()
  const { page } = opened
  await openList(page)
  const height = async (): Promise<number | undefined> => (await page.locator('[data-build]').first().boundingBox())?.height
  expect(await height()).toBe(56)
  await page.getByRole('button', { name: /^Theme:/ }).click()
  await page.getByRole('menuitem', { name: 'Compact rows' }).click()
  await expect.poll(height).toBe(44)
  await page.reload()
  await page.locator('[data-build]').first().waitFor()
  expect(await height()).toBe(44)
})

test('the palette runs the actions of the page and lists the forbidden ones with the reason (W011)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('region', { name: 'Why it failed' }).waitFor()
  await page.keyboard.press('.')
  const terminate = page.getByRole('option', { name: /Terminate the build/ })
  await terminate.waitFor()
  await expect.poll(() => terminate.getAttribute('aria-disabled')).toBe('true')
  await expect.poll(() => terminate.textContent()).toContain('The build has ended.')
  await page.getByRole('combobox').pressSequentially('from the failed')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname.startsWith('/builds/') && !url.pathname.includes(build.id))
  const restarted = await web.server.admin.builds.get(page.url().split('/').at(-1) ?? '')
  expect(restarted.restartOf).toBe(build.id)
  await web.server.admin.builds.terminate(restarted.id)
})

test('the palette finds one of 2,000 pipelines by a fuzzy part, and offers it first the next time (W011)', async () => {
  const { id } = await web.server.admin.pipelines.get('demo/app')
  const changes = Array.from({ length: 2_000 }, (_, n) => ({
    id: (n + 1).toString(16).padStart(24, '0'),
    name: `team-${n % 40}/service-${n}`,
  }))
  await copyRows(web.server, 'pipeline', id, changes)
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds')
  await heading(page, 'Builds')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').pressSequentially('service-1777')
  await page.getByRole('option', { name: /team-17\/service-1777/ }).waitFor()
  await page.keyboard.press('Enter')
  await at(page, '/pipelines/team-17/service-1777')
  await page.keyboard.press('Control+k')
  await expect.poll(() => page.getByRole('option').first().textContent()).toContain('team-17/service-1777')
})

test('@ lists people, : goes to a line of the log, ? lists keys, and more than 12 rows are never shown', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}/steps/unit_tests`)
  await page.getByRole('table', { name: /^Lines of/ }).waitFor()
  await page.keyboard.press('Control+k')
  // The log has choices of its own.
  const palette = page.getByRole('dialog', { name: 'Search or go to' })
  const field = palette.getByRole('combobox')
  await field.fill('?')
  await expect.poll(() => palette.getByRole('option').count()).toBe(12)
  await field.fill('? show the first line')
  await page.getByRole('option', { name: /Show the first line/ }).waitFor()
  await field.fill(':120')
  await page.getByRole('option', { name: 'Line 120 of the log' }).waitFor()
  await page.keyboard.press('Enter')
  await at(page, `/builds/${build.id}/steps/unit_tests#L120`)
  await page.getByRole('rowheader', { name: '120', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('@')
  await palette.getByRole('option').first().waitFor()
  const who = build.initiator
  await field.fill(`@${who}`)
  await page.getByRole('option', { name: new RegExp(who) }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('by') === who)
  expect(opened.seen).toEqual([])
})

test('the first steps have the address of the server, are ticked when they are done, and stay hidden after Hide', async () => {
  await using own = await openWebScene()
  await passBuild(own.server)
  await own.server.admin.pipelines.delete('demo/app')
  await using opened = await own.open()
  const { page } = opened
  await page.goto('/builds')
  const steps = page.getByRole('region', { name: 'First steps' })
  await steps.getByText(`windlass login --url ${own.server.server.url}`).waitFor()
  await expect.poll(() => steps.getByRole('img', { name: 'Done:' }).count()).toBe(2)
  await steps.getByText('windlass apply -f pipeline.yml').waitFor()
  await steps.getByRole('button', { name: 'Hide' }).click()
  await steps.waitFor({ state: 'detached' })
  await page.reload()
  await page.locator('[data-build]').first().waitFor()
  // Steps that are not hidden show once the page knows the pipelines and the runtimes, which it asked for before these calls.
  for (const path of [pathOf(ROUTES.pipelines.list), pathOf(ROUTES.runtimes.list)])
    await page.evaluate(async (url) => void (await (await fetch(url)).text()), path)
  await drawn(page)
  expect(await steps.count()).toBe(0)
})
