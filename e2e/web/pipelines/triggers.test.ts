/** The triggers of a pipeline in Chromium: adding, testing, changing and removing them. */
import { nextTicks } from '@windlass/plan/schedule'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HELLO } from '../../../packages/server/test/support/http-scene.ts'
import { githubPush } from '../../../packages/server/test/support/payloads/payloads.ts'
import { deliverEvent, sendCall } from '../support/forge-calls.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const TAB = '/pipelines/demo/app/-/triggers'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

test('a trigger for git events is added, disabled, enabled and deleted', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  const { admin } = web.server
  await page.goto(TAB)
  await page.getByText('The pipeline has no triggers yet. A push starts nothing.').waitFor()
  await page.getByRole('button', { name: 'Add a trigger for git events' }).click()
  await page.waitForURL('**/-/triggers?new=git')
  await page.getByLabel('Name', { exact: true }).fill('main')
  await page.getByLabel('Repository', { exact: true }).fill('Acme/app')
  await page.getByLabel('Branches or tags').fill('/^main$/')
  await page.getByLabel('Changed files').fill('src/**')
  await page.getByRole('button', { name: 'Add the trigger' }).click()
  const row = page.getByRole('listitem', { name: 'main' })
  await row.getByText('push.heads of Acme/app, branch /^main$/, files src/**').waitFor()
  expect((await admin.triggers.get('demo/app#main')).modifiedFilesGlob).toBe('src/**')
  const choose = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Actions of main' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await choose('Disable')
  await row.getByText('disabled', { exact: true }).waitFor()
  expect((await admin.triggers.get('demo/app#main')).disabled).toBe(true)
  await choose('Enable')
  await row.getByText('disabled', { exact: true }).waitFor({ state: 'detached' })
  await choose('Edit')
  await page.getByLabel('Changed files').fill('')
  await page.getByRole('button', { name: 'Save the trigger' }).click()
  await row.getByText('push.heads of Acme/app, branch /^main$/', { exact: true }).waitFor()
  await choose('Delete')
  await page.getByRole('button', { name: 'Delete the trigger' }).click()
  await page.getByText('The pipeline has no triggers yet.').waitFor()
  expect((await admin.triggers.list()).items).toEqual([])
  expect(seen).toEqual([])
})

test('testing a delivery or a typed event against changed triggers tells what would happen and starts nothing (W075)', async () => {
  const { admin } = web.server
  const trigger = {
    pipeline: 'demo/app',
    name: 'main',
    repo: 'acme/app',
    events: ['push.heads' as const],
    branchRegex: '/^next$/',
  }
  await admin.triggers.create(trigger)
  const webhook = await admin.webhooks.create({ name: 'tested', forge: 'github' })
  const delivery = await deliverEvent(web.server, webhook, githubPush())
  expect(delivery.builds).toEqual([])
  await admin.triggers.put('demo/app#main', { ...trigger, branchRegex: '/^main$/' })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/deliveries/${delivery.id}`)
  await page.getByRole('button', { name: 'Test with the triggers as they are now' }).click()
  const result = page.getByRole('region', { name: 'What would happen' })
  await result.getByText('The event would start 1 build.').waitFor()
  await result.getByText('"main" matches /^main$/.').waitFor()

  await page.goto(`${TAB}?test=1`)
  await page.getByLabel('Branch', { exact: true }).fill('docs')
  await page.getByRole('button', { name: 'Test the triggers', exact: true }).last().click()
  await result.getByText('The event would start nothing.').waitFor()
  await result.getByText('"docs" does not match /^main$/.').last().waitFor()
  await page.getByLabel('Branch', { exact: true }).fill('main')
  await page.getByRole('button', { name: 'Test the triggers', exact: true }).last().click()
  await result.getByText('The event would start 1 build.').waitFor()
  await page.getByLabel('Test with').selectOption('delivery')
  await page.getByLabel('Delivery').selectOption(delivery.id)
  await page.getByRole('button', { name: 'Test the triggers', exact: true }).last().click()
  await result.getByText('The event would start 1 build.').waitFor()
  expect((await admin.builds.list()).items).toEqual([])
  expect((await admin.deliveries.list()).items).toHaveLength(1)
  expect(seen).toEqual([])
})

test('a trigger at times shows its words and its next three times in its zone while it is typed and in the list (W076)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`${TAB}?new=cron`)
  await page.getByLabel('Name', { exact: true }).fill('nightly')
  await page.getByLabel('Cron expression').fill('30 2 * *')
  const when = page.getByRole('status', { name: 'When it builds' })
  await when.getByText('must have five fields').waitFor()
  await page.getByLabel('Cron expression').fill('30 2 * * MON-FRI')
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await when.getByText('At 02:30, Monday to Friday').waitFor()
  const shown = await when.innerText()
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', day: 'numeric', month: 'short' })
  const times = nextTicks({ expression: '30 2 * * MON-FRI', timezone: 'Europe/Berlin' }, Date.now(), 3)
  for (const time of times) expect(shown).toContain(`${format.format(time)}, 02:30`)
  await page.getByRole('button', { name: 'Add the trigger' }).click()
  const row = page.getByRole('listitem', { name: 'nightly' })
  await row.getByText('At 02:30, Monday to Friday, Europe/Berlin').waitFor()
  await expect.poll(() => row.innerText()).toContain(`${format.format(times[2])}, 02:30`)
  expect((await web.server.admin.cronTriggers.get('demo/app#nightly')).nextAt).toBe(times[0])
  expect(seen).toEqual([])
})

test('triggers for images and for ended builds are added and edited, and keep what the form does not have', async () => {
  const { admin } = web.server
  await admin.pipelines.create({ name: 'demo/base', document: HELLO })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(TAB)
  const add = page.getByRole('button', { name: 'Add a trigger for images, charts or builds' })
  await add.click()
  await page.getByLabel('Name', { exact: true }).fill('base')
  await page.getByLabel('Image', { exact: true }).fill('team/base:1')
  await page.getByRole('alert').getByText('without host and tag').waitFor()
  await page.getByLabel('Image', { exact: true }).fill('team/base')
  await page.getByLabel('Tags', { exact: true }).fill('1.*')
  await page.getByText("windlass create event-trigger demo/app base --image team/base --tag '1.*'").waitFor()
  await page.getByRole('button', { name: 'Add the trigger' }).click()
  await page.getByRole('listitem', { name: 'base' }).getByText('Image team/base, tags 1.*').waitFor()
  await add.click()
  await page.getByLabel('Name', { exact: true }).fill('after')
  await page.getByLabel('Builds start when').selectOption('build')
  await page.getByLabel('Pipeline', { exact: true }).fill('demo/base')
  await page.getByLabel('error').check()
  await page.getByRole('button', { name: 'Add the trigger' }).click()
  const row = page.getByRole('listitem', { name: 'after' })
  await row.getByText('Builds of demo/base that end with success or error').waitFor()
  const stored = await admin.eventTriggers.get('demo/app#base')
  expect(stored).toMatchObject({ type: 'registry', image: 'team/base', tag: '1.*' })
  const { id: _id, origin: _origin, createdAt: _created, updatedAt: _updated, ...input } = stored
  await admin.eventTriggers.put(stored.id, { ...input, variables: [{ key: 'FROM', value: 'hub' }] })
  await page.reload()
  await page.getByRole('button', { name: 'Actions of base' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await page.getByLabel('Tags', { exact: true }).fill('')
  await page.getByRole('button', { name: 'Save the trigger' }).click()
  await page.getByRole('listitem', { name: 'base' }).getByText('Image team/base', { exact: true }).waitFor()
  const changed = await admin.eventTriggers.get('demo/app#base')
  expect(changed).toMatchObject({ image: 'team/base', variables: [{ key: 'FROM', value: 'hub' }] })
  expect(changed).not.toHaveProperty('tag')
  for (const name of ['base', 'after']) await admin.eventTriggers.delete(`demo/app#${name}`)
  expect(seen).toEqual([])
})

test('an address for the forge is made with its secret, which is shown once and works', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(TAB)
  await page.getByRole('button', { name: 'Make an address' }).click()
  await page.getByLabel('Name of the webhook').fill('shop')
  await page.getByRole('button', { name: 'Make the address' }).click()
  const once = page.getByRole('region', { name: /The secret is shown only now/ })
  const [url = '', secret = ''] = await once.locator('code').allInnerTexts()
  expect((await sendCall({ url, secret }, githubPush())).status).toBe(202)
  await page.reload()
  await page.getByRole('region', { name: 'Webhooks that receive the events' }).getByText('shop').waitFor()
  expect(await page.content()).not.toContain(secret)
  expect(seen).toEqual([])
})

test('a trigger of the document says why it cannot be changed here', async () => {
  const document = `kind: pipeline
metadata: {name: demo/written}
spec:
  triggers:
    - {name: written, type: git, repo: acme/app, events: [push.heads]}
  steps:
    hello: {image: alpine, commands: [echo hello]}
`
  await web.server.admin.pipelines.create({ name: 'demo/written', document })
  await using opened = await web.open()
  await opened.page.goto('/pipelines/demo/written/-/triggers')
  await opened.page.getByRole('button', { name: 'Actions of written' }).click()
  const entry = opened.page.getByRole('menuitem', { name: /Delete/ })
  await entry.getByText('It is written in the document of the pipeline.').waitFor()
  await expect.poll(() => entry.getAttribute('aria-disabled')).toBe('true')
})
