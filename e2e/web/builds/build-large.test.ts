/** A build of 10,000 steps in the page. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { leastProcessorTime } from '../support/processor-time.ts'
import { begin, runStep, startBuild } from '../support/seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const GROUPS = 100
const STEPS = 99
const MAX_ELEMENTS = 1_500
/** Leaves half of the 2 s to the server and the way. */
const MAX_PROCESSOR_MS = 1_000
let web: WebScene
let id: string

function largeDocument(): string {
  const groups = Array.from({ length: GROUPS }, (_, group) => {
    const steps = Array.from({ length: STEPS }, (_, index) => `      g${group}_s${index}: {image: a, commands: [b]}`)
    return `  g${group}:\n    type: parallel\n    steps:\n${steps.join('\n')}`
  })
  return `version: '1.0'\nsteps:\n${groups.join('\n')}\n`
}

beforeAll(async () => {
  web = await openWebScene()
  const { build, engine } = await startBuild(web.server, { document: largeDocument() })
  await begin(engine)
  await engine.event({ type: 'step.started', step: 'g0', try: 1 })
  for (let index = 0; index < 5; index += 1) await runStep(engine, `g0_s${index}`, { status: 'success' })
  id = build.id
})

afterAll(() => web[Symbol.asyncDispose]())

test('a plan of 10,000 steps shows in 2 s with at most 1,500 elements, groups folded, in the list and in the graph (W033)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/builds')
  await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor()
  const count = (): Promise<number> => page.evaluate(() => document.querySelectorAll('*').length)
  const listed = await leastProcessorTime(page, MAX_PROCESSOR_MS, async () => {
    await page.goto(`/builds/${id}`)
    await page.getByText(`${STEPS}: 5 succeeded, ${STEPS - 5} not started`).waitFor()
  })
  expect(listed).toBeLessThan(MAX_PROCESSOR_MS)
  expect(await count()).toBeLessThanOrEqual(MAX_ELEMENTS)
  await page.getByRole('button', { name: 'Steps of g50', exact: true }).click()
  await page.getByRole('link', { name: 'g50_s0', exact: true }).waitFor()
  expect(await count()).toBeLessThanOrEqual(MAX_ELEMENTS)

  const boxes = page.locator('[data-step]')
  const drawn = await leastProcessorTime(page, MAX_PROCESSOR_MS, async () => {
    await page.goto(`/builds/${id}/graph`)
    await boxes.first().waitFor()
  })
  expect(drawn).toBeLessThan(MAX_PROCESSOR_MS)
  await expect.poll(() => boxes.count()).toBe(GROUPS)
  expect(await count()).toBeLessThanOrEqual(MAX_ELEMENTS)
  await boxes.first().focus()
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-step'))).toBe('g1')
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-step'))).toBe('g0')
  const svg = page.getByRole('region', { name: 'Graph of the steps' }).locator('svg')
  for (let clicks = 0; clicks < 6; clicks += 1) await page.getByRole('button', { name: 'Smaller' }).click()
  const shrunk = await svg.evaluate(
    (element) => Number(element.getAttribute('width')) / (element as SVGSVGElement).viewBox.baseVal.width,
  )
  expect(shrunk).toBeGreaterThanOrEqual(0.7)
  expect(seen).toEqual([])
})
