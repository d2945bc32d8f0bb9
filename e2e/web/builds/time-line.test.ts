/** The time line of a build, compared with the times of the API while the build runs and after it. */
import type { Build, BuildUsage } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { startEngine, type TestEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { begin, endStep, startBuild } from '../support/seeds.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

/** Length of each part of the build. Milliseconds. */
const PART_MS = 600
/** Shares of the line. On a slow machine it becomes so long that parts are narrower: they get this width, and waits and preparations of the build are left out. */
const NARROWEST = { build: 0.01, step: 0.006 }
const MAX_DIFFERENCE_MS = 100

const DOCUMENT = `version: '1.0'
steps:
  test: {image: 'node:24', commands: [npm test]}
  gate: {type: pending-approval}
  publish: {image: 'node:24', commands: [npm publish]}
`

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
  await web.server.admin.pipelines.create({ name: 'demo/line', document: DOCUMENT, concurrency: 1 })
})

afterAll(() => web[Symbol.asyncDispose]())

const pass = (ms = PART_MS): Promise<void> => new Promise((passed) => setTimeout(passed, ms))

/** A part of the line. `to` is absent while it lasts. Epoch milliseconds. */
interface Part {
  readonly name: string
  readonly from: number | undefined
  readonly to?: number | undefined
}

/** Returns the parts that the page has drawn, by the places of their boxes, and the ends of the line. */
function drawnParts(page: Page): Promise<{ parts: Required<Part>[]; start: number; end: number }> {
  return page.evaluate(() => {
    const ends = [...document.querySelectorAll('p')].find(({ textContent }) => textContent?.startsWith('From ') === true)
    const [from = 0, to = 0] = [...(ends?.querySelectorAll('time') ?? [])].map(({ dateTime }) => Date.parse(dateTime))
    const parts = [...document.querySelectorAll<HTMLElement>('[data-kind][style]')].map((bar) => {
      const [box, track] = [bar.getBoundingClientRect(), (bar.parentElement ?? bar).getBoundingClientRect()]
      const time = (x: number): number => from + ((x - track.left) / track.width) * (to - from)
      const step = bar.closest('[role="listitem"]')?.querySelector('a')?.textContent ?? 'build'
      return { name: `${step} ${bar.dataset['kind']}`, from: time(box.left), to: time(box.right) }
    })
    return { parts, start: from, end: to }
  })
}

/** Returns the parts that the API tells of. */
function toldParts({ createdAt, attempts = [], steps = [] }: Build, usage: BuildUsage): Part[] {
  const [first, second] = attempts
  const [lost, ended] = usage.steps.filter(({ step }) => step === 'test')
  const [pulled, ran] = lost?.phases ?? []
  const [pull, create, run, pullAgain, runAgain] = ended?.phases ?? []
  const hold = ended?.holds?.[0]
  const step = (name: string) => steps.find((one) => one.name === name)
  const [gate, publish] = [step('gate'), step('publish')]
  const all: Part[] = [
    { name: 'build wait', from: createdAt, to: first?.createdAt },
    { name: 'build prepare', from: first?.createdAt, to: first?.startedAt },
    { name: 'build run', from: first?.startedAt, to: first?.endedAt },
    { name: 'build wait', from: first?.endedAt, to: second?.createdAt },
    { name: 'build prepare', from: second?.createdAt, to: second?.startedAt },
    { name: 'build run', from: second?.startedAt, to: second?.endedAt },
    { name: 'test prepare', from: pulled?.from, to: pulled?.to },
    { name: 'test run', from: ran?.from, to: first?.endedAt },
    // While a step runs, its engine tells only of phases that lasted for a second, and of holds.
    { name: 'test prepare', from: pull?.from, to: create?.to },
    { name: 'test run', from: run?.from, to: run?.to },
    { name: 'test prepare', from: pullAgain?.from, to: pullAgain?.to },
    { name: 'test run', from: runAgain?.from, to: hold?.from },
    { name: 'test hold', from: hold?.from, to: hold?.to },
    { name: 'gate wait', from: gate?.startedAt, to: gate?.finishedAt },
    { name: 'publish run', from: publish?.startedAt, to: publish?.finishedAt },
  ]
  return all.filter(({ from }) => from !== undefined)
}

const inOrder = <T extends Part>(parts: readonly T[]): T[] =>
  parts.toSorted((a, b) => a.name.localeCompare(b.name) || (a.from ?? 0) - (b.from ?? 0))

/** Returns what differs between page and API; the texts name parts by their number of the same kind. */
async function differences(page: Page, id: string): Promise<string[]> {
  const { admin } = web.server
  const all = toldParts(await admin.builds.get(id), await admin.builds.usage(id))
  const { parts, start, end } = await drawnParts(page)
  const narrowestOf = (name: string): number => NARROWEST[name.startsWith('build ') ? 'build' : 'step'] * (end - start)
  const isLeftOut = ({ name, from = 0, to = end }: Part): boolean =>
    /^build (?:wait|prepare)$/.test(name) && to - from < narrowestOf(name)
  const told = inOrder(all.filter((part) => !isLeftOut(part)))
  const drawn = inOrder(parts)
  const names = [drawn, told].map((list) => list.map(({ name }) => name).join(', '))
  if (names[0] !== names[1]) return [`drawn: ${names[0]}`, `told: ${names[1]}`]
  return told.flatMap(({ name, from = 0, to = end }, index) => {
    const narrowest = narrowestOf(name)
    // The line of a build that has just begun leaves out the start of a longer wait.
    const first = Math.min(Math.max(from, start), end - narrowest)
    const last = Math.max(to, first + narrowest)
    const [left, right] = [(drawn[index]?.from ?? 0) - first, (drawn[index]?.to ?? 0) - last]
    const isNear = Math.max(Math.abs(left), Math.abs(right)) <= MAX_DIFFERENCE_MS
    return isNear ? [] : [`${name}: starts ${Math.round(left)} ms and ends ${Math.round(right)} ms later`]
  })
}

/** Starts the next attempt of a build after its preparation. */
async function startSlowly(build: Build): Promise<TestEngine> {
  const { agent, server } = web.server
  for (let tries = 0; tries < 10; tries += 1)
    for (const task of await agent.claim()) {
      const isOwn = task.kind === 'start-attempt' && task.buildId === build.id
      if (isOwn) await pass()
      await agent.report(task, 'done')
      if (isOwn) return startEngine(server.url, task)
    }
  throw new Error(`build ${build.number} was not started`)
}

test("the time line shows waiting, preparation, run, tries, attempts, approvals and holds within 100 ms of the API's times, while the build runs and after it (W031)", async () => {
  const { server } = web
  const own = { pipeline: 'demo/line', document: undefined }
  const other = await startBuild(server, own)
  const build = await server.submit(own)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/builds/${build.id}`)
  await live(page)
  const agrees = (): Promise<void> => expect.poll(() => differences(page, build.id), { interval: 200 }).toEqual([])
  await pass(2 * PART_MS)
  await other.engine.finish({ status: 'success' })

  const first = await startSlowly(build)
  await begin(first)
  await first.event({ type: 'step.started', step: 'test', try: 1 })
  await first.event({ type: 'step.phase', step: 'test', phase: 'pull', since: Date.now() })
  await pass()
  await first.event({ type: 'step.phase', step: 'test', phase: 'run', since: Date.now() })
  await pass()
  const lost = { buildId: build.id, attempt: 1, object: 'engine-x', reason: 'node-lost', message: 'Node 10.0.3.7 is gone.' }
  await server.agent.fact({ ...lost, state: 'lost' })
  await pass()
  await server.agent.fact({ ...lost, state: 'gone' })

  const second = await startSlowly(build)
  await begin(second)
  await agrees()
  const phases: { phase: 'pull' | 'create' | 'run'; at: number }[] = []
  const enter = async (phase: 'pull' | 'create' | 'run'): Promise<void> => {
    phases.push({ phase, at: Date.now() })
    await pass()
  }
  await second.event({ type: 'step.started', step: 'test', try: 1 })
  for (const phase of ['pull', 'create', 'run'] as const) await enter(phase)
  await second.event({ type: 'step.started', step: 'test', try: 2 })
  for (const phase of ['pull', 'run'] as const) await enter(phase)
  await second.event({ type: 'step.waiting', step: 'test', reason: 'debugger', phase: 'after' })
  await agrees()
  await second.event({ type: 'step.finished', step: 'test', try: 2, status: 'success', members: {}, exports: [], phases })

  await second.event({ type: 'step.started', step: 'gate', try: 1 })
  await second.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
  await agrees()
  await server.admin.builds.approve(build.id, { step: 'gate' })
  await second.event({ type: 'step.started', step: 'publish', try: 1 })
  await agrees()
  await endStep(second, 'publish', { status: 'success' })
  await second.finish({ status: 'success' })
  await agrees()

  await page.reload()
  await page.getByRole('list', { name: 'Steps' }).waitFor()
  await agrees()
  const waits = await page
    .getByRole('list', { name: 'Attempts and waits' })
    .locator('time')
    .evaluateAll((times) => times.map((time) => time.getAttribute('datetime')))
  const { waits: told = [] } = await server.admin.builds.get(build.id)
  expect(waits).toEqual(told.filter(({ ms }) => ms >= 1_000).map(({ ms }) => `PT${ms / 1_000}S`))
  expect(waits.length).toBeGreaterThan(0)
  expect(seen).toEqual([])
})
