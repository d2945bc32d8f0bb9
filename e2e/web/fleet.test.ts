/** The screens of runtimes and agents in Chromium against a real server. */
import { monitorCalls } from '@windlass/client/monitor'
import { nodeTransport } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { windlass } from '../../packages/cli/test/windlass.ts'
import { openPage } from './support/chromium.ts'
import { fillRuntime, seedCauses, seedSamples, serveRuntime, silenceAgent } from './support/fleet-seeds.ts'
import { openWebScene, type WebScene } from './support/web-scene.ts'

let web: WebScene
let viewerKey: string

beforeAll(async () => {
  web = await openWebScene()
  viewerKey = (await web.server.admin.keys.create({ name: 'viewer', role: 'viewer' })).token
})

afterAll(() => web[Symbol.asyncDispose]())

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Runtimes' }).getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
const sentenceOf = async (page: Page, name: string): Promise<string> =>
  (await rowOf(page, name).locator('[data-health]').textContent()) ?? ''

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
      // A duration may have grown by a second between both readings.
      const plain = (sentence: string): string => sentence.replaceAll(/\d+ s\b/g, 'N s').trim()
      expect(plain(line).endsWith(plain(await sentenceOf(page, name))), line).toBe(true)
    }
    await page.goto('/runtimes/silent')
    const shown = await page.locator('[data-health]').textContent()
    expect((await windlass(web.server, ['describe', 're', 'silent'])).text).toContain(shown)
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
    const levels = await list.getByRole('listitem').evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset['level']))
    expect(levels).toEqual(levels.toSorted((one = '', other = '') => RANKS.indexOf(one) - RANKS.indexOf(other)))
    expect(new Set(levels)).toEqual(new Set(['error', 'warning']))
    const room = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Runtimes' })
    expect(await room.getAttribute('aria-description')).toMatch(/more runtimes have a finding\.$/)
    await room.hover()
    await page.getByRole('tooltip').getByText('more runtimes have a finding.').waitFor()
  })

  test('a viewer tells a full runtime from a silent agent on builds and on runtimes, without a click (W078)', async () => {
    await web.server.submit({ runtime: 'silent', branch: 'main' })
    await using opened = await openPage(web.browser, { url: web.server.server.url, key: viewerKey })
    const { page } = opened
    await page.goto('/builds')
    const waiting = page.getByRole('region', { name: 'Waiting builds' })
    await waiting.getByText('The runtime environment full runs 1 of at most 1 builds.').waitFor()
    await waiting.getByText('The agent agent-silent of the runtime environment silent is not connected.').waitFor()
    const rows = page.getByRole('list', { name: 'Builds' })
    await rows.getByText('Waits: The agent agent-silent of the runtime environment silent is not connected').waitFor()
    await rows.getByText('Waits: The runtime environment full runs 1 of at most 1 builds').waitFor()
    await page.goto('/runtimes')
    await rowOf(page, 'full').getByText(/^Full.*1 of 1 builds run, 1 wait\.$/).waitFor()
    await rowOf(page, 'silent').getByText('Agent "agent-silent" has been silent for 3 min. 1 build waits.').waitFor()
  })

  test('a change is in the list without a reload', async () => {
    await using opened = await web.open()
    const { page } = opened
    await page.goto('/runtimes')
    await rowOf(page, 'older').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await silenceAgent(web.server, 'agent-older', 5)
    await rowOf(page, 'older').getByText('Agent "agent-older" has been silent for 5 min.').waitFor({ timeout: 10_000 })
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
  expect(await raise.getAttribute('aria-disabled')).toBe('true')
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
    expect(await page.getByRole('button', { name }).getAttribute('aria-disabled')).toBe('true')
  expect(seen).toEqual([])
})

test('raising the capacity starts the build that waits, and the history says so', async () => {
  await fillRuntime(web.server, 'small', 1)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/small')
  await page.getByText(/^Full.*1 of 1 builds run, 1 wait\.$/).waitFor()
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
  expect(await changes.getByRole('row').last().getByRole('cell').allTextContents()).toEqual(['capacity', '1', '3'])
  await page.getByRole('button', { name: 'Use version 1 again' }).click()
  await page.getByText('version 1 again', { exact: true }).waitFor()
  expect((await web.server.admin.runtimes.get('small')).spec['capacity']).toBe(1)
  expect((await windlass(web.server, ['patch', 're', 'small', '--capacity', '4'])).code).toBe(0)
  expect((await web.server.admin.runtimes.get('small')).spec['capacity']).toBe(4)
  expect(seen).toEqual([])
})

test('a specification says where each value comes from, and refuses a wrong key at its line (W081)', async () => {
  const { admin } = web.server
  await admin.runtimeBases.put('system/corp', { spec: { runtimeScheduler: { envVars: { ZONE: 'north' } } } })
  await serveRuntime(web.server, 'team/spec', { extends: ['system/corp', 'system/default'], capacity: 2 })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/runtimes/team/spec/-/spec')
  const values = page.getByRole('region', { name: 'Values of the specification' })
  const cells = (field: string) => values.getByRole('row').filter({ has: page.getByText(field, { exact: true }) })
  expect(await cells('capacity').getByRole('cell').allTextContents()).toEqual(['capacity', '2', 'this runtime'])
  expect(await cells('runtimeScheduler.envVars.ZONE').getByRole('cell').nth(2).textContent()).toBe('system/corp')
  expect(await cells('runtimeScheduler.image').getByRole('cell').nth(2).textContent()).toBe('system/default')
  const { text } = await windlass(web.server, ['get', 're', 'team/spec', '--origins'])
  expect(text).toMatch(/^runtimeScheduler\.envVars\.ZONE +"north" +system\/corp$/m)
  await page.getByRole('button', { name: 'Edit the own layer' }).click()
  const area = page.getByRole('textbox', { name: 'Own layer of the runtime' })
  await area.fill('capacity: 2\nruntimeScheduler:\n  envVars:\n    A: "1"\n  imagine: x\n')
  await page.getByRole('button', { name: 'Save the specification' }).click()
  const problems = page.getByRole('alert', { name: 'Problems of the text' })
  await problems.getByText('spec.runtimeScheduler: Unrecognized key: "imagine"').waitFor()
  await problems.getByRole('button', { name: 'Line 5' }).click()
  expect(await area.evaluate((one: HTMLTextAreaElement) => one.value.slice(one.selectionStart, one.selectionEnd))).toBe('  imagine: x')
  await area.fill('capacity: [')
  await problems.getByRole('button', { name: /^Line 1/ }).waitFor()
  expect(await page.getByRole('button', { name: 'Save the specification' }).getAttribute('aria-disabled')).toBe('true')
  expect((await admin.runtimes.get('team/spec')).version).toBe(1)
  expect(seen).toEqual([])
})

test('a change over the change of another person shows both and saves nothing by itself (W081)', async () => {
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
  expect(await rows.last().getByRole('cell').allTextContents()).toEqual(['capacity', '2', '5', '9'])
  expect((await admin.runtimes.get('both')).spec).toMatchObject({ capacity: 5 })
  await conflict.getByRole('button', { name: 'Back to your text' }).click()
  expect(await area.inputValue()).toBe('capacity: 9\n')
  await page.keyboard.press('Control+s')
  await conflict.getByRole('button', { name: 'Save yours over version 2' }).click()
  await page.getByText('Version 3 is saved.').waitFor()
  expect((await admin.runtimes.get('both')).spec).toMatchObject({ capacity: 9 })
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
  const row = table.getByRole('row').filter({ has: page.getByRole('cell', { name: text, exact: true }) }).first()
  expect(await row.getByRole('cell').nth(1).textContent()).toBe(String(most))
  await page.goto('/runtimes/small')
  await page.getByRole('region', { name: 'Running builds' }).getByRole('link', { name: /^#\d+$/ }).first().waitFor()
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
  expect(await row.getByRole('link', { name: 'Open the build' }).getAttribute('href')).toBe(`/builds/${build.id}`)
  await page.getByText('windlass get objects Pod --cluster prod --namespace builds').waitFor()
})

test('an agent shows its facts, can be renamed, and gets a new token that is shown once', async () => {
  const { agent } = await serveRuntime(web.server, 'owned')
  await web.server.submit({ runtime: 'owned' })
  await agent.claim()
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/agents/agent-owned')
  await page.getByText('The agent is connected and serves 1 runtime.').waitFor()
  const value = (name: string) => page.getByRole('term').filter({ hasText: new RegExp(`^${name}$`) }).locator('xpath=../dd')
  expect(await value('Tasks in hand').textContent()).toBe('1')
  expect(await value('Protocol').textContent()).toBe('v2')
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
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  expect(await page.content()).not.toContain(key)
  expect(seen).toEqual([])
})

test('the keys g r and g s, the palette and the help lead to the rooms', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/builds')
  await page.getByRole('heading', { name: 'Builds', level: 1 }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.waitForURL('**/runtimes')
  await page.keyboard.press('g')
  await page.keyboard.press('s')
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
