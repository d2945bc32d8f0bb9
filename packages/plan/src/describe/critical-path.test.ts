import { expect, test } from 'vitest'
import { criticalPath, scheduleOf, usualEnd, type ScheduledStep, type TimedStep } from './critical-path.ts'

/** Returns the same sequence of numbers from 0 to 1 for a seed. */
function random(seed: number): () => number {
  let state = seed * 7_919 + 1
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

/** A plan of up to 14 steps with groups in groups, hooks before and after steps, and dependencies among siblings. */
function randomPlan(seed: number): { steps: ScheduledStep[]; times: ReadonlyMap<string, number> } {
  const next = random(seed)
  const steps: ScheduledStep[] = []
  const times = new Map<string, number>()
  const add = (step: ScheduledStep): void => {
    steps.push(step)
    times.set(step.name, Math.floor(next() * 1_000))
  }
  const fill = (parent: string | undefined, depth: number): void => {
    const siblings: string[] = []
    const count = 1 + Math.floor(next() * 4)
    for (let index = 0; index < count && steps.length < 14; index += 1) {
      const name = `${parent ?? 's'}${index}`
      add({ name, after: siblings.filter(() => next() < 0.4), ...(parent !== undefined && { parent }) })
      siblings.push(name)
      if (depth < 2 && next() < 0.35) fill(name, depth + 1)
      for (const moment of ['on_elected', 'on_finish'] as const)
        if (next() < 0.2) add({ name: `${name}.${moment}`, after: [], hook: { moment, of: name } })
    }
  }
  fill(undefined, 0)
  return { steps, times }
}

interface Way {
  readonly end: number
  readonly longest: readonly string[]
}

/** A second account of the rules: for each step, all steps that must be over before it starts, and the longest way through them. */
function waysOf(steps: readonly ScheduledStep[], timeOf: (name: string) => number): (name: string) => Way {
  const find = (name: string): ScheduledStep => steps.find((step) => step.name === name) ?? { name, after: [] }
  const children = (name: string): ScheduledStep[] => steps.filter(({ parent, hook }) => parent === name && hook === undefined)
  const hooks = (name: string, isBefore: boolean): ScheduledStep[] =>
    steps.filter(({ hook }) => hook?.of === name && (hook.moment === 'on_elected') === isBefore)
  const inside = (name: string): string[] =>
    children(name).length === 0 ? [name] : children(name).flatMap((child) => [...inside(child.name), ...late(child.name)])
  const late = (name: string): string[] => hooks(name, false).map((hook) => hook.name)
  const over = (name: string): string[] => [...inside(name), ...late(name)]
  const before = (name: string): string[] => {
    const step = find(name)
    if (step.hook?.of !== undefined) {
      if (step.hook.moment !== 'on_elected') return inside(step.hook.of)
      return [...find(step.hook.of).after.flatMap(over), ...above(find(step.hook.of))]
    }
    return [...step.after.flatMap(over), ...hooks(name, true).map((hook) => hook.name), ...above(step)]
  }
  const above = ({ parent }: ScheduledStep): string[] => (parent === undefined ? [] : before(parent))
  const way = (name: string): Way => {
    const best = longestOf(before(name).map(way))
    return { end: best.end + timeOf(name), longest: [...best.longest, name] }
  }
  return way
}

function longestOf(ways: readonly Way[]): Way {
  return ways.reduce((one, other) => (other.end > one.end ? other : one), { end: 0, longest: [] })
}

/** Returns the steps that are no groups. */
function leavesOf(steps: readonly ScheduledStep[]): string[] {
  const groups = new Set(steps.flatMap(({ parent }) => parent ?? []))
  return steps.filter(({ name }) => !groups.has(name)).map(({ name }) => name)
}

function reference(steps: readonly ScheduledStep[], timeOf: (name: string) => number): Way {
  return longestOf(leavesOf(steps).map(waysOf(steps, timeOf)))
}

const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1)

test('the critical path of 200 random graphs is the longest chain of a reference function (W032)', () => {
  for (const seed of SEEDS) {
    const { steps, times } = randomPlan(seed)
    const timeOf = (name: string): number => times.get(name) ?? 0
    const expected = reference(steps, timeOf)
    const { end, critical } = scheduleOf(steps, (name, start) => start + timeOf(name))
    expect({ seed, end }).toEqual({ seed, end: expected.end })
    // Two chains can be of the same length.
    expect({ seed, ms: critical.reduce((sum, name) => sum + timeOf(name), 0) }).toEqual({ seed, ms: expected.end })
    const path = criticalPath(steps, (name) => ({ startedAt: 0, finishedAt: timeOf(name) }), 0)
    expect({ seed, path }).toEqual({ seed, path: critical.filter((name) => timeOf(name) > 0) })
  }
})

test('the usual end of 200 random builds in progress is that of a reference function (W032)', () => {
  for (const seed of SEEDS) {
    const { steps, times } = randomPlan(seed)
    const usual = (name: string): number => times.get(name) ?? 0
    const now = 1_000 + Math.floor(random(seed)() * 2_000)
    const states = playUntil(steps, now, (name) => usual(name) * 1.5)
    const got = usualEnd(steps, (name) => ({ status: 'pending', ...states.get(name), usualMs: usual(name) }), {
      from: 1_000,
      now,
    })
    expect({ seed, end: got }).toEqual({ seed, end: referenceEnd(steps, states, usual, now) })
  }
})

/** Plays a build from 1,000 on in which each step takes a time, and returns the states of its steps at `now`. */
function playUntil(steps: readonly ScheduledStep[], now: number, takes: (name: string) => number): Map<string, TimedStep> {
  const way = waysOf(steps, takes)
  return new Map(
    leavesOf(steps).map((name) => {
      const finishedAt = 1_000 + way(name).end
      const startedAt = finishedAt - takes(name)
      if (startedAt > now) return [name, { status: 'pending' }]
      return [name, finishedAt > now ? { status: 'running', startedAt } : { status: 'success', startedAt, finishedAt }]
    }),
  )
}

/** A second account: ended steps keep their end, others add their usual time to what is left, from now on. */
function referenceEnd(
  steps: readonly ScheduledStep[],
  states: ReadonlyMap<string, TimedStep>,
  usual: (name: string) => number,
  now: number,
): number {
  const leaves = leavesOf(steps)
  const left = (name: string): number => {
    const { status, startedAt = 0 } = states.get(name) ?? { status: 'success' }
    if (status === 'success') return 0
    return status === 'running' ? Math.max(0, startedAt + usual(name) - now) : usual(name)
  }
  const ends = leaves.flatMap((name) => states.get(name)?.finishedAt ?? [])
  const isOpen = leaves.some((name) => states.get(name)?.status !== 'success')
  return Math.max(1_000, ...ends, ...(isOpen ? [now + reference(steps, left).end] : []))
}

test('10,000 steps in a row take linear time, and a cycle does not hang', () => {
  const steps = Array.from({ length: 10_000 }, (_, index): ScheduledStep => ({
    name: `s${index}`,
    after: index === 0 ? [] : [`s${index - 1}`],
  }))
  expect(scheduleOf(steps, (_, start) => start + 1)).toMatchObject({ end: 10_000 })
  const cycle = [
    { name: 'a', after: ['b'] },
    { name: 'b', after: ['a'] },
    { name: 'c', after: [] },
  ]
  expect(scheduleOf(cycle, (_, start) => start + 1)).toEqual({ end: 1, critical: ['c'] })
})

test('hooks of the build run before and after all other steps', () => {
  const steps: ScheduledStep[] = [
    { name: '.on_finish', after: [], hook: { moment: 'on_finish' } },
    { name: '.on_elected', after: [], hook: { moment: 'on_elected' } },
    { name: 'one', after: [] },
  ]
  expect(scheduleOf(steps, (_, start) => start + 5)).toEqual({ end: 15, critical: ['.on_elected', 'one', '.on_finish'] })
})
