/** The command lines that the page shows, and that they do what the page does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Build } from '@windlass/protocol'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { memoryFolder } from '../../support/memory-folder.ts'
import { WINDLASS } from '../../support/programs.ts'
import type { WatchedPage } from '../support/chromium.ts'
import { SCREENS } from '../support/screens.ts'
import { failBuild, passBuild } from '../support/seeds.ts'
import { follow, show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let opened: WatchedPage
let folder: string
let build: Build

beforeAll(async () => {
  web = await openWebScene()
  folder = await memoryFolder('windlass-web-')
  await web.server.admin.contexts.create({ name: 'shared', type: 'config', isDefault: false, data: { A: '1' } })
  await passBuild(web.server, { branch: 'next' })
  await passBuild(web.server, { pipeline: 'demo/app', document: undefined })
  build = await failBuild(web.server, { pipeline: 'demo/app', document: undefined })
  opened = await web.open()
  await opened.page.goto('/nothing-here')
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  await web[Symbol.asyncDispose]()
})

/** Runs a command line without quotes in this process. Starting the program takes longer than the command. */
async function runHere(line: string): Promise<{ readonly code: number; readonly output: string }> {
  const { code, text } = await windlass(web.server, line.split(' ').slice(1))
  return { code, output: text }
}

/** Runs a command line in a shell, as a user does who has copied it. */
async function run(line: string): Promise<{ readonly code: number; readonly output: string }> {
  const env = {
    ...process.env,
    NO_COLOR: '1',
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
    WINDLASS_URL: web.server.server.url,
    WINDLASS_API_KEY: web.server.adminToken,
  }
  const child = spawn('sh', ['-c', line.replace(/^windlass /, `${WINDLASS} `)], { env })
  let output = ''
  child.stdout.on('data', (part: Buffer) => (output += part.toString()))
  child.stderr.on('data', (part: Buffer) => (output += part.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code: code ?? -1, output }
}

/** Screens that only this test visits. */
const MORE = [
  ['deliveries', 'windlass get deliveries'],
  ['contexts', 'windlass get contexts'],
  ['access/people', 'windlass get users'],
  ['access/keys', 'windlass get keys'],
  ['access/audit', 'windlass audit list'],
  ['pipelines/demo/app/-/history', 'windlass get pipelines demo/app --history'],
] as const

test.each([
  ...SCREENS.flatMap(({ name, path, command }) => (command === undefined ? [] : [{ name, path, command }])),
  ...MORE.map(([name, command]) => ({ name, path: () => `/${name}`, command })),
])('the screen "$name" shows the command `$command` (W098)', async ({ path, command }) => {
  const { page } = opened
  await follow(page, path({ build: build.id }))
  await page.locator('main').getByText(command, { exact: true }).waitFor()
  if (command.startsWith('windlass run')) return
  const { code, output } = await runHere(command)
  expect({ code, output }).toMatchObject({ code: 0 })
})

test('the command of the list prints the builds of the list, in their order (W098)', async () => {
  const { page } = opened
  for (const search of [
    '',
    '?status=error',
    '?branch=next&status=success',
    `?from=${Date.now() - 3_600_000}&pipeline=demo%2Fapp`,
  ]) {
    await show(page, `/builds${search}`)
    const line = (await page.locator('main code').filter({ hasText: 'windlass get builds' }).textContent()) ?? ''
    const { output } = await run(`${line} --output json`)
    const listed = JSON.parse(output) as { readonly id: string } | readonly { readonly id: string }[]
    const ids = (): Promise<(string | null)[]> =>
      page.locator('[data-build]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-build')))
    await expect.poll(ids).toEqual([listed].flat().map(({ id }) => id))
    expect(await ids()).not.toEqual([])
  }
})

test('the commands of the actions of a build are shown, and restart and terminate it (W098)', async () => {
  const { page } = opened
  await follow(page, `/builds/${build.id}`)
  await page.getByRole('button', { name: 'Actions' }).click()
  const notes = page.getByRole('menuitem').locator('small')
  const commands = [
    `windlass restart ${build.id}`,
    `windlass restart ${build.id} --from-failed`,
    `windlass restart ${build.id} --from unit_tests`,
    `windlass restart ${build.id} --debug`,
  ]
  await expect.poll(async () => (await notes.allTextContents()).filter((note) => note.startsWith('windlass '))).toEqual(commands)
  for (const command of commands) {
    const { code, output } = await runHere(`${command} --detach`)
    expect({ command, code, output }).toMatchObject({ code: 0 })
    const { items } = await web.server.admin.builds.list({ query: { limit: 1 } })
    expect(items[0]?.restartOf).toBe(build.id)
    // The menu is open.
    await page.keyboard.press('Escape')
    await show(page, `/builds/${items[0]?.id}`)
    await page.getByRole('button', { name: 'Actions' }).click()
    const terminate = await page
      .getByRole('menuitem', { name: /Terminate the build/ })
      .locator('small')
      .textContent()
    expect(terminate).toBe(`windlass terminate ${items[0]?.id}`)
    expect((await runHere(terminate ?? '')).code).toBe(0)
    await expect.poll(async () => (await web.server.admin.builds.get(items[0]?.id ?? '')).status).toMatch(/terminat/)
  }
})

test('the commands in the details of a step print its log, its problems and what is new in it (W098)', async () => {
  const { page } = opened
  await page.keyboard.press('Escape')
  await follow(page, `/builds/${build.id}/steps/unit_tests`)
  await page.getByRole('button', { name: 'Details' }).click()
  const lines = page.locator('code').filter({ hasText: 'windlass logs' })
  await lines.first().waitFor()
  const log = `windlass logs ${build.id} --step unit_tests`
  const commands = await lines.allTextContents()
  expect(commands).toEqual([log, `${log} --problems`, `${log} --new`])
  for (const command of commands) {
    const { code, output } = await run(command)
    expect({ command, code, output }).toEqual({ command, code: 0, output: expect.stringContaining('expected 19 to be 7') })
  }
})
