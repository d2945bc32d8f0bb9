/** The screens of runtimes and agents in Chromium against a real server. */
import { monitorCalls } from '@windlass/client/monitor'
import { nodeTransport } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { openPage } from '../support/chromium.ts'
import { fillRuntime, PATIENT, seedCauses, seedSamples, serveRuntime, silenceAgent } from '../support/fleet-seeds.ts'
import { live, pressBoth } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let viewerKey: string

beforeAll(async () => {
  web = await openWebScene(PATIENT)
  viewerKey = (await web.server.admin.keys.create({ name: 'viewer', role: 'viewer' })).token
})

afterAll(() => web[Symbol.asyncDispose]())

const rowOf = (page: Page, name: string) =>
  page
    .getByRole('list', { name: 'Runtimes' })
    .getByRole('listitem')
    .filter({ has: page.getByRole('link', { name, exact: true }) })
const sentenceOf = async (page: Page, name: string): Promise<string> =>
  (await rowOf(page, name).locator('[data-health]').textContent()) ?? ''

/** Returns a text without its durations, which grow between two readings. */
const plain = (text: string): string => text.replaceAll(/\d+ (?:s|min)\b/g, 'N').trim()

describe('runtimes with a cause each', () => {
  let causes: Readonly<Record<string, RegExp>>
  beforeAll(async () => {
    causes = await seedCauses(web.server)
  })

  test('the sentence of each of 14 causes is right, and the same as in `windlass get runtimes` (W077)', async () => {
    await using opened = await web.open()
    const { page, seen } = opened
    await page.goto('/runtimes')
    await page.getByRole('list', { name: 'Runtimes' }).waitFor()
    expect(Object.keys(causes)).toHaveLength(14)
    for (const [name, expected] of Object.entries(causes)) expect(await sentenceOf(page, name), name).toMatch(expected)
    const { text } = await windlass(web.server, ['get', 'runtimes', '--limit', '100'])
    const lines = text.split('\n')
    for (const name of Object.keys(causes)) {
      const line = lines.find((one) => one.startsWith(`${name} `)) ?? ''
      expect(plain(line).endsWith(plain(await sentenceOf(page, name))), line).toBe(true)
    }
    await page.goto('/runtimes/silent')
    const shown = (await page.locator('[data-health]').textContent()) ?? ''
    expect(plain((await windlass(web.server, ['describe', 're', 'silent'])).text)).toContain(plain(shown))
    expect(seen).toEqual([])
  })

  test('a pause of all builds is the sentence of the healthy ones, with its reason', async () => {
    const { admin } = web.server
    await using opened = await web.open()
    const { page } = opened
    await page.goto('/runtimes')
    const settings = await admin.settings.get()
    await admin.settings.put({ ...settings, pauseBuilds: true, pauseReason: 'a move of the cluster' })
    await page.reload()
    await rowOf(page, 'older').getByText('New builds are paused: a move of the cluster.').waitFor()
    await admin.settings.put(settings)
    expect((await windlass(web.server, ['get', 'health', 'older'])).text).toContain('has version 0.0.0-test')
  })

  test('the worst come first, and the rail has a dot with the sentence of the worst', async () => {
    await using opened = await web.open()
    const { page } = opened
    await page.goto('/runtimes')
    const list = page.getByRole('list', { name: 'Runtimes' })
    await list.waitFor()
    const levels = await list
      .getByRole('listitem')
      .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset['level']))
    expect(levels).toEqual(levels.toSorted((one = '', other = '') => RANKS.indexOf(one) - RANKS.indexOf(other)))
    expect(new Set(levels)).toEqual(new Set(['error', 'warning']))
    const room = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Runtimes' })
    await expect.poll(() => room.getAttribute('aria-description')).toMatch(/more runtimes have a finding\.$/)
    await room.hover()
    await page.getByRole('tooltip').getByText('more runtimes have a finding.').waitFor()
  })

  test('a viewer tells a full runtime from a silent agent on builds and on runtimes, without a click (W078)', async () => {
    await web.server.submit({ runtime: 'silent', branch: 'main' })
    await using opened = await openPage(web.browser, { url: web.server.server.url, key: viewerKey })
    const { page } = opened
    await page.goto('/builds')
    const waiting = page.getByRole('region', { name: 'Waiting builds' })
    await waiting.getByText('The runtime environment full runs 1 of at most 1 build.').waitFor()
    await waiting.getByText('The agent agent-silent of the runtime environment silent is not connected.').waitFor()
    const rows = page.getByRole('list', { name: 'Builds' })
    await rows.getByText('Waits: The agent agent-silent of the runtime environment silent is not connected').waitFor()
    await rows.getByText('Waits: The runtime environment full runs 1 of at most 1 build').waitFor()
    await page.goto('/runtimes')
    await rowOf(page, 'full')
      .getByText(/^Full.*1 of 1 builds run, 1 wait\.$/)
      .waitFor()
    await rowOf(page, 'silent')
      .getByText(/Agent "agent-silent" has been silent for 1[5-9] min\. 1 build waits\./)
      .waitFor()
  })

  test('a change is in the list without a reload', async () => {
    await using opened = await web.open()
    const { page } = opened
    await page.goto('/runtimes')
    await rowOf(page, 'older').waitFor()
    await live(page)
    await silenceAgent(web.server, 'agent-older', 25)
    await rowOf(page, 'older')
      .getByText(/Agent "agent-older" has been silent for 2[5-9] min\./)
      .waitFor()
  })
})

const RANKS = ['error', 'warning', 'ok']

test('a viewer sees why nothing can be changed, and gets no dialog by its address', async () => {
  await serveRuntime(web.server, 'seen')
  await using opened = await openPage(web.browser, { url: web.server.server.url, key: viewerKey })
  const { page, seen } = opened
  await page.goto('/runtimes/seen')
  const raise = page.getByRole('button', { name: 'Raise capacity' })
  await raise.waitFor()
  await expect.poll(() => raise.getAttribute('aria-disabled')).toBe('true')
  await raise.hover()
  await page.getByRole('tooltip').getByText('The role admin is needed to change agents, runtimes').waitFor()
  await page.goto('/runtimes/seen/-/spec?edit=true')
  await page.getByRole('region', { name: 'Values of the specification' }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Own layer of the runtime' }).count()).toBe(0)
  await page.goto('/runtimes?connect=true')
  await page.getByRole('list', { name: 'Runtimes' }).waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.goto('/agents/agent-seen')
  for (const name of ['Rename', 'New token'])
    await expect.poll(() => page.getByRole('button', { name }).getAttribute('aria-disabled')).toBe('true')
  expect(seen).toEqual([])
})

test('raising the capacity starts the build that waits, and the history says so', async () => {
  await fillRuntime(web.server, 'small', 1)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/small')
  await page.locator('[data-health]', { hasText: /^Full.*1 of 1 builds run, 1 wait\.$/ }).waitFor()
  await page.getByRole('button', { name: 'Raise capacity' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 of 1 builds run, 1 wait.').waitFor()
  await dialog.getByLabel('Builds that run at the same time').fill('3')
  await dialog.getByText('windlass patch re small --capacity 3').waitFor()
  await dialog.getByRole('button', { name: 'Save the capacity' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await page.getByText('2 run · 0 wait').waitFor()
  await page.getByRole('link', { name: 'History' }).click()
  await page.getByText('capacity 1 -> 3').waitFor()
  await page.getByRole('button', { name: 'Show the changes' }).click()
  const changes = page.getByRole('region', { name: 'Changes from version 1 to version 2' })
  await expect.poll(() => changes.getByRole('row').last().getByRole('cell').allTextContents()).toEqual(['capacity', '1', '3'])
  await page.getByRole('button', { name: 'Use version 1 again' }).click()
  await page.getByText('version 1 again', { exact: true }).waitFor()
  expect((await web.server.admin.runtimes.get('small')).spec['capacity']).toBe(1)
  expect((await windlass(web.server, ['patch', 're', 'small', '--capacity', '4'])).code).toBe(0)
  expect((await web.server.admin.runtimes.get('small')).spec['capacity']).toBe(4)
  expect(seen).toEqual([])
})

test('a runtime can become the default and be deleted, which asks first and says why not', async () => {
  await serveRuntime(web.server, 'spare')
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/runtimes/spare')
  const menu = page.getByRole('button', { name: 'Further actions' })
  await menu.click()
  await page.getByRole('menuitem', { name: 'Make it the default' }).click()
  await page.getByText('default runtime', { exact: true }).waitFor()
  await menu.click()
  await page.getByRole('menuitem', { name: 'Delete the runtime' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Delete the runtime' }).click()
  await dialog.getByRole('alert').getByText('Runtime "spare" is the default.').waitFor()
  expect((await web.server.admin.runtimes.get('spare')).isDefault).toBe(true)
  await web.server.admin.runtimes.makeDefault('local')
  await dialog.getByRole('button', { name: 'Delete the runtime' }).click()
  await page.waitForURL('**/runtimes')
  await expect(web.server.admin.runtimes.get('spare')).rejects.toMatchObject({ code: 'not-found' })
})

test('the first tab shows the load of 24 hours as a drawing and as a table, and the builds that run with their step', async () => {
  await serveRuntime(web.server, 'busy', { capacity: 8 })
  await seedSamples(web.server, 'busy')
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/busy')
  await page.getByRole('img', { name: /^The last 24 hours: at most 10 builds ran and 3 waited\./ }).waitFor()
  await page.getByText('The greatest load of each hour as a table').click()
  const table = page.getByRole('region', { name: 'Load by hour' })
  const { samples } = await web.server.admin.runtimes.activity('busy')
  const hour = Math.floor((samples[100]?.at ?? 0) / 3_600_000) * 3_600_000
  const most = Math.max(...samples.filter(({ at }) => at >= hour && at < hour + 3_600_000).map(({ running }) => running))
  const text = new Date(hour).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  const row = table
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: text, exact: true }) })
    .first()
  await expect.poll(() => row.getByRole('cell').nth(1).textContent()).toBe(String(most))
  await fillRuntime(web.server, 'steps', 0)
  await page.goto('/runtimes/steps')
  const running = page.getByRole('region', { name: 'Running builds' }).getByRole('row').last()
  await running.getByRole('link', { name: /^#\d+$/ }).waitFor()
  await expect.poll(() => running.getByRole('cell').nth(3).textContent()).toBe('hello')
  expect(seen).toEqual([])
})

test('the pods of a namespace come from the monitor, else the page says how to install one', async () => {
  const { admin, server } = web.server
  const { token } = await admin.agents.create({ name: 'agent-pods' })
  const cluster = { cluster: { namespace: 'builds' } }
  await admin.runtimes.create({
    name: 'pods',
    type: 'kubernetes',
    agent: 'agent-pods',
    spec: { runtimeScheduler: cluster, dockerDaemonScheduler: cluster },
  })
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/runtimes/pods/-/pods')
  await page.getByText('windlass install monitor --cluster-id NAME --kube-namespace builds').waitFor()
  const monitor = monitorCalls(createClient({ url: server.url, token, transport: nodeTransport() }))
  const of = { cluster: 'prod', generation: 'generation-1' }
  await monitor.hello({ ...of, version: '1.0.0' })
  const build = await web.server.submit()
  const labels = { 'windlass.io/build': build.id }
  const summary = { status: 'ImagePullBackOff', ready: '0/1', restarts: 3, node: 'node-1' }
  const pod = { kind: 'Pod', namespace: 'builds', name: 'engine-1', uid: 'u1', labels, summary } as const
  await monitor.sendObjects({ ...of, seq: 1, changes: [{ change: 'set', ...pod }] })
  await page.reload()
  const row = page.getByRole('region', { name: 'Pods' }).getByRole('row').filter({ hasText: 'engine-1' })
  await row.getByText('ImagePullBackOff').waitFor()
  await expect.poll(() => row.getByRole('link', { name: 'Open the build' }).getAttribute('href')).toBe(`/builds/${build.id}`)
  await page.getByText('windlass get objects Pod --cluster prod --namespace builds').waitFor()
})

test('the keys g r and g s, the palette and the help lead to the rooms', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds')
  await page.getByRole('heading', { name: 'Builds', level: 1 }).waitFor()
  await pressBoth(page, 'g', 'r')
  await page.waitForURL('**/runtimes')
  await pressBoth(page, 'g', 's')
  await page.waitForURL('**/system')
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('Go to Runtimes').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('runtim')
  await page.getByRole('option', { name: 'Runtimes' }).click()
  await page.waitForURL('**/runtimes')
  await page.getByRole('list', { name: 'Runtimes' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/runtimes/*')
})
