/** What the page shows of builds that failed: which step is to blame, its first problem, and what is new in its log. */
import type { PlanStep } from '@windlass/plan'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { leastProcessorTime, processorTime } from '../support/processor-time.ts'
import { begin, endStep, failBuild, passBuild, playBuild, runStep, startBuild } from '../support/seeds.ts'
import { loaded } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let scene: HttpScene

beforeAll(async () => {
  web = await openWebScene()
  scene = web.server
  await scene.admin.stepTypes.create({
    manifest:
      "kind: step-type\nmetadata: {name: demo/check, version: 1.0.0}\nspec:\n  arguments: {type: object}\n  steps: {prepare: {image: 'alpine:3', commands: [a]}, main: {image: 'alpine:3', commands: [b]}}\n",
  })
})

afterAll(() => web[Symbol.asyncDispose]())

const GROUP = `version: '1.0'
steps:
  checks:
    type: parallel
    steps:
      lint: {image: 'alpine:3', commands: [lint]}
      inner:
        type: parallel
        steps:
          types: {image: 'alpine:3', commands: [types]}
`
const MATRIX = `version: '1.0'
steps:
  tests:
    image: 'alpine:3'
    commands: [test]
    matrix: {environment: [[NODE=22], [NODE=24]]}
`
const HOOK = `version: '1.0'
steps:
  deploy:
    image: 'alpine:3'
    commands: [deploy]
    hooks: {on_elected: [echo check], on_finish: [echo clean]}
`
const TYPED = `version: '1.0'
steps:
  check: {type: demo/check}
`

/** Fails one step, then the steps around it from the inside out, as engines do, and clean-up hooks after it. */
async function failIn(document: string, name: string): Promise<string> {
  const { build, engine } = await startBuild(scene, { document })
  await begin(engine)
  const { steps } = engine.claimed.plan
  const find = (wanted: string): PlanStep | undefined => steps.find((step) => step.name === wanted)
  const around: string[] = []
  for (let at = find(name)?.parent; at !== undefined; at = find(at)?.parent) around.push(at)
  for (const group of around.toReversed()) await engine.event({ type: 'step.started', step: group, try: 1 })
  const output = Array.from({ length: 40 }, (_, index) => `output ${index + 1}\n`).join('')
  await runStep(engine, name, { status: 'error', reason: 'exit-code', exitCode: 3, output })
  for (const { name: clean, hook } of steps)
    if (hook?.moment === 'on_finish') await runStep(engine, clean, { status: 'error', reason: 'exit-code', exitCode: 9 })
  for (const group of around) await endStep(engine, group, { status: 'error', reason: 'step-failed' })
  await engine.finish({ status: 'error', reason: 'step-failed' })
  return build.id
}

test.each([
  ['a group in a group', GROUP, 'types'],
  ['a child of a matrix', MATRIX, 'tests_2'],
  ['a hook before its step', HOOK, 'deploy.on_elected'],
  ['a step with a clean-up hook that fails too', HOOK, 'deploy'],
  ['a part of a typed step', TYPED, 'check.main'],
])(
  'a failure in %s opens with the step to blame, its last ten lines and advice within 2 s (W026, W027)',
  async (_, document, name) => {
    const id = await failIn(document, name)
    expect((await scene.admin.builds.get(id)).blame).toBe(name)
    await using opened = await web.open()
    const { page, seen } = opened
    // The page itself is in the cache of the browser.
    await page.goto('/builds')
    await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
    const card = page.getByRole('region', { name: 'Why it failed' })
    const lines = card.getByRole('list', { name: `Last lines of ${name}` })
    // Leaves half of the 2 s to the server and the way.
    const limitMs = 1_000
    const took = await leastProcessorTime(page, limitMs, async () => {
      await page.goto(`/builds/${id}`)
      await card.getByRole('heading', { name }).waitFor()
      await lines.getByText('output 40').waitFor()
    })
    expect(took).toBeLessThan(limitMs)
    await expect.poll(() => lines.getByRole('listitem').count()).toBe(10)
    await card.getByText('The command itself failed').waitFor()
    await page.getByText(`step ${name}: exit code 3`).waitFor()
    expect(seen).toEqual([])
  },
)

test('the sentence keeps its step while the list form of the build arrives (W026)', async () => {
  const build = await failBuild(scene)
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}`)
  await page.getByText('step unit_tests: exit code 1').waitFor()
  await page.evaluate(() => {
    const seen: string[] = []
    Object.assign(window, { seen })
    new MutationObserver(() => seen.push(document.querySelector('main')?.textContent ?? '')).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    })
  })
  // An annotation changes the list form, which has no steps.
  await scene.admin.annotations.put('build', build.id, { values: { note: 'seen' }, display: 'note' })
  await page.waitForTimeout(1_000)
  const texts = await page.evaluate(() => (window as unknown as { seen: string[] }).seen)
  expect(texts.every((text) => text.includes('step unit_tests: exit code 1'))).toBe(true)
})

/** Returns the numbers of the problem rows in view, and of the current one. */
function problemsInView(page: Page): Promise<{ lines: string[]; current: string | undefined }> {
  return page.getByRole('table', { name: /^Lines of/ }).evaluate((table) => {
    const { top, bottom } = table.getBoundingClientRect()
    const rows = [...table.querySelectorAll<HTMLElement>('[data-problem]')].filter((row) => {
      const box = row.getBoundingClientRect()
      return box.top >= top && box.bottom <= bottom
    })
    const numberOf = (row: HTMLElement): string => row.querySelector('[role="rowheader"]')?.textContent ?? ''
    const current = rows.find((row) => row.dataset['problem'] === 'current')
    return { lines: rows.map(numberOf), current: current === undefined ? undefined : numberOf(current) }
  })
}

test('the card and the log of a failed step open at its first problem, and e and E move between problems within 1 s (W051)', async () => {
  const noise = (from: number): string => Array.from({ length: 2_000 }, (_, index) => `compiled unit ${from + index}\n`).join('')
  const output = `${noise(0)}src/tax.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n${noise(2_000)}src/vat.ts(9,1): error TS2304: Cannot find name 'vat'.\n${noise(4_000)}`
  const build = await playBuild(scene, {}, { lint: { status: 'error', reason: 'exit-code', exitCode: 2, output } })
  await using opened = await web.open({ viewport: { width: 1280, height: 900 } })
  const { page, seen } = opened
  await page.goto(`/builds/${build.id}/steps/lint`)
  await page.getByText('error TS2322').first().waitFor()
  await expect.poll(() => problemsInView(page)).toEqual({ lines: ['2001'], current: '2001' })
  // Each look takes time of the page as well, and a server that answers late is looked at for long.
  const took = await processorTime(page, async () => {
    await page.keyboard.press('e')
    await expect.poll(() => problemsInView(page), { interval: 250 }).toEqual({ lines: ['4002'], current: '4002' })
    await page.keyboard.press('Shift+e')
    await expect.poll(() => problemsInView(page), { interval: 250 }).toEqual({ lines: ['2001'], current: '2001' })
  })
  expect(took).toBeLessThan(1_000)
  await page.getByRole('button', { name: 'Problems 2' }).waitFor()
  expect(seen).toEqual([])
})

test('without a known problem the log of a failed step opens at its end', async () => {
  const output = Array.from({ length: 3_000 }, (_, index) => `plain ${index + 1}\n`).join('')
  const build = await playBuild(scene, {}, { lint: { status: 'error', reason: 'exit-code', exitCode: 2, output } })
  await using opened = await web.open()
  await opened.page.goto(`/builds/${build.id}/steps/lint`)
  await opened.page.getByRole('table').getByText('plain 3000', { exact: true }).waitFor()
})

test('only what is new shows exactly the 14 lines that the last green log lacks (W052)', async () => {
  const line = (run: number, index: number): string =>
    `[12:0${run}:${String(index % 60).padStart(2, '0')}] task ${index * run} wrote /tmp/x${run}/${index}.o in ${run}.${index} s\n`
  const log = (run: number): string[] => Array.from({ length: 1_000 }, (_, index) => line(run, index))
  const failed = log(2)
  for (const [index, letter] of Array.from('abcdefghijklmn').entries())
    failed.splice(index * 61 + index, 0, `assertion of ${letter}x failed\n`)
  const pipeline = { pipeline: 'demo/app', document: undefined, branch: 'new-lines' }
  await playBuild(scene, pipeline, { lint: { output: log(1).join('') } })
  const build = await playBuild(scene, pipeline, {
    lint: { status: 'error', reason: 'exit-code', exitCode: 1, output: failed.join('') },
  })
  // A tab of its own: the logs are long, and other tests leave what they have read.
  await using opened = await web.open({})
  const { page, seen } = opened
  await page.goto(`/builds/${build.id}`)
  const link = page.getByRole('link', { name: 'Only what is new: 14 lines' })
  await link.waitFor()
  // What arrives later moves the link away under the pointer.
  await loaded(page)
  await link.click()
  const list = page.getByRole('list', { name: 'New lines' })
  await expect.poll(() => list.getByRole('listitem').count()).toBe(14)
  const texts = await list.getByRole('listitem').allTextContents()
  expect(texts.map((text) => text.replace(/^\d+/, ''))).toEqual(
    Array.from('abcdefghijklmn').map((letter) => `assertion of ${letter}x failed`),
  )
  await list.getByRole('button', { name: 'Show line 63 in the log' }).click()
  const row = page.getByRole('row').filter({ hasText: 'assertion of bx failed' })
  await row.waitFor()
  expect(await row.getAttribute('data-new')).not.toBeNull()
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.press('b')
  await list.waitFor()
  expect(seen).toEqual([])
})

test('names the first red build since the last green one, with the builds and commits since (W028)', async () => {
  const of = (revision: string): object => ({
    pipeline: 'demo/app',
    document: undefined,
    branch: 'red',
    revision: revision.repeat(40),
  })
  const green = await passBuild(scene, of('a'))
  const first = await failBuild(scene, of('b'))
  for (const revision of ['b', 'c']) await failBuild(scene, of(revision))
  const last = await failBuild(scene, of('c'))
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${last.id}`)
  await page.getByText(`failing since #${first.number} (4 builds, 2 commits)`).waitFor()
  await page.goto(`/builds/${first.id}`)
  await page.getByText(`first red after #${green.number}`).waitFor()
})
