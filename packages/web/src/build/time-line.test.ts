import { expect, test } from 'vitest'
import { barsOf, shareOf } from './time-line.ts'

const SPAN = { from: 1_000, to: 11_000 }

test('a step has a bar from its start to its end or now', () => {
  expect(barsOf({ startedAt: 2_000, finishedAt: 6_000 }, [], SPAN, 0)).toEqual([{ kind: 'run', left: 10, width: 40 }])
  expect(barsOf({ startedAt: 2_000 }, [], SPAN, 3_000)).toEqual([{ kind: 'run', left: 10, width: 10 }])
  expect(barsOf({}, [], SPAN, 3_000)).toEqual([])
  expect(barsOf({ startedAt: 2_000, finishedAt: 6_000, carried: true }, [], SPAN, 0)).toEqual([])
})

test('the preparation is a bar of its own, also while it lasts', () => {
  const phases = [
    { phase: 'pull', from: 2_000, to: 4_000 },
    { phase: 'create', from: 4_000, to: 5_000 },
    { phase: 'run', from: 5_000, to: 9_000 },
  ]
  expect(barsOf({ startedAt: 2_000, finishedAt: 9_000 }, phases, SPAN, 0)).toEqual([
    { kind: 'prepare', left: 10, width: 30 },
    { kind: 'run', left: 40, width: 40 },
  ])
  expect(barsOf({ startedAt: 2_000 }, [{ phase: 'pull', from: 2_000 }], SPAN, 4_000)).toEqual([
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
  expect(barsOf({ startedAt: 1_000, finishedAt: 10_000 }, phases, SPAN, 0)).toEqual([
    { kind: 'prepare', left: 0, width: 10 },
    { kind: 'run', left: 10, width: 20 },
    { kind: 'run', left: 50, width: 40 },
  ])
})

test('a bar can always be seen, and stays in the span', () => {
  expect(barsOf({ startedAt: 11_000, finishedAt: 11_000 }, [], SPAN, 0)).toEqual([{ kind: 'run', left: 99.4, width: 0.6 }])
  expect(shareOf(0, SPAN)).toBe(0)
  expect(shareOf(99_000, SPAN)).toBe(100)
})
