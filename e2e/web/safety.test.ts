/** Texts of others stay text on every screen, and the screens can be used by everybody. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { openHttpScene, type HttpScene } from '../../packages/server/test/support/http-scene.ts'
import { openPage, startChromium } from './support/chromium.ts'
import { OUTPUT_PAYLOADS, PAYLOADS } from './support/payloads.ts'
import { failBuild, runBuild } from './support/seeds.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let scene: HttpScene
let browser: Browser

beforeAll(async () => {
  scene = await openHttpScene()
  browser = await startChromium()
})

afterAll(async () => {
  await browser.close()
  await scene[Symbol.asyncDispose]()
})

const TABS = ['', '/graph', '/variables', '/events', '/document']

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
  for (const branch of PAYLOADS.slice(0, 40))
    await scene.admin.builds.create({ document: 'steps: {}', branch }, { idempotencyKey: false }).catch(() => undefined)
  await putHostileVersions(scene)
  await scene.admin.views.create({ name: 'Hostile', filter: { branch: PAYLOADS.slice(0, 40).map((text) => text.slice(0, 300)) } })
  await using opened = await openPage(browser, { url: scene.server.url, key: scene.adminToken })
  const { page, seen } = opened
  for (const path of [
    '/builds',
    '/pipelines/demo/hostile/-/history?version=2',
    `/builds?branch=${encodeURIComponent(PAYLOADS[0] ?? '')}`,
    ...TABS.map((tab) => `/builds/${build.id}${tab}`),
    `/builds/${build.id}/steps/install`,
  ]) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined)
    expect(
      await page.evaluate(() => [
        document.querySelectorAll('base, iframe, object, embed, form[action], a[href^="javascript"]').length,
        '__breach' in window,
      ]),
    ).toEqual([0, false])
  }
  expect(seen).toEqual([])
})

/** A pipeline whose document and reasons of changes are hostile texts. */
async function putHostileVersions({ admin }: HttpScene): Promise<void> {
  const name = 'demo/hostile'
  await admin.pipelines.put(name, { name, document: 'steps: {}' }, { query: { message: PAYLOADS[1]?.slice(0, 1000) } })
  const document = `steps: {}\n${PAYLOADS.map((text) => `# ${text.replaceAll(/[\r\n\0]/g, ' ').slice(0, 2000)}`).join('\n')}`
  await admin.pipelines.put(name, { name, document }, { query: { message: PAYLOADS[0]?.slice(0, 1000) } })
}

async function breachesOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  })
}

const OTHER_SCREENS = ['/pipelines', '/approvals', '/pipelines/demo/hostile/-/history?version=2']

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
] as const)(
  'no screen has a serious breach of accessibility or scrolls sideways, %s, %i px (W088, W090)',
  async (colorScheme, width) => {
    const build = await failBuild(scene)
    // The audit is put into the page by a debugger, which the policy would not allow.
    await using opened = await openPage(
      browser,
      { url: scene.server.url, key: scene.adminToken },
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
    )
    const { page } = opened
    for (const path of ['/builds', ...TABS.map((tab) => `/builds/${build.id}${tab}`), ...OTHER_SCREENS, '/nothing-here']) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined)
      expect({ path, breaches: await breachesOf(page) }).toEqual({ path, breaches: [] })
      expect({ path, wider: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) }).toEqual({
        path,
        wider: 0,
      })
    }
  },
)
