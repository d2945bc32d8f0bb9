/** Signing in, in Chromium against a real server. */
import { pathOf, ROUTES } from '@windlass/client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../../packages/server/src/index.ts'
import { firstAdmin } from '../../support/first-admin.ts'
import { memoryFolder } from '../../support/memory-folder.ts'
import { WINDLASS } from '../../support/programs.ts'
import { openPage } from '../support/chromium.ts'
import { takePort } from '../support/ports.ts'
import { passBuild } from '../support/seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const PASSWORD = 'correct horse battery'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})
afterAll(() => web[Symbol.asyncDispose]())

/** Invites a user and sets the password. */
async function addUser(name: string): Promise<void> {
  const { admin, nobody } = web.server
  const { invitation } = await admin.users.create({ name, role: 'developer' })
  await nobody.passwords.acceptInvitation({ code: invitation?.code ?? '', password: PASSWORD })
}

test('the link that `windlass open` and `make up` print opens the build, and leaves no code in the address (W001)', async () => {
  const build = await passBuild(web.server)
  const folder = await memoryFolder('windlass-web-')
  const env = {
    ...process.env,
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
    WINDLASS_URL: web.server.server.url,
    WINDLASS_API_KEY: web.server.adminToken,
  }
  const child = spawn(WINDLASS, ['open', build.id, '--print'], { env })
  let printed = ''
  child.stdout.on('data', (part: Buffer) => (printed += part.toString()))
  await once(child, 'close')
  await rm(folder, { recursive: true, force: true })
  const link = /Open (\S+) /.exec(printed)?.[1] ?? ''
  expect(link).toContain('#code=')
  await using opened = await openPage(web.browser, { url: web.server.server.url })
  const { page } = opened
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.goto(link)
  await page.getByRole('button', { name: 'Sign in with this link' }).click()
  await page.getByText(`#${build.number}`).first().waitFor()
  expect(new URL(page.url()).pathname).toBe(`/builds/${build.id}`)
  expect(page.url()).not.toContain('code')
  const code = link.split('#code=')[1] ?? 'none'
  expect(sent.filter((url) => url.includes(code))).toEqual([])
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))).not.toContain(code)
  expect(opened.seen).toEqual([])
})

test('the first account needs the printed code; guesses get one sentence and are slowed down (W003)', async () => {
  const dataDir = await memoryFolder('windlass-web-')
  using place = await takePort()
  const { port } = place
  const server = await startServer({ dataDir, minFreeShare: 0, port })
  try {
    await using opened = await openPage(web.browser, { url: server.url })
    const { page } = opened
    await page.goto('/')
    await page.getByText('This server is not set up yet.').waitFor()
    const code = page.getByLabel('Set-up code')
    const sentences = new Set<string>()
    const said = page.locator('[aria-invalid="true"] + p')
    for (let n = 0; n < 40; n += 1) {
      await code.fill(n === 0 ? 'x' : `guess-${n}-of-another-length`)
      const answered = page.waitForResponse((response) => response.url().endsWith(pathOf(ROUTES.server.bootstrap)))
      await page.getByRole('button', { name: 'Set up' }).click()
      await answered
      await said.waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Set up' }).getAttribute('aria-busy')).toBeNull()
      const sentence = (await said.textContent()) ?? ''
      sentences.add(sentence)
      if (/Try again in \d+ s\./.test(sentence)) break
    }
    expect(sentences.size).toBe(2)
    expect([...sentences][1]).toMatch(/Try again in \d+ s\./)
  } finally {
    await server.close()
  }
  const again = await startServer({ dataDir, minFreeShare: 0, port })
  try {
    const { code } = await firstAdmin(dataDir)
    await using opened = await openPage(web.browser, { url: again.url })
    const { page } = opened
    await page.goto('/')
    await page.getByLabel('Set-up code').fill(code ?? '')
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByText('Three commands lead to the first one').waitFor()
    await page.getByText(`windlass login --url ${again.url}`).waitFor()
    expect(opened.seen).toEqual([])
  } finally {
    await again.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('an unknown name and a wrong password get one sentence, and after five failures the wait is shown in seconds (W004)', async () => {
  await addUser('mira')
  await using opened = await openPage(web.browser, { url: web.server.server.url })
  const { page } = opened
  await page.goto('/signin')
  const tryAs = async (name: string): Promise<string> => {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Password').fill('not the password')
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await answered
    await expect.poll(() => page.getByRole('button', { name: 'Sign in', exact: true }).getAttribute('aria-busy')).toBeNull()
    return (await page.locator('[aria-invalid="true"] + p').textContent()) ?? ''
  }
  const wrongName = await tryAs('nobody-has-this-name')
  const wrongPassword = await tryAs('mira')
  expect(wrongPassword).toBe(wrongName)
  expect(wrongName).not.toMatch(/\d+ s/)
  for (let n = 0; n < 4; n += 1) await tryAs('mira')
  expect(await tryAs('mira')).toMatch(/Try again in \d+ s\./)
  expect(opened.seen).toEqual([])
})

test('a session that ends under an open form asks in a dialog, and what was typed is still there (W007)', async () => {
  await addUser('jo')
  await using opened = await openPage(web.browser, { url: web.server.server.url })
  const { page } = opened
  const signIn = async (): Promise<void> => {
    await page.getByLabel('Name', { exact: true }).fill('jo')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  await page.goto('/pipelines/demo/app/-/run')
  await signIn()
  const branch = page.getByLabel('Branch')
  const commit = page.getByLabel('Commit')
  await branch.fill('written-before-the-session-ended')
  await commit.fill('9e11f037aa11bb22cc33dd44ee55ff6677889900')
  await web.server.admin.sessions.signOutEverywhere({ query: { user: 'jo' } })
  await page.getByRole('button', { name: 'Run the pipeline' }).click()
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  await dialog.waitFor()
  expect(new URL(page.url()).pathname).toBe('/pipelines/demo/app/-/run')
  await page.keyboard.press('Escape')
  expect(await dialog.isVisible()).toBe(true)
  await signIn()
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => branch.inputValue()).toBe('written-before-the-session-ended')
  await expect.poll(() => commit.inputValue()).toBe('9e11f037aa11bb22cc33dd44ee55ff6677889900')
  await page.getByRole('button', { name: 'Run the pipeline' }).click()
  await page.waitForURL('**/builds/*')
  expect(opened.seen).toEqual([])
})

test('another user of the browser finds no unsaved document and no last choices of the one before', async () => {
  await addUser('first')
  await addUser('second')
  await web.server.admin.pipelines.create({ name: 'demo/shared', document: "version: '1.0'\nsteps: {}\n" })
  await using opened = await openPage(web.browser, { url: web.server.server.url })
  const { page } = opened
  const signIn = async (name: string): Promise<void> => {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  const stored = (): Promise<string> => page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))
  await page.goto('/pipelines/demo/shared/-/edit')
  await signIn('first')
  await page.getByRole('region', { name: 'Problems' }).waitFor()
  await page.getByRole('textbox', { name: 'Document of the pipeline' }).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText('# words of the first')
  await expect.poll(stored).toContain('words of the first')
  await page.evaluate(() => localStorage.setItem('windlass.recents', '[{"label":"chosen by the first","path":"/system"}]'))
  await web.server.admin.sessions.signOutEverywhere({ query: { user: 'first' } })
  await page.goto('/signin?next=%2Fpipelines%2Fdemo%2Fshared%2F-%2Fedit')
  await signIn('second')
  const editor = page.getByRole('textbox', { name: 'Document of the pipeline' })
  await editor.waitFor()
  expect(await editor.textContent()).not.toContain('words of the first')
  expect(await stored()).not.toContain('the first')
})
