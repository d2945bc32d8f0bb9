import { expect, test } from 'vitest'
import { formatDuration, LONGEST_DURATION_MS, parseDuration } from './duration.ts'

test('parses integers and decimals with the units s, m and h', () => {
  expect(['90s', '1.5m', '.5h', '1.m', '0s', ' 2h '].map(parseDuration)).toEqual([
    90_000, 90_000, 1_800_000, 60_000, 0, 7_200_000,
  ])
})

test('rejects other texts', () => {
  for (const text of ['', '10', 's', '10d', '-1s', '1e3s', '1 0s', '10S', '. s', '${{T}}'])
    expect(parseDuration(text)).toBeUndefined()
})

test('caps a duration at the maximum', () => {
  expect(parseDuration('99999999h')).toBe(LONGEST_DURATION_MS)
})

test('formats a duration in a fitting unit', () => {
  expect([0, 350, 4_200, 59_999, 185_000, 7_800_000].map(formatDuration)).toEqual([
    '0 ms',
    '350 ms',
    '4.2 s',
    '59.9 s',
    '3 m 05 s',
    '2 h 10 m',
  ])
})
