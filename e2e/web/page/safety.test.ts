/** Texts of others stay text on every screen, and the screens can be used by everybody. */
import type { Build, ReportedGitlabJob } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { argoApplication, event, openReporter } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { openGitlabManager, reportedJob } from '../../../packages/server/test/support/fakes/gitlab-manager.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { auditLooks, AXE } from '../support/audit.ts'
import { openPage, sharedChromium } from '../support/chromium.ts'
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

/** Reports applications whose texts are hostile. */
async function reportHostileApplications(server: HttpScene): Promise<void> {
  const { token } = await server.admin.gitopsRuntimes.createToken('prod')
  const report = openReporter(server, token)
  const applications = PAYLOADS.slice(0, 40).map((text, index) =>
    argoApplication(`hostile-${index}`, {
      project: text.slice(0, 60),
      health: 'Degraded',
      spec: { source: { repoURL: text, path: text, targetRevision: text } },
      status: {
        conditions: [{ type: text.slice(0, 60), message: text }],
        operationState: { phase: 'Failed', message: text, operation: { initiatedBy: { username: text } } },
        resources: [{ version: 'v1', kind: text, namespace: text, name: text, health: { status: 'Degraded', message: text } }],
        summary: { images: [text] },
      },
    }),
  )
  await report({ data: applications.map((application) => event(application, Date.now())) })
}

/** A job of GitLab with the text in each of its fields. */
function hostileJob(text: string, number: number): ReportedGitlabJob {
  const short = text.slice(0, 60)
  const names = {
    name: short,
    project: short,
    stage: short,
    ref: short,
    runner: short,
    reason: short,
    pod: short,
    namespace: short,
  }
  return reportedJob(number, { ...names, message: text.slice(0, 1_000) })
}

const HOSTILE_VARIABLES = PAYLOADS.slice(0, 40).map((value, index) => ({ key: `H${index}`, value, encrypted: false }))

const PIPELINE_TABS = ['', '/-/trends', '/-/edit', '/-/triggers', '/-/history?version=1', '/-/settings', '/-/run']
/** Tabs on which a running build has what an ended one lacks. */
const TABS_OF_RUNNING = ['', '/graph', '/debug']
const TABS = ['', '/graph', '/variables', '/usage', '/events', '/document', '/compare', '/debug']

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
  await scene.admin.pipelines.create({ name: 'demo/hostile', document: hostileDocument(), variables: HOSTILE_VARIABLES })
  await failBuild(scene, { pipeline: 'demo/hostile', document: DOCUMENT, branch: PAYLOADS[0] })
  const hostile = PAYLOADS.join(' ').slice(0, 900)
  const { name, type, agent } = await scene.admin.runtimes.get('local')
  const spec = {
    description: hostile,
    runtimeScheduler: { envVars: { HOSTILE: hostile }, labels: { [PAYLOADS[1] ?? '']: 'x' } },
  }
  await scene.admin.runtimes.put('local', { name, type, agent, isDefault: true, spec }, { query: { description: hostile } })
  await scene.admin.settings.put({
    ...(await scene.admin.settings.get()),
    pauseBuilds: true,
    pauseReason: hostile.slice(0, 500),
  })
  await putHostileVersions(scene)
  await scene.admin.views.create({
    name: 'Hostile',
    filter: { branch: PAYLOADS.slice(0, 40).map((text) => text.slice(0, 300)) },
  })
  const gitlab = await openGitlabManager(scene)
  await gitlab.report(PAYLOADS.slice(0, 100).map((text, index) => hostileJob(text, index + 1)))
  await reportHostileApplications(scene)
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

const FLEET_SCREENS = [
  '/runtimes',
  ...['', '/-/disks', '/-/pods', '/-/spec', '/-/spec?edit=true', '/-/history'].map((tab) => `/runtimes/local${tab}`),
  '/agents/agent',
  '/gitlab-jobs',
  '/delivery/apps',
  '/delivery/products',
  ...['', '/diff', '/history'].map((part) => `/delivery/apps/prod/argocd/hostile-0${part}`),
  '/system',
]
const OTHER_SCREENS = [
  '/pipelines',
  '/pipelines/-/new',
  ...PIPELINE_TABS.map((tab) => `/pipelines/demo/safety${tab}`),
  '/approvals',
  '/runtimes?connect=true',
  ...FLEET_SCREENS,
]

test('no screen has a serious breach of accessibility or scrolls sideways, light and dark, 1280 px and 360 px (W088, W090)', async () => {
  await scene.admin.pipelines.put('demo/safety', {
    name: 'demo/safety',
    document: DOCUMENT,
    variables: [{ key: 'TOKEN', value: 'x', encrypted: true }],
  })
  await failBuild(scene, { pipeline: 'demo/safety', document: undefined })
  const build = await failBuild(scene)
  const held = await holdBuild(scene)
  // Colors change at once, without a transition.
  await using opened = await openPage(
    browser,
    { url: scene.server.url, key: scene.adminToken },
    { bypassCSP: true, reducedMotion: 'reduce' },
  )
  const { page } = opened
  const tabsOf = ({ id }: Build, tabs: readonly string[]): string[] => tabs.map((tab) => `/builds/${id}${tab}`)
  const wrong: object[] = []
  await page.goto('/nothing-here')
  await page.evaluate(AXE)
  for (const path of [
    '/builds',
    ...tabsOf(build, TABS),
    ...tabsOf(held.build, TABS_OF_RUNNING),
    ...OTHER_SCREENS,
    ...inbox.paths,
    '/nothing-here',
  ]) {
    await show(page, path)
    wrong.push(...(await auditLooks(page, path)))
  }
  expect(wrong).toEqual([])
})
