/** The list of builds: rows that stay where they are, filters, several builds at once, many builds. */
import { ROUTES } from '@windlass/client'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { copyRows } from '../support/copy-rows.ts'
import { DOCUMENT, failBuild, passBuild, runBuild } from '../support/seeds.ts'
import { live, show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let scene: HttpScene

beforeAll(async () => {
  web = await openWebScene()
  scene = web.server
})
afterAll(() => web[Symbol.asyncDispose]())

/** Copies an ended build into the store, newest last. `more` changes each copy. */
async function copyBuilds(own: HttpScene, id: string, count: number, more: (n: number) => object = () => ({})): Promise<void> {
  const { query } = own.server.app.store
  const { last } = await query
    .selectFrom('build')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow()
  const first = Number(last) + 1
  const changes = Array.from({ length: count }, (_, n) => ({
    id: randomBytes(12).toString('hex'),
    number: first + n,
    ...more(n),
  }))
  await copyRows(own, 'build', id, changes)
  await query
    .updateTable('account')
    .set({ last_build_number: first + count - 1 })
    .execute()
}

/** Returns the place of the row of a build in the window. */
async function topOf(page: Page, id: string): Promise<number> {
  const box = await page.locator(`[data-build="${id}"]`).boundingBox()
  if (box === null) throw new Error('the row is not drawn')
  return box.y
}

/** Resolves when nothing that is above the list will arrive any more. */
async function listAtRest(page: Page): Promise<void> {
  await live(page)
  await page.locator('[data-build]').first().waitFor()
  await page
    .getByRole('group', { name: 'State' })
    .getByRole('button', { name: /^Failed ?\d/ })
    .waitFor()
}

const pill = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('button', { name: /^Show \d+ new builds?$/ })

test.each(['hovered', 'focused', 'scrolled'] as const)(
  'while the list is %s, 20 new builds that wait move no row, a button counts them, and r shows them (W022)',
  async (how) => {
    await using own = await openWebScene()
    const { server } = own
    for (let n = 0; n < 4; n += 1) await passBuild(server)
    const { items } = await server.admin.builds.list()
    await copyBuilds(server, items[0]?.id ?? '', 40)
    await using opened = await own.open()
    const { page } = opened
    await page.goto('/builds')
    await listAtRest(page)
    const ids = await page.locator('[data-build]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-build') ?? ''))
    const watched = ids[how === 'scrolled' ? 20 : 3] ?? ''
    if (how === 'scrolled') {
      await page.locator(`[data-build="${watched}"]`).scrollIntoViewIfNeeded()
      await page.mouse.move(2, 2)
    }
    const before = await topOf(page, watched)
    if (how === 'hovered') await page.locator(`[data-build="${watched}"]`).hover()
    if (how === 'focused') await page.locator(`[data-build="${watched}"]`).getByRole('link').first().focus()
    await server.admin.settings.put({ pauseBuilds: true })
    const submitted = []
    for (let n = 0; n < 20; n += 1) submitted.push(await server.submit())
    await page.getByRole('button', { name: 'Show 20 new builds' }).waitFor()
    await expect.poll(() => page.getByRole('group', { name: 'State' }).textContent()).toContain('Waiting20')
    expect(await topOf(page, watched)).toBe(before)
    expect(await page.locator(`[data-build="${submitted[19]?.id}"]`).count()).toBe(0)
    await page.keyboard.press('r')
    await page.locator(`[data-build="${submitted[19]?.id}"]`).waitFor()
    await pill(page).waitFor({ state: 'detached' })
    expect(opened.seen).toEqual([])
  },
)

test('a press on the link of a row that the edge of the window cuts moves no row, and its release opens the build (W022)', async () => {
  await using own = await openWebScene()
  await passBuild(own.server)
  const { items } = await own.server.admin.builds.list()
  await copyBuilds(own.server, items[0]?.id ?? '', 40)
  await using opened = await own.open()
  const { page } = opened
  await page.goto('/builds')
  await listAtRest(page)
  const row = page.locator('[data-build]').nth(8)
  const link = await row.getByRole('link').first().boundingBox()
  const rowBox = await row.boundingBox()
  if (link === null || rowBox === null) throw new Error('the row is not drawn')
  await page.setViewportSize({ width: 1280, height: Math.ceil(link.y + link.height) })
  expect(rowBox.y + rowBox.height).toBeGreaterThan(link.y + link.height)
  await page.mouse.move(link.x + link.width / 2, link.y + link.height / 2)
  await page.mouse.down()
  await expect.poll(() => row.locator(':focus').count()).toBe(1)
  expect((await row.boundingBox())?.y).toBe(rowBox.y)
  const href = await row.getByRole('link').first().getAttribute('href')
  await page.mouse.up()
  await page.waitForURL(`**${href}`)
})

test('at the top and left alone, the list takes in new builds by itself (W022)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await passBuild(scene)
  await page.goto('/builds')
  await listAtRest(page)
  const build = await passBuild(scene)
  await page.locator(`[data-build="${build.id}"]`).waitFor()
  // A build without a pipeline has the name of its document.
  const ofFile = await scene.submit({ document: DOCUMENT, file: 'services/release.yml' })
  await page.locator(`[data-build="${ofFile.id}"]`).getByText('release.yml', { exact: true }).waitFor()
})

test('a build that arrives during the first reading of the list is in it (W022)', async () => {
  await using own = await openWebScene()
  const { server } = own
  const first = await passBuild(server)
  await server.admin.settings.put({ pauseBuilds: true })
  await using opened = await own.open()
  const { page } = opened
  const [read, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  await page.route(
    ({ pathname }) => pathname === ROUTES.builds.list.path,
    async (route) => {
      if (!isFirst) return route.continue()
      isFirst = false
      const response = await route.fetch()
      read.resolve()
      await held.promise
      return route.fulfill({ response })
    },
  )
  await page.goto('/builds')
  await live(page)
  await read.promise
  const build = await server.submit()
  await expect.poll(() => page.getByRole('group', { name: 'State' }).textContent()).toContain('Waiting1')
  // The counts are read again a second after the last change. The list has asked for its new builds by then.
  await page.waitForResponse((answer) => new URL(answer.url()).pathname === ROUTES.builds.counts.path)
  held.resolve()
  await page.locator(`[data-build="${first.id}"]`).waitFor()
  await page.locator(`[data-build="${build.id}"]`).waitFor()
})

test('a bulk action on 200 mixed builds tells each that could not be done and why, with the keyboard alone (W020)', async () => {
  await using own = await openWebScene()
  const { server } = own
  const failed = await failBuild(server)
  const passed = await passBuild(server)
  await copyBuilds(server, failed.id, 60)
  await copyBuilds(server, passed.id, 120)
  await server.admin.settings.put({ pauseBuilds: true })
  for (let n = 0; n < 18; n += 1) await server.submit()
  await using opened = await own.open()
  const { page } = opened
  await page.goto('/builds')
  const rows = page.locator('[data-build]')
  await rows.first().waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  // The box of waiting builds above is a list, too.
  const first = page.getByRole('list', { name: 'Builds', exact: true }).getByRole('listitem').first()
  const count = (): Promise<number> => first.getAttribute('aria-setsize').then(Number)
  for (let at = 1; at < 200; at += 1) {
    if (at % 50 === 0) {
      await page.keyboard.press('j')
      await expect.poll(count).toBeGreaterThan(at)
    }
    await page.keyboard.press('j')
  }
  await page.keyboard.press('Shift+X')
  await page.getByText('200 selected').waitFor()
  await page.keyboard.press('.')
  await page.getByRole('option', { name: /Terminate: 200 selected builds/ }).waitFor()
  await page.getByRole('combobox').pressSequentially('terminate')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Terminate 200 builds?' }).waitFor()
  await page.keyboard.press('Enter')
  const refused = page.getByRole('list', { name: 'Builds that could not be changed' })
  await refused.waitFor()
  const lines = await refused.getByRole('listitem').allTextContents()
  expect(lines).toHaveLength(182)
  for (const line of lines) expect(line).toMatch(/^#\d+: .*end/)
  expect((await server.admin.builds.list({ query: { status: 'pending' } })).items).toEqual([])
  await page.keyboard.press('Escape')
  await page.getByText('200 selected').waitFor({ state: 'detached' })
  expect(opened.seen).toEqual([])
})

test('filters combine, show what the API gives, count alike, and come back from their address (W018)', async () => {
  await using own = await openWebScene()
  const { server } = own
  await server.admin.pipelines.put('demo/other', { name: 'demo/other', document: DOCUMENT })
  const git = { commitMessage: 'Fix the tax', commitAuthor: 'jo' }
  for (const branch of ['main', 'next'])
    for (const pipeline of ['demo/app', 'demo/other']) {
      await failBuild(server, { pipeline, document: undefined, branch, annotations: { team: branch } })
      await passBuild(server, { pipeline, document: undefined, branch, git })
    }
  await runBuild(server, { pipeline: 'demo/app', document: undefined, branch: 'main' })
  await using opened = await own.open()
  const { page } = opened
  await page.goto('/nothing-here')
  const from = Date.now() - 3_600_000
  const queries: readonly (readonly [string, object])[] = [
    ['status=error', { status: 'error' }],
    ['status=error&status=running', { status: 'error,running' }],
    ['branch=main&pipeline=demo/app', { branch: ['main'], pipeline: ['demo/app'] }],
    ['branch=main&branch=next&status=success', { branch: ['main', 'next'], status: 'success' }],
    ['project=demo&reason=step-failed', { project: ['demo'], reason: ['step-failed'] }],
    ['q=tax&status=success', { q: 'tax', status: 'success' }],
    ['annotation=team%3Dnext', { annotation: ['team=next'] }],
    [
      `runtime=local&from=${from}&by=${encodeURIComponent((await server.admin.builds.list()).items[0]?.initiator ?? '')}`,
      { from },
    ],
    [`to=${from}`, { to: from }],
  ]
  for (const [search, query] of queries) {
    const expected = (await server.admin.builds.list({ query: query as Record<string, never> })).items.map(
      ({ number }) => `#${number}`,
    )
    await show(page, `/builds?${search}`)
    if (expected.length === 0) await page.getByText('No builds match.').waitFor()
    const numbers = (): Promise<string[]> => page.locator('[data-build] a[class*="number"]').allTextContents()
    await expect.poll(numbers, { message: search }).toEqual(expected)
  }
  await show(page, '/builds?branch=main')
  const states = page.getByRole('group', { name: 'State' })
  const counted = await server.admin.builds.counts({ query: { by: 'status', branch: ['main'] } })
  const countOf = (...names: string[]): number =>
    counted.items.filter(({ value }) => names.includes(value)).reduce((sum, { count }) => sum + count, 0)
  await states.getByRole('button', { name: new RegExp(`^Failed ?${countOf('error')}$`) }).waitFor()
  await states.getByRole('button', { name: new RegExp(`^Running ?${countOf('running')}$`) }).waitFor()
  await states.getByRole('button', { name: /^Failed/ }).click()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('menuitem', { name: 'demo/other' }).click()
  await page.waitForURL('**/builds?status=error&pipeline=demo%2Fother&branch=main')
  await expect.poll(() => page.locator('[data-build]').count()).toBe(1)
  await using other = await own.open()
  await other.page.goto(page.url())
  await expect.poll(() => other.page.locator('[data-build]').count()).toBe(1)
  await other.page.getByRole('button', { name: 'Drop the filter pipeline: demo/other' }).click()
  await expect.poll(() => other.page.locator('[data-build]').count()).toBe(2)
  expect(new URL(other.page.url()).search).toBe('?status=error&branch=main')
})

test('an empty list names the filter without which there are builds, and drops it (W018)', async () => {
  await using opened = await web.open()
  const { page } = opened
  await failBuild(scene, { branch: 'lonely' })
  await page.goto('/builds?branch=lonely&status=success')
  await page.getByText('No builds match. Without status: success there is 1.').waitFor()
  await page.getByRole('button', { name: 'Drop it' }).click()
  await page.waitForURL('**/builds?branch=lonely')
  await page.locator('[data-build]').first().waitFor()
})

test('a running build shows its step, its progress and the median of the last 20 successful builds (W023)', async () => {
  await using own = await openWebScene()
  const { server } = own
  const passed = await passBuild(server, { pipeline: 'demo/app', document: undefined })
  // Minutes of 30 successful builds, of which only the last 20 count, and of a failed one, which does not count.
  const minutes = Array.from({ length: 30 }, (_, n) => (n < 10 ? 90 : 3 + ((n * 7) % 20)))
  await copyBuilds(server, passed.id, 30, (n) => ({
    started_at: 1_000,
    finished_at: 1_000 + (minutes[n] ?? 0) * 60_000,
    paused_ms: 0,
  }))
  await copyBuilds(server, passed.id, 3, () => ({ status: 'error', started_at: 1_000, finished_at: 900_000_000 }))
  const { build } = await runBuild(server, { pipeline: 'demo/app', document: undefined })
  const median = minutes.slice(-20).toSorted((a, b) => a - b)[9] ?? 0
  await using opened = await own.open()
  await opened.page.goto('/builds')
  const row = opened.page.locator(`[data-build="${build.id}"]`)
  await expect.poll(() => row.textContent()).toContain('Runs install, 1 of 7 steps done')
  await expect.poll(() => row.textContent()).toMatch(new RegExp(`(?:\\d:\\d\\d|\\d\\.\\d s) of ~${median}:00`))
})

test('at 360 px the number, the state and the whole reason of each build can be read (W024)', async () => {
  const message = `${'The registry registry.example.com refused the login of the context my-registry for the image. '.repeat(4)}The end.`
  const { build, engine } = await runBuild(scene, { branch: 'a-branch-with-a-long-name/and-a-part' })
  await engine.finish({ status: 'error', reason: 'step-failed', message })
  await using opened = await web.open({ viewport: { width: 360, height: 740 } })
  const { page } = opened
  await page.goto('/builds')
  const row = page.locator(`[data-build="${build.id}"]`)
  await row.waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  for (const part of [row.getByText(`#${build.number}`), row.getByText('Failed', { exact: true }), row.locator('p')]) {
    const { cut, box } = await part.first().evaluate((element) => ({
      cut: element.scrollHeight > element.clientHeight + 1 && getComputedStyle(element).overflow !== 'visible',
      box: element.getBoundingClientRect().toJSON() as { left: number; right: number; bottom: number },
    }))
    const frame = await row.boundingBox()
    expect(cut).toBe(false)
    expect(box.left).toBeGreaterThanOrEqual(0)
    expect(box.right).toBeLessThanOrEqual(360)
    expect(box.bottom).toBeLessThanOrEqual((frame?.y ?? 0) + (frame?.height ?? 0) + 1)
  }
  await expect.poll(() => row.locator('p').textContent()).toContain('The end.')
})

test('of 100,000 builds a view asks one list, draws 50 rows, counts right, and needs no reload for a filter (W015)', async () => {
  await using own = await openWebScene()
  const { server } = own
  const passed = await passBuild(server)
  await copyBuilds(server, passed.id, 100_000, (n) => ({
    branch: n % 4 === 0 ? 'main' : 'next',
    status: n % 10 === 0 ? 'error' : 'success',
  }))
  await using opened = await own.open()
  const { page } = opened
  const calls: string[] = []
  page.on('request', (request) =>
    calls.push(new URL(request.url()).pathname + (request.isNavigationRequest() ? ' document' : '')),
  )
  await page.goto('/builds')
  await expect.poll(() => page.locator('[data-build]').count()).toBe(50)
  const states = page.getByRole('group', { name: 'State' })
  await states.getByRole('button', { name: /^Failed ?\d/ }).waitFor()
  const { items, isExact } = await server.admin.builds.counts({ query: { by: 'status' } })
  const failed = items.find(({ value }) => value === 'error')?.count ?? 0
  await expect.poll(() => states.textContent()).toContain(`Failed${failed.toLocaleString('en-GB')}${isExact ? '' : '+'}`)
  const elements = await page.evaluate(() => document.querySelectorAll('*').length)
  expect(elements).toBeLessThan(2_500)
  const times = (route: { readonly path: string }): number => calls.filter((call) => call === route.path).length
  expect([times(ROUTES.builds.list), times(ROUTES.builds.counts), times(ROUTES.builds.queue)]).toEqual([1, 1, 1])
  await states.getByRole('button', { name: /^Failed/ }).click()
  await expect.poll(() => page.locator('[data-build]').getByText('Failed', { exact: true }).count()).toBe(50)
  expect(times(ROUTES.builds.list)).toBe(2)
  for (let n = 0; n < 6; n += 1) {
    await page.getByRole('button', { name: 'Show older builds' }).click()
    await expect.poll(() => page.getByRole('listitem').first().getAttribute('aria-setsize')).toBe(String(100 + n * 50))
  }
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(elements * 4)
  expect(calls.filter((call) => call.endsWith(' document'))).toHaveLength(1)
})
