/** The screens can be used by everybody, in every look. */
import type { Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openGitlabManager } from '../../../packages/server/test/support/fakes/gitlab-manager.ts'
import { auditLooks, AXE } from '../support/audit.ts'
import { openPage, sharedChromium } from '../support/chromium.ts'
import { FLEET_SCREENS, foreignJob, PIPELINE_TABS, seedForeignTexts, TABS } from '../support/foreign-texts.ts'
import { seedInbox } from '../support/inbox-seeds.ts'
import { SCREENS } from '../support/screens.ts'
import { DOCUMENT, failBuild } from '../support/seeds.ts'
import { holdBuild } from '../support/terminal-scene.ts'
import { show } from '../support/waits.ts'
import { openServer } from '../support/web-scene.ts'

/** A few rows of each kind, some wider than any window: each element of a page costs the audit time, and a hundred equal rows have the same breaches. */
const TEXTS: readonly string[] = ['Fix the tax', 'a'.repeat(400), '"><b>bold</b>', '\u202Egpj.exe']

/** Tabs on which a running build has what an ended one lacks. */
const TABS_OF_RUNNING = ['', '/graph', '/debug']

const OTHER_SCREENS = [
  '/pipelines',
  '/pipelines/-/new',
  ...PIPELINE_TABS.map((tab) => `/pipelines/demo/access${tab}`),
  '/approvals',
  '/runtimes?connect=true',
  ...FLEET_SCREENS,
]

test('no screen has a serious breach of accessibility or scrolls sideways, light and dark, 1280 px and 360 px (W088, W090)', async () => {
  await using scene = await openServer()
  const inbox = await seedInbox(scene, TEXTS)
  await (await openGitlabManager(scene)).report(TEXTS.map((text, index) => foreignJob(text, index + 1)))
  await seedForeignTexts(scene, TEXTS)
  const { items } = await scene.admin.builds.list()
  expect(items.map(({ branch }) => branch)).toEqual(expect.arrayContaining([...TEXTS]))
  await scene.admin.pipelines.put('demo/access', {
    name: 'demo/access',
    document: DOCUMENT,
    variables: [{ key: 'TOKEN', value: 'x', encrypted: true }],
  })
  await failBuild(scene, { pipeline: 'demo/access', document: undefined })
  const build = await failBuild(scene, { git: { commitMessage: TEXTS[1], commitAuthor: TEXTS[2] } })
  await scene.admin.annotations.put('build', build.id, { values: { shown: TEXTS[1] ?? '' }, display: 'shown' })
  const held = await holdBuild(scene)
  // Colors change at once, without a transition.
  await using opened = await openPage(
    await sharedChromium(),
    { url: scene.server.url, key: scene.adminToken },
    { bypassCSP: true, reducedMotion: 'reduce' },
  )
  const { page } = opened
  const tabsOf = ({ id }: Build, tabs: readonly string[]): string[] => tabs.map((tab) => `/builds/${id}${tab}`)
  const wrong: object[] = []
  await page.goto('/nothing-here')
  await page.evaluate(AXE)
  const paths = new Set([
    ...SCREENS.map((screen) => screen.path({ build: build.id })),
    ...tabsOf(build, TABS),
    ...tabsOf(held.build, TABS_OF_RUNNING),
    ...OTHER_SCREENS,
    ...inbox.paths,
    '/nothing-here',
  ])
  for (const path of paths) {
    await show(page, path)
    wrong.push(...(await auditLooks(page, path)))
  }
  expect(wrong).toEqual([])
})
