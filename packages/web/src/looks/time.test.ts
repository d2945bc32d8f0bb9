import { expect, test } from 'vitest'
import { formatClock, formatMoment } from './time.ts'

test.each([
  [0, '0:00'],
  [40, '0.1 s'],
  [374, '0.4 s'],
  [949, '0.9 s'],
  [999, '0:01'],
  [1_000, '0:01'],
  [184_000, '3:04'],
  [3_731_000, '1:02:11'],
])('a duration of %i ms is shown as %s', (ms, expected) => {
  expect(formatClock(ms)).toBe(expected)
})

test('a moment of another day has its date, and one of another year its year', () => {
  const now = new Date(2026, 4, 3, 14, 30).getTime()
  expect(formatMoment(new Date(2026, 4, 3, 0, 5).getTime(), now)).toBe('00:05')
  expect(formatMoment(new Date(2026, 4, 2, 23, 59).getTime(), now)).toBe('2 May, 23:59')
  expect(formatMoment(new Date(2025, 4, 3, 14, 2).getTime(), now)).toBe('3 May 2025, 14:02')
})
