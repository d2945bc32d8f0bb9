/** Texts of others stay text on every screen. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { openGitlabManager } from '../../../packages/server/test/support/fakes/gitlab-manager.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { openPage, sharedChromium } from '../support/chromium.ts'
import { FLEET_SCREENS, foreignJob, PIPELINE_TABS, seedForeignTexts, TABS } from '../support/foreign-texts.ts'
import { seedInbox, type Inbox } from '../support/inbox-seeds.ts'
import { OUTPUT_PAYLOADS, PAYLOADS, TERMINAL_PAYLOADS } from '../support/payloads.ts'
import { DOCUMENT, failBuild, runBuild } from '../support/seeds.ts'
import { holdBuild, openTerminal, screenOf } from '../support/terminal-scene.ts'
import { show } from '../support/waits.ts'
import { openServer } from '../support/web-scene.ts'

let scene: HttpScene
let browser: Browser
let inbox: Inbox

beforeAll(async () => {
  scene = await openServer()
  inbox = await seedInbox(scene, PAYLOADS)
  browser = await sharedChromium()
})

afterAll(() => scene[Symbol.asyncDispose]())

/** A document whose titles, values and comments are hostile texts. Unknown fields put further ones into its problems. */
function hostileDocument(): string {
  const steps = PAYLOADS.filter((text) => text.trim() !== '' && !text.includes('\u0000')).map(
    (text, index) =>
      `  step_${index}:\n    image: ${JSON.stringify(text.slice(0, 200))}\n    title: ${JSON.stringify(text)}\n    commands: [${JSON.stringify(text)}]\n`,
  )
  return `version: '1.0'\nstages: [${JSON.stringify(PAYLOADS[0])}]\nsteps:\n${steps.join('')}`
}

const HOSTILE_VARIABLES = PAYLOADS.slice(0, 40).map((value, index) => ({ key: `H${index}`, value, encrypted: false }))

test(`${PAYLOADS.length} hostile texts in branches, messages, annotations, variables and output are text on every screen (W092)`, async () => {
  const names = PAYLOADS.map((_, index) => [`P${index}`, PAYLOADS[index] ?? ''] as const)
  const { build, engine } = await runBuild(scene, {
    branch: PAYLOADS[0],
    git: { commitMessage: PAYLOADS[1], commitAuthor: PAYLOADS[2] },
    variables: Object.fromEntries(names),
    annotations: { note: PAYLOADS.join(' ').slice(0, 60_000) },
  })
  await scene.admin.annotations.put('build', build.id, { values: { shown: PAYLOADS[1] ?? '' }, display: 'shown' })
  await engine.log('step/install', [...PAYLOADS, ...OUTPUT_PAYLOADS, ''].join('\n'))
  await engine.event({
    type: 'step.finished',
    step: 'install',
    try: 1,
    status: 'error',
    reason: 'exit-code',
    exitCode: 1,
    members: {},
    exports: [],
    message: PAYLOADS[1],
  })
  await engine.finish({ status: 'error', reason: 'step-failed', message: PAYLOADS.slice(0, 9).join(' ') })
  await seedForeignTexts(scene, PAYLOADS.slice(0, 40))
  await scene.admin.pipelines.create({ name: 'demo/hostile', document: hostileDocument(), variables: HOSTILE_VARIABLES })
  await failBuild(scene, { pipeline: 'demo/hostile', document: DOCUMENT, branch: PAYLOADS[0] })
  await scene.admin.settings.put({
    ...(await scene.admin.settings.get()),
    pauseBuilds: true,
    pauseReason: PAYLOADS.join(' ').slice(0, 500),
  })
  await putHostileVersions(scene)
  const gitlab = await openGitlabManager(scene)
  await gitlab.report(PAYLOADS.slice(0, 100).map((text, index) => foreignJob(text, index + 1)))
  await using opened = await openPage(browser, { url: scene.server.url, key: scene.adminToken })
  const { page, seen } = opened
  await page.goto('/nothing-here')
  for (const path of [
    ...FLEET_SCREENS,
    '/pipelines',
    ...PIPELINE_TABS.map((tab) => `/pipelines/demo/hostile${tab}`),
    `/pipelines/demo/hostile/-/run?v.A=${encodeURIComponent(PAYLOADS[1] ?? '')}&branch=${encodeURIComponent(PAYLOADS[2] ?? '')}`,
    '/pipelines/demo/hostile-history/-/history?version=2',
    '/builds',
    `/builds?branch=${encodeURIComponent(PAYLOADS[0] ?? '')}`,
    ...TABS.map((tab) => `/builds/${build.id}${tab}`),
    `/builds/${build.id}/steps/install`,
    ...inbox.paths,
  ]) {
    await show(page, path)
    expect(
      await page.evaluate(() => [
        document.querySelectorAll('base, iframe, object, embed, form[action], a[href^="javascript"]').length,
        '__breach' in window,
      ]),
    ).toEqual([0, false])
  }
  expect(seen).toEqual([])
  const { pauseReason: _, ...settings } = await scene.admin.settings.get()
  await scene.admin.settings.put({ ...settings, pauseBuilds: false })
})

test(`${PAYLOADS.length + TERMINAL_PAYLOADS.length} hostile texts in a terminal have no effect outside of it (W092)`, async () => {
  const held = await holdBuild(scene)
  await using opened = await openPage(
    browser,
    { url: scene.server.url, key: scene.adminToken },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  )
  const { page, seen } = opened
  const opens: string[] = []
  page.context().on('page', (other) => opens.push(other.url()))
  const { shell, frame } = await openTerminal(page, held)
  await using _shell = shell
  await frame.getByRole('textbox').focus()
  await page.evaluate(() => navigator.clipboard.writeText('what was there'))
  const title = await page.title()
  const inner = await frame.locator('html').evaluate(() => document.title)
  await shell.say(`${[...PAYLOADS, ...OUTPUT_PAYLOADS, ...TERMINAL_PAYLOADS].join('\r\n')}\r\n`)
  await shell.say('\u001Bcthe end')
  await expect.poll(() => screenOf(frame)).toBe('the end')
  expect(await page.title()).toBe(title)
  for (const part of [page.mainFrame(), ...page.mainFrame().childFrames()])
    expect(
      await part.evaluate(() => ['__breach' in window, document.querySelectorAll('form[action], object, embed, base').length]),
    ).toEqual([false, 0])
  expect(await frame.locator('html').evaluate(() => document.title)).toBe(inner)
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('what was there')
  expect(opens).toEqual([])
  expect(seen).toEqual([])
})

/** A pipeline whose document and reasons of changes are hostile texts. */
async function putHostileVersions({ admin }: HttpScene): Promise<void> {
  const name = 'demo/hostile-history'
  await admin.pipelines.put(name, { name, document: 'steps: {}' }, { query: { message: PAYLOADS[1]?.slice(0, 1000) } })
  const document = `steps: {}\n${PAYLOADS.map((text) => `# ${text.replaceAll(/[\r\n\0]/g, ' ').slice(0, 2000)}`).join('\n')}`
  await admin.pipelines.put(name, { name, document }, { query: { message: PAYLOADS[0]?.slice(0, 1000) } })
}
