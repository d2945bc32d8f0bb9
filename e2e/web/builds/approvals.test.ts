/** The approvals in Chromium: several are decided at once, and those decided elsewhere disappear. */
import { pathOf, ROUTES } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage } from '../support/chromium.ts'
import { waitForApproval } from '../support/seeds.ts'
import { withAnswer } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const GATE =
  "version: '1.0'\nsteps:\n  gate: {type: pending-approval}\n  publish: {image: alpine, commands: [echo], when: {steps: [{name: gate, on: [approved]}]}}\n"

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
  for (const name of ['mine/app', 'other/app']) await web.server.admin.pipelines.create({ name, document: GATE })
})

afterAll(() => web[Symbol.asyncDispose]())

const wait = (pipeline: string): Promise<Build> => waitForApproval(web.server, { pipeline })

test('lists what I may decide first, decides several with one comment, and empties live (W082)', async () => {
  const { admin, server } = web.server
  const other = await wait('other/app')
  const mine = [await wait('mine/app'), await wait('mine/app')]
  const elsewhere = await wait('mine/app')
  await admin.users.create({ name: 'mira', role: 'viewer', projects: { mine: 'developer' }, password: 'a long password of mira' })
  const { token } = await admin.keys.create({ name: 'mira', owner: 'mira', role: 'developer' })
  await using opened = await openPage(web.browser, { url: server.url, key: token })
  const { page, seen } = opened
  await page.goto('/approvals')
  const rows = page.getByRole('region', { name: 'Approvals that wait' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(5)
  const texts = await rows.allInnerTexts()
  // The oldest expires first, but it is not mine.
  expect(texts[4]).toContain(`#${other.number} other/app`)
  expect(texts[4]).toContain('not yours')
  expect(texts.slice(1, 4).every((text) => text.includes('mine/app') && text.includes('publish'))).toBe(true)
  for (const { number } of mine) await page.getByRole('checkbox', { name: `Select gate of #${number}` }).check()
  await page.getByText('2 approvals selected').waitFor()
  await page.getByLabel('Comment').fill('Looks good')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await expect.poll(() => rows.count()).toBe(3)
  for (const { id } of mine)
    expect((await admin.builds.get(id)).approvals).toMatchObject([
      { step: 'gate', decision: 'approved', comment: 'Looks good', by: { name: 'mira' } },
    ])
  await page.getByLabel('Comment').waitFor({ state: 'detached' })
  await admin.builds.deny(elsewhere.id, { step: 'gate' })
  await rows.filter({ hasText: `#${elsewhere.number}` }).waitFor({ state: 'detached' })
  await admin.builds.deny(other.id, { step: 'gate' })
  await page.getByText('No build waits for an approval.').waitFor()
  await page.getByRole('link', { name: 'Decided' }).click()
  await page.getByText('Looks good').first().waitFor()
  expect(seen).toEqual([])
})

test('an approval that was decided in the meantime is told, and the others are decided', async () => {
  const { admin } = web.server
  const [first, second] = [await wait('mine/app'), await wait('mine/app')]
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/approvals')
  for (const { number } of [first, second]) await page.getByRole('checkbox', { name: `Select gate of #${number}` }).check()
  // The page does not see the denial before it decides.
  await page.route(`**${pathOf(ROUTES.builds.approve, '*')}`, async (route) => {
    if (route.request().url().includes(first.id)) await admin.builds.deny(first.id, { step: 'gate' })
    await route.continue()
  })
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page
    .getByRole('alert')
    .filter({ hasText: `gate of #${first.number}` })
    .waitFor()
  expect((await admin.builds.get(second.id)).approvals).toMatchObject([{ decision: 'approved' }])
})

test('one approval is decided from its row, and asks once more when the setting says so (W036, W082)', async () => {
  const { admin } = web.server
  const settings = await admin.settings.get()
  await admin.settings.put({ ...settings, approvalConfirmation: 'approve' })
  const [approved, denied] = [await wait('mine/app'), await wait('mine/app')]
  await using opened = await web.open()
  const { page } = opened
  await withAnswer(page, pathOf(ROUTES.settings.get), () => page.goto('/approvals'))
  await page.getByRole('button', { name: `Approve gate of #${approved.number}` }).click()
  const dialog = page.getByRole('dialog', { name: `Approve gate of #${approved.number}?` })
  await dialog.getByText('The decision cannot be changed.').waitFor()
  expect((await admin.builds.get(approved.id)).approvals?.[0]).not.toHaveProperty('decision')
  await dialog.getByRole('button', { name: `Approve gate of #${approved.number}` }).click()
  await page.getByRole('button', { name: `Deny gate of #${denied.number}` }).click()
  await page.getByText('No build waits for an approval.').waitFor()
  expect((await admin.builds.get(approved.id)).approvals).toMatchObject([{ decision: 'approved' }])
  expect((await admin.builds.get(denied.id)).approvals).toMatchObject([{ decision: 'denied' }])
  await admin.settings.put({ ...settings, approvalConfirmation: 'none' })
})
