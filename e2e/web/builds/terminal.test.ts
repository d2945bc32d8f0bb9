/** The debugger in the page: held steps, terminals and breakpoints, with an engine that follows a script. */
import { rm } from 'node:fs/promises'
import { pathOf, ROUTES } from '@windlass/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { startServer } from '../../../packages/server/src/index.ts'
import { holdStep, serveTerminal } from '../../../packages/server/test/support/fakes/fake-terminal.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { startEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { memoryFolder } from '../../support/memory-folder.ts'
import { openPage } from '../support/chromium.ts'
import { failBuild, runBuild } from '../support/seeds.ts'
import { commandsOf, holdBuild, openTerminal, paste, screenOf } from '../support/terminal-scene.ts'
import { openBuild } from '../support/waits.ts'
import { openServer, openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let scene: HttpScene
let browser: Browser

beforeAll(async () => {
  web = await openWebScene()
  ;({ server: scene, browser } = web)
})

afterAll(() => web[Symbol.asyncDispose]())

test('keys reach the program once and in order, one call at a time, and the size follows the window', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  const { page, seen } = opened
  const { shell, frame } = await openTerminal(page, held, (keys) => keys.replaceAll('\r', '\r\n'))
  await using _shell = shell
  let inFlight = 0
  let most = 0
  let calls = 0
  const typed = Promise.withResolvers<void>()
  await page.route('**/input', async (route) => {
    inFlight += 1
    calls += 1
    most = Math.max(most, inFlight)
    // What is typed while a call is under way goes with the next one. A call without an answer for 10 s is repeated.
    await Promise.race([typed.promise, new Promise((resolve) => setTimeout(resolve, 5_000))])
    await route.continue()
    inFlight -= 1
  })
  await frame.getByRole('textbox').focus()
  await page.keyboard.type('echo the quick brown fox', { delay: 5 })
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+c')
  typed.resolve()
  await expect.poll(() => shell.keys()).toBe('echo the quick brown fox\r\u0003')
  await expect.poll(() => screenOf(frame)).toContain('echo the quick brown fox')
  expect(most).toBe(1)
  expect(calls).toBeLessThan(10)
  const columnsNow = (): number => Number(shell.sizes.at(-1)?.split('x')[0])
  const before = columnsNow()
  expect(before).toBeGreaterThan(80)
  await page.setViewportSize({ width: 800, height: 700 })
  await expect.poll(columnsNow).toBeLessThan(before - 20)
  expect(seen).toEqual([])
})

test('the terminal in the page uses the stream of the page (W009)', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  const { page } = opened
  const frames: string[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === pathOf(ROUTES.server.stream))
      frames.push(request.frame() === page.mainFrame() ? 'page' : 'frame')
  })
  const { shell, frame } = await openTerminal(page, held)
  await using _shell = shell
  await shell.say('hello over one connection')
  await expect.poll(() => screenOf(frame)).toBe('hello over one connection')
  expect(new Set(frames)).toEqual(new Set(['page']))
})

test('a terminal survives reload and a restart of the server, is seen by a second person, replays when ended, and is closed to viewers (W039)', async () => {
  const dataDir = await memoryFolder('windlass-web-')
  await using own = await openServer({ dataDir })
  await own.admin.users.create({ name: 'second', kind: 'service-account', role: 'developer' })
  const second = await own.admin.keys.create({ name: 'second-key', owner: 'second' })
  const viewer = await own.admin.keys.create({ name: 'viewer', role: 'viewer' })
  const held = await holdBuild(own)
  await using opened = await openPage(browser, { url: own.server.url, key: own.adminToken })
  const { page, seen } = opened
  const { shell, id, frame } = await openTerminal(page, held)
  await using _shell = shell
  await using other = await openPage(browser, { url: own.server.url, key: second.token })
  const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join('\n')
  const say = async (from: number, to: number): Promise<void> => {
    for (let n = from; n <= to; n += 1) await shell.say(`line ${n}\r\n`)
  }
  await say(1, 4)
  await expect.poll(() => screenOf(frame)).toBe(lines(4))
  const reloaded = page.reload()
  await say(5, 8)
  await reloaded
  await expect.poll(() => screenOf(frame)).toBe(lines(8))

  await other.page.goto(`/builds/${held.build.id}/terminals/${id}`)
  await expect.poll(() => screenOf(other.page)).toBe(lines(8))
  await other.page.getByRole('status').getByText('admin opened this terminal').waitFor()
  await other.page.keyboard.type('not passed on')

  await own.server.close()
  await frame.getByText('The connection is lost').waitFor()
  await frame.getByRole('textbox').focus()
  await page.keyboard.type('typed while away')
  const saying = say(9, 12)
  const again = await startServer({ dataDir, port: Number(new URL(own.server.url).port), minFreeShare: 0 })
  try {
    await saying
    await expect.poll(() => screenOf(frame)).toBe(lines(12))
    await expect.poll(() => screenOf(other.page)).toBe(lines(12))
    await expect.poll(() => shell.keys()).toBe('typed while away')

    await held.engine.log(`terminal/${id}`, lines(12).replaceAll('\n', '\r\n'))
    await shell.end({ exitCode: 3 })
    await frame.getByText('The terminal ended with exit code 3.').waitFor()
    await page.reload()
    await page.getByRole('link', { name: /^install · admin · .* \(ended\)/ }).click()
    await expect.poll(() => screenOf(frame)).toBe(lines(12))
    await frame.getByText('Recording. The terminal ended with exit code 3').waitFor()

    await using closed = await openPage(browser, { url: own.server.url, key: viewer.token })
    await closed.page.goto(`/builds/${held.build.id}/terminals/${id}`)
    await closed.page.getByText('The role developer is needed to set breakpoints and open terminals').waitFor()
    expect(await closed.page.locator('.xterm').count()).toBe(0)
    await closed.page.goto(`/builds/${held.build.id}/debug`)
    const terminals = closed.page.getByRole('region', { name: 'Terminals' })
    await terminals.getByText('The role developer is needed to set breakpoints and open terminals').waitFor()
    expect(await closed.page.locator('iframe').count()).toBe(0)
    const card = closed.page.getByRole('region', { name: 'Held step install' })
    await expect.poll(() => card.getByRole('button', { name: 'Continue' }).getAttribute('aria-disabled')).toBe('true')
    expect(seen).toEqual([])
  } finally {
    await again.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('a paste of several lines asks first, and is bracketed for a program that wants it', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  const { shell, frame } = await openTerminal(opened.page, held)
  await using _shell = shell
  await shell.say('\u001B[?2004hready')
  await expect.poll(() => screenOf(frame)).toBe('ready')
  await paste(frame, 'one line')
  await expect.poll(() => shell.keys()).toBe('\u001B[200~one line\u001B[201~')
  await paste(frame, 'rm -rf a\nrm -rf b')
  const question = frame.getByRole('dialog', { name: 'Paste 2 lines?' })
  await question.getByText('rm -rf b').waitFor()
  await question.getByRole('button', { name: 'Cancel' }).click()
  await paste(frame, 'a\u001B[201~\nb')
  await question.getByRole('button', { name: 'Paste' }).click()
  await expect.poll(() => shell.keys()).toBe('\u001B[200~one line\u001B[201~\u001B[200~a[201~\rb\u001B[201~')
})

test('a question of a program is answered once, also after a reload', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  const { page } = opened
  const { shell, frame } = await openTerminal(page, held)
  await using _shell = shell
  await shell.say('where\u001B[6n')
  await expect.poll(() => shell.keys()).toBe('\u001B[1;6R')
  await page.reload()
  await expect.poll(() => screenOf(frame)).toBe('where')
  await frame.getByRole('textbox').focus()
  // Keys count once the earlier output is shown.
  await expect
    .poll(async () => {
      await page.keyboard.type('x')
      return shell.keys().replace('\u001B[1;6R', '')
    })
    .toMatch(/^x+$/)
})

test('the keys that leave a terminal return to the page and do not reach the program', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  const { page } = opened
  const { shell, frame } = await openTerminal(page, held)
  await using _shell = shell
  await frame.getByRole('textbox').focus()
  await page.keyboard.type('ls')
  await page.keyboard.press('Control+p')
  await page.keyboard.press('Control+q')
  await page.getByText('You left the terminal. The step stays held.').waitFor()
  await expect.poll(() => shell.keys()).toBe('ls')
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Terminal in install')
})

test('the buttons of a held step ask the engine for what they say', async () => {
  const held = await holdBuild(scene)
  await using opened = await web.open()
  await opened.page.goto(`/builds/${held.build.id}`)
  const card = opened.page.getByRole('region', { name: 'Held step install' })
  await card.getByText('The role developer is enough').waitFor()
  for (const [label, action] of [
    ['15 minutes more', 'extend'],
    ['Retry', 'retry'],
    ['Fail', 'fail'],
    ['Continue', 'continue'],
  ] as const) {
    await card.getByRole('button', { name: label }).click()
    expect(await held.next('debug-continue')).toMatchObject({ step: 'install', action })
  }
  await held.engine.event({
    type: 'step.finished',
    step: 'install',
    try: 1,
    status: 'success',
    exitCode: 0,
    members: {},
    exports: [],
  })
  await card.waitFor({ state: 'detached' })
})

test('breakpoints are set on the tree of a running build, and for another run of one that has ended', async () => {
  const { build, engine } = await runBuild(scene, { pipeline: 'demo/app', document: undefined })
  const next = commandsOf(engine)
  await using opened = await web.open()
  const { page } = opened
  await openBuild(page, build)
  await page.keyboard.press('d')
  await page.waitForURL(`**/builds/${build.id}/debug`)
  await expect.poll(() => page.getByLabel('main_clone: before').isDisabled()).toBe(true)
  await page.getByLabel('unit_tests: in place').check()
  await page.getByLabel('Hold every step that fails').check()
  await page.getByText(`windlass debug ${build.id} --break unit_tests:override --on-failure`).waitFor()
  await page.getByRole('button', { name: 'Set 2 breakpoints' }).click()
  expect(await next('debug')).toMatchObject({ settings: { steps: { unit_tests: ['override'] }, onFailure: true } })
  await page.getByRole('button', { name: 'Turn debugging off' }).click()
  expect((await next('debug')).settings).toBeUndefined()
  await engine.finish({ status: 'error', reason: 'step-failed' })
  await page.getByLabel('main_clone: after').check()
  await page.getByRole('button', { name: 'Restart with 1 breakpoint' }).click()
  await page.waitForURL((url) => url.pathname.endsWith('/debug') && !url.pathname.includes(build.id))
  const started = new URL(page.url()).pathname.split('/')[2] ?? ''
  expect((await scene.admin.debug.get(started)).settings).toMatchObject({ steps: { main_clone: ['after'] } })
  await scene.admin.builds.terminate(started)
})

test('Debug on a failed build runs it again, stops in the failed step, and opens a terminal there', async () => {
  const build = await failBuild(scene, { pipeline: 'demo/app', document: undefined })
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('button', { name: 'Debug: run again and stop there' }).click()
  await page.waitForURL(/\/debug\?stop=unit_tests$/)
  await page.getByText('A terminal opens here as soon as the debugger holds unit_tests').waitFor()
  const id = new URL(page.url()).pathname.split('/')[2] ?? ''
  expect((await scene.admin.debug.get(id)).settings?.steps).toEqual({ unit_tests: ['failure'] })
  for (;;) {
    const task = (await scene.agent.claim()).find((one) => one.kind === 'start-attempt' && one.buildId === id)
    if (task?.kind !== 'start-attempt') continue
    await scene.agent.report(task, 'done')
    const engine = await startEngine(scene.server.url, task)
    await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
    await engine.event({ type: 'step.started', step: 'unit_tests', try: 1 })
    await holdStep(engine, 'unit_tests', 'failure')
    const { terminal } = await commandsOf(engine)('terminal')
    await using shell = serveTerminal(engine, terminal)
    await shell.say('/app # ')
    await expect.poll(() => screenOf(page.frameLocator('iframe'))).toBe('/app #')
    await page.waitForURL(new RegExp(`/debug\\?terminal=${terminal}$`))
    await engine.finish({ status: 'success' })
    return
  }
})
