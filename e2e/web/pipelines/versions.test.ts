/** The history of a pipeline, and views of builds, in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DOCUMENT } from '../support/seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

const OTHER = DOCUMENT.replace('npm run lint', 'npm run check')

test('the history shows who, when, why and what changed, and restores a version (W069)', async () => {
  const { admin } = web.server
  await admin.pipelines.create({ name: 'demo/kept', document: DOCUMENT })
  await admin.pipelines.put(
    'demo/kept',
    { name: 'demo/kept', document: OTHER, concurrency: 2 },
    { query: { message: 'Use check' } },
  )
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/pipelines/demo/kept/-/history')
  const second = page.getByRole('listitem').filter({ hasText: 'Version 2' })
  await second.getByText('Use check').waitFor()
  await second.getByText('admin').waitFor()
  await page.getByRole('button', { name: 'Show what version 2 changed' }).click()
  const patch = page.getByRole('region', { name: 'Changes of the document in version 2' })
  await patch.getByText('-      lint:').waitFor()
  await expect.poll(() => patch.innerText()).toContain('npm run check')
  await page.getByText('concurrency').waitFor()
  expect(new URL(page.url()).search).toBe('?version=2')
  await page.getByRole('button', { name: 'Restore version 1', exact: true }).click()
  await page.getByText('windlass restore pipelines demo/kept --version 1').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Restore version 1' }).click()
  await page.getByText('restores version 1').waitFor()
  expect(await admin.pipelines.get('demo/kept')).toMatchObject({ revision: 3, document: DOCUMENT })
  expect(seen).toEqual([])
})

test('a restoration over a change of somebody else is refused, and the next try knows the change', async () => {
  const { admin } = web.server
  const name = 'demo/raced'
  await admin.pipelines.create({ name, document: DOCUMENT })
  await admin.pipelines.put(name, { name, document: OTHER })
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/pipelines/${name}/-/history`)
  await page.getByRole('button', { name: 'Restore version 1', exact: true }).click()
  await admin.pipelines.put(name, { name, document: OTHER, priority: 5 })
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Restore version 1' }).click()
  await dialog.getByRole('alert').getByText('It is at revision 3 now').waitFor()
  expect((await admin.pipelines.get(name)).revision).toBe(3)
  await dialog.getByRole('button', { name: 'Restore version 1' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await admin.pipelines.get(name)).toMatchObject({ revision: 4, document: DOCUMENT, priority: 0 })
})

test('views are saved, shared, chosen as default, renamed and removed (W019)', async () => {
  const { admin } = web.server
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/builds?status=error&by=admin')
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill('My failures')
  await page.getByText("windlass get builds --view 'My failures'").waitFor()
  await page.getByRole('button', { name: 'Save the view' }).click()
  const own = page.getByRole('button', { name: 'My failures', exact: true })
  await own.waitFor()
  await expect.poll(() => own.getAttribute('aria-pressed')).toBe('true')
  expect((await admin.preferences.get()).views).toEqual([
    { name: 'My failures', filter: { status: ['error'], initiator: ['admin'] } },
  ])

  await page.goto('/builds?branch=main')
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill('Main')
  await page.getByLabel('Share it with all users').check()
  await page.getByRole('button', { name: 'Save the view' }).click()
  await page.getByRole('button', { name: 'Shared view Main' }).waitFor()
  expect((await admin.views.list()).items).toMatchObject([{ name: 'Main', filter: { branch: ['main'] }, createdBy: 'admin' }])

  await page.getByRole('button', { name: 'Actions of the view Main' }).click()
  await page.getByRole('menuitem', { name: 'Open the page with this view' }).click()
  await page.getByText('default').waitFor()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
  await page.waitForURL('**/builds?branch=main')

  await page.getByRole('button', { name: 'My failures', exact: true }).click()
  await page.waitForURL('**/builds?status=error&by=admin')
  await page.getByRole('button', { name: 'Actions of the view My failures' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Failures')
  await page.getByRole('button', { name: 'Rename the view' }).click()
  await page.getByRole('button', { name: 'Actions of the view Failures' }).click()
  await page.getByRole('menuitem', { name: 'Remove the view' }).click()
  await page.getByText('Removed the view Failures.').waitFor()
  expect((await admin.preferences.get()).views).toEqual([])

  await page.getByRole('button', { name: 'Shared view Main' }).click()
  await page.getByRole('button', { name: 'Actions of the view Main' }).click()
  await page.getByRole('menuitem', { name: 'Remove the view' }).click()
  await page.getByText('Removed the view Main.').waitFor()
  expect((await admin.views.list()).items).toEqual([])
  expect((await admin.preferences.get()).defaultView).toBeUndefined()
  expect(seen).toEqual([])
})
