import { expect, test } from 'vitest'
import { bandsOf, barsOf, shareOf, spanOf } from './time-line.ts'

const SPAN = { from: 1_000, to: 11_000 }
const NOTHING = { phases: [], holds: [] }

test('a step has a bar from its start to its end or now', () => {
  expect(barsOf({ startedAt: 2_000, finishedAt: 6_000 }, NOTHING, SPAN, 0)).toEqual([{ kind: 'run', left: 10, width: 40 }])
  expect(barsOf({ startedAt: 2_000 }, NOTHING, SPAN, 3_000)).toEqual([{ kind: 'run', left: 10, width: 10 }])
  expect(barsOf({}, NOTHING, SPAN, 3_000)).toEqual([])
  expect(barsOf({ startedAt: 2_000, finishedAt: 6_000, carried: true }, NOTHING, SPAN, 0)).toEqual([])
})

test('the preparation is a bar of its own, also while it lasts', () => {
  const phases = [
    { phase: 'pull', from: 2_000, to: 4_000 },
    { phase: 'create', from: 4_000, to: 5_000 },
    { phase: 'run', from: 5_000, to: 9_000 },
  ]
  expect(barsOf({ startedAt: 2_000, finishedAt: 9_000 }, { phases, holds: [] }, SPAN, 0)).toEqual([
    { kind: 'prepare', left: 10, width: 30 },
    { kind: 'run', left: 40, width: 40 },
  ])
  expect(barsOf({ startedAt: 2_000 }, { phases: [{ phase: 'pull', from: 2_000 }], holds: [] }, SPAN, 4_000)).toEqual([
    { kind: 'prepare', left: 10, width: 20 },
  ])
})

test('each try and each attempt has its own bars, with nothing between them', () => {
  const phases = [
    { phase: 'run', from: 6_000, to: 9_000 },
    { phase: 'pull', from: 1_000, to: 2_000 },
    { phase: 'run', from: 2_000, to: 4_000 },
    { phase: 'export', from: 9_000, to: 10_000 },
  ]
  expect(barsOf({ startedAt: 1_000, finishedAt: 10_000 }, { phases, holds: [] }, SPAN, 0)).toEqual([
    { kind: 'prepare', left: 0, width: 10 },
    { kind: 'run', left: 10, width: 20 },
    { kind: 'run', left: 50, width: 40 },
  ])
})

test('a bar can always be seen, and stays in the span', () => {
  expect(barsOf({ startedAt: 11_000, finishedAt: 11_000 }, NOTHING, SPAN, 0)).toEqual([{ kind: 'run', left: 99.4, width: 0.6 }])
  expect(shareOf(0, SPAN)).toBe(0)
  expect(shareOf(99_000, SPAN)).toBe(100)
})

test('a step that runs again without a preparation has a bar for each try', () => {
  const phases = [
    { phase: 'run', from: 1_000, to: 3_000 },
    { phase: 'export', from: 3_000, to: 4_000 },
    { phase: 'run', from: 4_000, to: 6_000 },
  ]
  expect(barsOf({ startedAt: 1_000, finishedAt: 6_000 }, { phases, holds: [] }, SPAN, 0)).toEqual([
    { kind: 'run', left: 0, width: 30 },
    { kind: 'run', left: 30, width: 20 },
  ])
})

test('the run of a lost attempt ends with the attempt while the step waits for the next one', () => {
  const phases = [{ phase: 'run', from: 1_000, to: 3_000 }]
  expect(barsOf({ startedAt: 1_000 }, { phases, holds: [] }, SPAN, 9_000)).toEqual([{ kind: 'run', left: 0, width: 20 }])
})

test('holds of the debugger are cut out of the bars around them', () => {
  const phases = [
    { phase: 'pull', from: 3_000, to: 4_000 },
    { phase: 'run', from: 4_000, to: 11_000 },
  ]
  const holds = [{ from: 2_000, to: 3_000 }, { from: 9_000 }]
  expect(barsOf({ startedAt: 1_000 }, { phases, holds }, SPAN, 11_000)).toEqual([
    { kind: 'prepare', left: 0, width: 10 },
    { kind: 'hold', left: 10, width: 10 },
    { kind: 'prepare', left: 20, width: 10 },
    { kind: 'run', left: 30, width: 50 },
    { kind: 'hold', left: 80, width: 20 },
  ])
})

test('a build waits for each attempt, which starts and runs', () => {
  const [first, second] = [
    { number: 1, status: 'ended', createdAt: 20, startedAt: 30, endedAt: 50 },
    { number: 2, status: 'starting', createdAt: 70 },
  ] as const
  expect(bandsOf({ createdAt: 10, attempts: [first, second] }, 80)).toEqual([
    { kind: 'wait', from: 10, to: 20 },
    { kind: 'prepare', attempt: first, from: 20, to: 30 },
    { kind: 'run', attempt: first, from: 30, to: 50 },
    { kind: 'wait', from: 50, to: 70 },
    { kind: 'prepare', attempt: second, from: 70, to: 80 },
  ])
  expect(bandsOf({ createdAt: 10, attempts: [first], finishedAt: 60 }, 99)).toMatchObject([
    {},
    {},
    {},
    { kind: 'wait', from: 50, to: 60 },
  ])
  expect(bandsOf({ createdAt: 10 }, 15)).toEqual([{ kind: 'wait', from: 10, to: 15 }])
})

test('a long wait takes a third of the line, and a short one its share', () => {
  expect(spanOf({ createdAt: 1_000, startedAt: 3_000 }, 9_000)).toEqual({ from: 1_000, to: 9_000 })
  expect(spanOf({ createdAt: 1_000, startedAt: 101_000 }, 103_000)).toEqual({ from: 100_000, to: 103_000 })
  expect(spanOf({ createdAt: 1_000 }, 9_000)).toEqual({ from: 1_000, to: 9_000 })
})
