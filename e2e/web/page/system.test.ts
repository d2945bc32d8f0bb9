/** The system screen in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { openPage } from '../support/chromium.ts'
import { PATIENT } from '../support/fleet-seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const DAY_MS = 86_400_000
let web: WebScene

beforeAll(async () => {
  web = await openWebScene(PATIENT)
})

afterAll(() => web[Symbol.asyncDispose]())

const valueOf = (page: Page, name: string): Promise<string | null> =>
  page
    .getByRole('term')
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator('xpath=../dd')
    .textContent()

/** Stores samples of a disk that grows by a hundredth of its size each day. */
async function seedDisk(): Promise<void> {
  const { store, accountId } = web.server.server.app
  const { disk } = await web.server.admin.server.system()
  const used = disk.totalBytes - disk.freeBytes
  const rows = Array.from({ length: 10 }, (_, index) => ({
    account_id: accountId,
    at: Date.now() - (10 - index) * DAY_MS,
    used_bytes: Math.round(used - (10 - index) * (disk.totalBytes / 100)),
    total_bytes: disk.totalBytes,
  }))
  await store.write(async (tx) => {
    await tx.query.insertInto('disk_sample').values(rows).execute()
  })
}

test('shows versions, sizes, what goes next and when the disk will be full (W087)', async () => {
  const { engine } = await web.server.start()
  await engine.succeed()
  await seedDisk()
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/system')
  const system = await web.server.admin.server.system()
  await page.getByRole('region', { name: 'Servers' }).waitFor()
  expect(await valueOf(page, 'Version')).toBe(system.version)
  expect(await valueOf(page, 'Database')).toBe(`SQLite ${system.store.version}`)
  expect(await valueOf(page, 'Their versions')).toBe('0.0.0-test')
  const storage = page.getByRole('region', { name: 'Storage' })
  // Other tests fill the disk, and the page reads it again every 15 seconds.
  const agrees = async (): Promise<boolean> => {
    const { disk } = await web.server.admin.server.system()
    const days = Math.floor((disk.fullInMs ?? 0) / DAY_MS)
    return days > 1 && (await page.getByText(`at the present growth in about ${days} days.`).count()) > 0
  }
  await expect.poll(agrees, { interval: 500 }).toBe(true)
  await expect.poll(() => storage.getByRole('meter').getAttribute('aria-label')).toMatch(/ of .* used$/)
  const logs = page.getByRole('row').filter({ hasText: 'Logs' })
  const { oldestLogAt = 0, logDays } = system.retention
  const date = new Date(oldestLogAt + logDays * DAY_MS).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  await expect.poll(() => logs.getByRole('cell').last().textContent()).toContain(`on ${date}`)
  expect(seen).toEqual([])
})

test('a pause with its reason is on every waiting build, and its end starts them (W087)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/system')
  await page.getByRole('button', { name: 'Pause builds' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('upgrade of the database')
  await dialog.getByText("windlass set settings pauseBuilds=true 'pauseReason=upgrade of the database'").waitFor()
  await dialog.getByRole('button', { name: 'Pause builds' }).click()
  const pause = page.getByRole('region', { name: 'Pause' })
  await pause.getByText('upgrade of the database').waitFor()
  const room = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'System' })
  await expect.poll(() => room.getAttribute('aria-description')).toContain('New builds are paused: upgrade of the database.')
  for (const branch of ['fix-1', 'fix-2', 'fix-3']) await web.server.submit({ branch })
  await page.goto('/builds')
  const rows = page.getByRole('list', { name: 'Builds' }).getByRole('listitem')
  for (const branch of ['fix-1', 'fix-2', 'fix-3'])
    await rows
      .filter({ hasText: branch })
      .getByText('Waits: New builds of the account are paused: upgrade of the database')
      .waitFor()
  const { items } = await web.server.admin.builds.list({ query: { status: 'pending' } })
  expect(items.map(({ message }) => message)).toEqual(
    Array.from({ length: 3 }, () => 'New builds of the account are paused: upgrade of the database'),
  )
  expect((await windlass(web.server, ['describe', 'build', items[0]?.id ?? ''])).text).toContain('upgrade of the database')
  await page.goto('/system')
  await pause.getByText('3 builds wait.').waitFor()
  await pause.getByRole('button', { name: 'Let builds start' }).click()
  await pause.waitFor({ state: 'hidden' })
  await expect.poll(async () => (await web.server.admin.builds.list({ query: { status: 'pending' } })).items.length).toBe(0)
  expect((await web.server.admin.settings.get()).pauseReason).toBeUndefined()
  expect(seen).toEqual([])
})

test('lists the settings with their defaults, those that differ first', async () => {
  const { admin } = web.server
  await admin.settings.put({ ...(await admin.settings.get()), maxQueuedBuilds: 50 })
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/system')
  await page.getByText(/^1 of \d+ differ from their default\.$/).waitFor()
  const table = page.getByRole('region', { name: 'Settings of the account with their defaults' })
  await expect
    .poll(() => table.getByRole('row').nth(1).getByRole('cell').allTextContents())
    .toEqual(['maxQueuedBuilds', '50', '1000'])
})

test('a viewer reads everything and may pause nothing', async () => {
  const { admin, server } = web.server
  const { token } = await admin.keys.create({ name: 'viewer', role: 'viewer' })
  await using opened = await openPage(web.browser, { url: server.url, key: token })
  const { page, seen } = opened
  await page.goto('/system')
  const pause = page.getByRole('button', { name: 'Pause builds' })
  await pause.waitFor()
  await expect.poll(() => pause.getAttribute('aria-disabled')).toBe('true')
  await pause.hover()
  await page.getByRole('tooltip').getByText('The role admin is needed to change the settings of the account').waitFor()
  await page.getByRole('region', { name: 'Servers' }).waitFor()
  expect(seen).toEqual([])
})

test('the rooms are absent for a user without a role for the installation, whose address of them says what is missing', async () => {
  const { admin, server } = web.server
  await admin.users.create({ name: 'guest', kind: 'service-account', role: 'none', pipelines: { 'demo/app': 'viewer' } })
  const { token } = await admin.keys.create({ name: 'guest', owner: 'guest', role: 'viewer' })
  await using opened = await openPage(web.browser, { url: server.url, key: token })
  const { page } = opened
  await page.goto('/system')
  await page.getByRole('alert').first().waitFor()
  const rail = page.getByRole('navigation', { name: 'Places' })
  await rail.getByRole('link', { name: 'Builds' }).waitFor()
  expect(await rail.getByRole('link', { name: 'System' }).count()).toBe(0)
  expect(await rail.getByRole('link', { name: 'Runtimes' }).count()).toBe(0)
})
