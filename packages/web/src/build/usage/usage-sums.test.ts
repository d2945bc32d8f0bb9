import { expect, test } from 'vitest'
import { memoryTogether } from './usage-sums.ts'

const step = (startedAt: number, finishedAt: number | undefined, memoryPeakBytes: number) => ({
  startedAt,
  finishedAt,
  usage: { memoryPeakBytes },
})

test('adds the memory of steps that ran at the same time, and not of those before or after', () => {
  expect(memoryTogether([step(0, 10, 500), step(10, 20, 600)])).toBe(600)
  expect(memoryTogether([step(0, 10, 500), step(5, 20, 600)])).toBe(1_100)
  expect(memoryTogether([step(0, undefined, 500), step(50, 60, 600)])).toBe(1_100)
})

test('leaves out steps of another build, and counts one that took no time alone', () => {
  expect(memoryTogether([{ ...step(0, 10, 500), carried: true }, step(5, 20, 400)])).toBe(500)
  expect(memoryTogether([step(0, 0, 700), step(1, 2, 300)])).toBe(700)
})
