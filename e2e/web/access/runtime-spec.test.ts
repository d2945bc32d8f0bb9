/** The specification of a runtime in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { openPage } from '../support/chromium.ts'
import { PATIENT, serveRuntime } from '../support/fleet-seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene(PATIENT)
})

afterAll(() => web[Symbol.asyncDispose]())

test('an admin edits a specification, which says where each value comes from and refuses a wrong key at its line (W081, R177)', async () => {
  const { admin } = web.server
  await admin.runtimeBases.put('system/corp', { spec: { runtimeScheduler: { envVars: { ZONE: 'north' } } } })
  await serveRuntime(web.server, 'team/spec', { extends: ['system/corp', 'system/default'], capacity: 2 })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/team/spec/-/spec')
  const values = page.getByRole('region', { name: 'Values of the specification' })
  const cells = (field: string) => values.getByRole('row').filter({ has: page.getByText(field, { exact: true }) })
  await cells('capacity').waitFor()
  await expect.poll(() => cells('capacity').getByRole('cell').allTextContents()).toEqual(['capacity', '2', 'this runtime'])
  await expect.poll(() => cells('runtimeScheduler.envVars.ZONE').getByRole('cell').nth(2).textContent()).toBe('system/corp')
  await expect
    .poll(() => cells('dockerDaemonScheduler.defaultDindResources.requests.cpu').getByRole('cell').nth(2).textContent())
    .toBe('system/default')
  const { text } = await windlass(web.server, ['get', 're', 'team/spec', '--origins'])
  expect(text).toMatch(/^runtimeScheduler\.envVars\.ZONE +"north" +system\/corp$/m)
  await page.getByRole('button', { name: 'Edit the own layer' }).click()
  const area = page.getByRole('textbox', { name: 'Own layer of the runtime' })
  await area.fill('capacity: 2\nruntimeScheduler:\n  envVars:\n    A: "1"\n  imagine: x\n')
  await page.getByRole('button', { name: 'Save the specification' }).click()
  const problems = page.getByRole('alert', { name: 'Problems of the text' })
  await problems.getByText('spec.runtimeScheduler: Unrecognized key: "imagine"').waitFor()
  await problems.getByRole('button', { name: 'Line 5' }).click()
  await expect
    .poll(() => area.evaluate((one: HTMLTextAreaElement) => one.value.slice(one.selectionStart, one.selectionEnd)))
    .toBe('  imagine: x')
  await area.fill('capacity: [')
  await problems
    .getByRole('button', { name: /^Line 1/ })
    .first()
    .waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'Save the specification' }).getAttribute('aria-disabled')).toBe('true')
  expect((await admin.runtimes.get('team/spec')).version).toBe(1)
  await area.fill('extends: [system/corp, system/default]\ncapacity: 3\n')
  await page.getByRole('textbox', { name: 'Reason, for the history' }).fill('more room')
  await page.getByRole('button', { name: 'Save the specification' }).click()
  await page.getByText('Version 2 is saved.').waitFor()
  await expect.poll(() => cells('capacity').getByRole('cell').allTextContents()).toEqual(['capacity', '3', 'this runtime'])
  expect((await admin.runtimes.versions('team/spec')).items[0]).toMatchObject({
    version: 2,
    changedBy: 'admin',
    description: 'more room',
  })
  expect(seen).toEqual([])
  const { token: key } = await admin.keys.create({ name: 'reader', role: 'viewer' })
  await using reader = await openPage(web.browser, { url: web.server.server.url, key })
  await reader.page.goto('/runtimes/team/spec/-/spec?edit=true')
  const edit = reader.page.getByRole('button', { name: 'Edit the own layer' })
  await expect.poll(() => edit.getAttribute('aria-disabled')).toBe('true')
})

test('a change over the change of another person shows both and saves nothing by itself (W081, R177)', async () => {
  const { admin } = web.server
  await serveRuntime(web.server, 'both', { capacity: 2 })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/both/-/spec?edit=true')
  const area = page.getByRole('textbox', { name: 'Own layer of the runtime' })
  await area.fill('capacity: 9\n')
  const { name, type, agent, spec } = await admin.runtimes.get('both')
  await admin.runtimes.put('both', { name, type, agent, spec: { ...spec, capacity: 5 } })
  await page.keyboard.press('Control+s')
  const conflict = page.getByRole('alert', { name: 'Conflict' })
  await conflict.getByText('Version 2 was saved meanwhile').waitFor()
  const rows = conflict.getByRole('row')
  await expect.poll(() => rows.last().getByRole('cell').allTextContents()).toEqual(['capacity', '2', '5', '9'])
  expect((await admin.runtimes.get('both')).spec).toMatchObject({ capacity: 5 })
  await conflict.getByRole('button', { name: 'Back to your text' }).click()
  await expect.poll(() => area.inputValue()).toBe('capacity: 9\n')
  await page.keyboard.press('Control+s')
  await conflict.getByRole('button', { name: 'Save yours over version 2' }).click()
  await page.getByText('Version 3 is saved.').waitFor()
  expect((await admin.runtimes.get('both')).spec).toMatchObject({ capacity: 9 })
  expect(seen).toEqual([])
})

test('an admin gives a runtime to a team, and others no longer see it (R076)', async () => {
  const { admin, nobody } = web.server
  await serveRuntime(web.server, 'gpu', { tags: ['gpu'] })
  await admin.teams.create({ name: 'ml' })
  const jo = await admin.keys.create({ name: 'jo', role: 'developer' })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/gpu')
  await page.getByRole('button', { name: 'Further actions' }).click()
  await page.getByRole('menuitem', { name: 'Choose its teams' }).click()
  const dialog = page.getByRole('dialog', { name: 'Teams of gpu' })
  await dialog.getByRole('checkbox', { name: 'Only for teams: runtimes with the tag gpu' }).check()
  await dialog.getByRole('checkbox', { name: 'ml', exact: true }).check()
  await dialog.getByText('windlass set runtime-access gpu --team ml').waitFor()
  await dialog.getByRole('button', { name: 'Save the teams' }).click()
  await page.getByText('The teams of gpu are saved.').waitFor()
  expect((await admin.settings.get()).runtimeAccess).toEqual({ gpu: ['ml'] })
  expect(seen).toEqual([])
  await expect(nobody.withToken(jo.token).runtimes.get('gpu')).rejects.toMatchObject({ code: 'runtime-denied' })
  await using other = await openPage(web.browser, { url: web.server.server.url, key: jo.token })
  await other.page.goto('/runtimes/gpu')
  await other.page.getByText('Only members of "ml" and admins may use the runtime environment "gpu".').first().waitFor()
})
