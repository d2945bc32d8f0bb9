import { expect, test } from 'vitest'
import { formatClock } from './time.ts'

test.each([
  [0, '0:00'],
  [40, '0.1 s'],
  [420, '0.4 s'],
  [999, '0.9 s'],
  [1_000, '0:01'],
  [184_000, '3:04'],
  [3_731_000, '1:02:11'],
])('a duration of %i ms is shown as %s', (ms, expected) => {
  expect(formatClock(ms)).toBe(expected)
})
