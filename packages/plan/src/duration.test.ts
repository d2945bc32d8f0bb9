import { expect, test } from 'vitest'
import { formatDuration, LONGEST_DURATION_MS, parseDuration } from './duration.ts'

test('a duration is a number with s, m or h, as whole or decimal in any of the accepted forms', () => {
  expect(['90s', '1.5m', '.5h', '1.m', '0s', ' 2h '].map(parseDuration)).toEqual([
    90_000, 90_000, 1_800_000, 60_000, 0, 7_200_000,
  ])
})

test('other texts are no durations', () => {
  for (const text of ['', '10', 's', '10d', '-1s', '1e3s', '1 0s', '10S', '. s', '${{T}}'])
    expect(parseDuration(text)).toBeUndefined()
})

test('a duration longer than the longest is cut to it', () => {
  expect(parseDuration('99999999h')).toBe(LONGEST_DURATION_MS)
})

test('durations are told in the unit that suits them', () => {
  expect([0, 350, 4_200, 59_999, 185_000, 7_800_000].map(formatDuration)).toEqual([
    '0 ms',
    '350 ms',
    '4.2 s',
    '59.9 s',
    '3 m 05 s',
    '2 h 10 m',
  ])
})
