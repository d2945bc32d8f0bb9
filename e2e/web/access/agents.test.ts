/** The screen of an agent, and connecting a cluster, in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimStart } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { PATIENT, serveRuntime } from '../support/fleet-seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene(PATIENT)
})

afterAll(() => web[Symbol.asyncDispose]())

test('an agent shows its facts, can be renamed, and gets a new token that is shown once', async () => {
  const { agent } = await serveRuntime(web.server, 'owned')
  await web.server.submit({ runtime: 'owned' })
  await claimStart(agent)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/agents/agent-owned')
  await page.getByText('The agent is connected and serves 1 runtime.').waitFor()
  const value = (name: string) =>
    page
      .getByRole('term')
      .filter({ hasText: new RegExp(`^${name}$`) })
      .locator('xpath=../dd')
  await expect.poll(() => value('Tasks in hand').textContent()).toBe('1')
  await expect.poll(() => value('Protocol').textContent()).toBe('v2')
  await page.getByText(/^The agent has version 0\.0\.0-test, the server \d/).waitFor()
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('agent-renamed')
  await page.getByRole('button', { name: 'Rename the agent' }).click()
  await page.waitForURL('**/agents/agent-renamed')
  expect((await web.server.admin.runtimes.get('owned')).agent).toBe('agent-renamed')
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByRole('button', { name: 'Make a new token' }).click()
  const token = await page.getByRole('group', { name: 'Token' }).locator('code').textContent()
  expect(token).toMatch(/^[0-9a-f]{24}\./)
  await expect(agent.claim(0)).rejects.toMatchObject({ code: 'unauthenticated' })
  await page.getByRole('button', { name: 'Done' }).click()
  expect(await page.content()).not.toContain(token)
  expect(seen).toEqual([])
})

test('connecting a cluster makes a limited key, shows commands with the address of the server, and follows the installation', async () => {
  const { admin, server, nobody } = web.server
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes')
  await page.getByRole('button', { name: 'Connect a cluster' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name of the cluster').fill('Prod $(id)')
  await dialog.getByText('Use lower-case letters, digits and hyphens').waitFor()
  await dialog.getByLabel('Name of the cluster').fill('prod')
  await dialog.getByRole('button', { name: 'Make a key and show the commands' }).click()
  await dialog.getByText(`windlass runner init --url ${server.url} --token-file key.txt --name prod_windlass`).waitFor()
  const key = (await dialog.getByRole('group', { name: 'Key' }).locator('code').textContent()) ?? ''
  const installer = nobody.withToken(key)
  expect(await installer.server.whoami()).toMatchObject({ role: 'admin', scopes: expect.arrayContaining(['agent:write']) })
  await expect(installer.keys.list()).rejects.toMatchObject({ code: 'scope-missing' })
  await dialog.getByText('Nothing is reported yet.').waitFor()
  const { id } = await admin.installations.create({ name: 'prod/windlass' })
  await admin.installations.report(id, { event: 'agent-created', status: 'success' })
  const progress = dialog.getByRole('region', { name: 'Installation of prod/windlass' })
  await progress.getByText('agent created').waitFor()
  await admin.installations.report(id, { event: 'runtime-installed', status: 'failure', message: 'quota exceeded' })
  await progress.getByText('quota exceeded').waitFor()
  await admin.agents.create({ name: 'prod_windlass' })
  await dialog.getByText('Never seen').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  expect(await page.content()).not.toContain(key)
  expect(seen).toEqual([])
})
