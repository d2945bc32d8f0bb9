/** The page in Chromium against a real server, whose builds are made through the API of agents and engines. */
import { describeBuild } from '@windlass/plan'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { openPage } from '../support/chromium.ts'
import { failBuild, passBuild, runBuild } from '../support/seeds.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let scene: HttpScene
let browser: Browser

beforeAll(async () => {
  web = await openWebScene()
  ;({ server: scene, browser } = web)
})

afterAll(() => web[Symbol.asyncDispose]())

test('the document has the policy of the page, and calls keep their problem documents (W093)', async () => {
  const page = await fetch(`${scene.server.url}/builds/anything`, { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self'")
  expect(page.headers.get('cache-control')).toBe('no-cache')
  expect(await page.text()).toContain('<div id="root">')
  const call = await fetch(`${scene.server.url}/v1/nothing`, { headers: { accept: 'text/html' } })
  expect(call.status).toBe(404)
})

test('without a session the page asks for one and then shows what was asked for (W010)', async () => {
  await using opened = await openPage(browser, { url: scene.server.url })
  const { page, seen } = opened
  await page.goto('/builds?status=error')
  await page.getByRole('button', { name: 'Use an API key' }).click()
  await page.getByLabel('API key').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('[aria-invalid="true"]').waitFor()
  await page.getByLabel('API key').fill(scene.adminToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('?status=error')
  expect(seen).toEqual([])
})

test('the code of a link signs in after a question, and leaves the address (W002)', async () => {
  const { code } = await scene.admin.sessions.createCode()
  await using opened = await openPage(browser, { url: scene.server.url })
  await opened.page.goto(`/signin#code=${code}`)
  await opened.page.getByRole('button', { name: 'Sign in with this link' }).click()
  await opened.page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
  expect(opened.page.url()).not.toContain(code)
  await using again = await openPage(browser, { url: scene.server.url })
  await again.page.goto(`/signin#code=${code}`)
  await again.page.getByRole('button', { name: 'Sign in with this link' }).click()
  await again.page.getByRole('alert').waitFor()
})

test('a failed build opens with the step to blame, its last lines and what to do (W026, W027)', async () => {
  await passBuild(scene, { pipeline: 'demo/app', document: undefined })
  const build = await failBuild(scene, { pipeline: 'demo/app', document: undefined })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/builds/${build.id}`)
  const card = page.getByRole('region', { name: 'Why it failed' })
  await card.getByRole('heading', { name: /unit_tests/ }).waitFor()
  const sentence = describeBuild(build)
  await page.getByText(sentence.charAt(0).toUpperCase() + sentence.slice(1)).waitFor()
  await card.getByText('AssertionError: expected 19 to be 7').waitFor()
  await card.getByText('The command itself failed').waitFor()
  await card.getByRole('button', { name: 'Restart from unit_tests' }).waitFor()
  await expect.poll(() => page.locator('#favicon').getAttribute('href')).toBe('/icons/bad.svg')
  expect(await page.title()).toContain('Failed: #')
  expect(seen).toEqual([])
})

test('one click restarts from the failed step and shows the new build (W040)', async () => {
  const build = await failBuild(scene, { pipeline: 'demo/app', document: undefined })
  await using opened = await web.open()
  await opened.page.goto(`/builds/${build.id}`)
  await opened.page.getByRole('button', { name: 'Restart from unit_tests' }).click()
  await opened.page.waitForURL((url) => url.pathname.startsWith('/builds/') && !url.pathname.includes(build.id))
  const restarted = await scene.admin.builds.get(opened.page.url().split('/').at(-1) ?? '')
  expect(restarted.restartOf).toBe(build.id)
  await scene.admin.builds.terminate(restarted.id)
})

test('a change of status reaches the title, the icon and the list without a reload (W021, W030)', async () => {
  const { build, engine } = await runBuild(scene)
  await using opened = await web.open()
  await using listed = await web.open()
  await opened.page.goto(`/builds/${build.id}`)
  await listed.page.goto('/builds')
  const row = listed.page.getByRole('listitem').filter({ hasText: `#${build.number}` })
  await row.getByText('Running', { exact: true }).waitFor()
  await expect.poll(() => opened.page.title()).toContain('Running')
  for (const { page } of [opened, listed]) await live(page)
  await engine.finish({ status: 'success' })
  await expect.poll(() => opened.page.title()).toContain('Succeeded')
  await row.getByText('Succeeded', { exact: true }).waitFor()
  await expect.poll(() => opened.page.locator('#favicon').getAttribute('href')).toBe('/icons/ok.svg')
})

test('a change between the first list and the first event of the stream is shown (W021)', async () => {
  const { build, engine } = await runBuild(scene)
  const released = Promise.withResolvers<void>()
  await using opened = await web.open()
  const { page } = opened
  await page.route('**/stream?*', async (route) => {
    await released.promise
    await route.continue()
  })
  await page.goto('/builds')
  const row = page.getByRole('listitem').filter({ hasText: `#${build.number}` })
  await row.getByText('Running', { exact: true }).waitFor()
  await engine.finish({ status: 'success' })
  await expect.poll(async () => (await scene.admin.builds.get(build.id)).status).toBe('success')
  released.resolve()
  await row.getByText('Succeeded', { exact: true }).waitFor()
})

test('the palette finds a build by its number with the keyboard alone (W011)', async () => {
  const build = await passBuild(scene)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/builds')
  await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill(`#${build.number}`)
  await page.getByRole('option', { name: `#${build.number}` }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/builds/${build.id}`)
  expect(seen).toEqual([])
})
