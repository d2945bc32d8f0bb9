import { expect, test } from 'vitest'
import { nextTick, ScheduleProblem } from './schedule.ts'

/** Returns the next times after a time, as text. */
function next(expression: string, after: string, { timezone = 'UTC', count = 1 } = {}): string[] {
  const found: string[] = []
  let at = Date.parse(after)
  for (let n = 0; n < count; n += 1) {
    const tick = nextTick({ expression, timezone }, at)
    if (tick === undefined) break
    found.push(new Date(tick).toISOString().slice(0, 16))
    at = tick
  }
  return found
}

const NEW_YEAR = '2026-01-01T00:00:00Z'

test.each([
  ['*/15 * * * *', ['2026-01-01T00:15']],
  ['30 3 * * *', ['2026-01-01T03:30', '2026-01-02T03:30']],
  ['0 9-17/4 * * MON-FRI', ['2026-01-01T09:00', '2026-01-01T13:00', '2026-01-01T17:00', '2026-01-02T09:00']],
  ['0 0 1,15 JAN,DEC *', ['2026-01-15T00:00', '2026-12-01T00:00']],
  ['50/5 0 * * *', ['2026-01-01T00:50', '2026-01-01T00:55', '2026-01-02T00:50']],
  ['0 0 ? * SUN', ['2026-01-04T00:00']],
  ['0 0 L * ?', ['2026-01-31T00:00', '2026-02-28T00:00']],
  ['0 0 * * MON#1', ['2026-01-05T00:00', '2026-02-02T00:00']],
  ['0 0 0 * * *', ['2026-01-02T00:00']],
  ['0 12 1 1 * 2028', ['2028-01-01T12:00']],
  ['@daily', ['2026-01-02T00:00']],
  ['@MIDNIGHT', ['2026-01-02T00:00']],
  ['@hourly', ['2026-01-01T01:00']],
  ['@weekly', ['2026-01-04T00:00']],
  ['@monthly', ['2026-02-01T00:00']],
  ['@yearly', ['2027-01-01T00:00']],
])('%s starts builds at %j (P148)', (expression, expected) => {
  expect(next(expression, NEW_YEAR, { count: expected.length })).toEqual(expected)
})

test('an expression applies to its time zone, also over changes of clocks', () => {
  const berlin = { timezone: 'Europe/Berlin', count: 3 }
  // The day of 2026-03-29 has no 02:30, and that of 2026-10-25 has it twice.
  expect(next('30 2 * * *', '2026-03-27T12:00:00Z', berlin)).toEqual(['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'])
  expect(next('30 2 * * *', '2026-10-23T12:00:00Z', berlin)).toEqual(['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'])
  expect(next('0 9 * * *', '2026-07-01T00:00:00Z', { timezone: 'America/New_York' })).toEqual(['2026-07-01T13:00'])
})

test('a year that has passed gives no time', () => {
  expect(next('0 0 1 1 * 2020', NEW_YEAR)).toEqual([])
})

test.each(['', '* * * *', '61 * * * *', '* 25 * * *', '* * * FOO *', '@never', '*/0 * * * *', '* * * * * * * *', '30 0 0 * * *'])(
  'refuses the expression "%s"',
  (expression) => {
    expect(() => nextTick({ expression, timezone: 'UTC' }, 0)).toThrow(ScheduleProblem)
  },
)

test('refuses a time zone that does not exist', () => {
  expect(() => nextTick({ expression: '@daily', timezone: 'Mars/Olympus' }, 0)).toThrow(ScheduleProblem)
})
