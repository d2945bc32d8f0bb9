import { expect, test } from 'vitest'
import { parseTime } from './time.ts'

const NOW = Date.parse('2026-03-10T12:00:00Z')

test('reads dates and times ago', () => {
  expect(parseTime('2026-03-01', NOW)).toBe(Date.parse('2026-03-01T00:00:00Z'))
  expect(parseTime('2026-03-01T12:30:00Z', NOW)).toBe(Date.parse('2026-03-01T12:30:00Z'))
  expect(parseTime('90m', NOW)).toBe(NOW - 5_400_000)
  expect(parseTime('7d', NOW)).toBe(Date.parse('2026-03-03T12:00:00Z'))
})

test.each(['yesterday', '7', '', '2026-13-01', '-1d'])('refuses "%s"', (text) => {
  expect(() => parseTime(text, NOW)).toThrow('is not a time')
})
