import { expect, test } from 'vitest'
import { describeSchedule } from './describe-schedule.ts'
import { ScheduleProblem } from './schedule.ts'

test.each([
  ['* * * * *', 'Every minute'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['*/7 * * * *', 'Every hour at the minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56'],
  ['5 * * * *', 'Every hour at minute 5'],
  ['@hourly', 'Every hour'],
  ['30 3 * * *', 'At 03:30 every day'],
  ['0 9-17/4 * * MON-FRI', 'At 09:00, 13:00 and 17:00, Monday to Friday'],
  ['*/10 9-17 * * 1-5', 'Every 10 minutes from 09:00 to 17:59, Monday to Friday'],
  ['*/30 8,20 * * 6', 'At 08:00, 08:30, 20:00 and 20:30 on Saturday'],
  ['0 0 1,15 JAN,DEC *', 'At 00:00 on the days 1 and 15 of the month in January and December'],
  ['0 0 L * ?', 'At 00:00 on the last day of the month'],
  ['0 0 * * MON#1', 'At 00:00 on the first Monday of the month'],
  ['0 0 13 * FRI', 'At 00:00 on day 13 of the month or on Friday'],
  ['0 0 * * 7', 'At 00:00 on Sunday'],
  ['0 12 1 1 * 2028', 'At 12:00 on day 1 of the month in January in 2028'],
  ['0 0 15W * *', 'At 00:00 on the day 15W of the month'],
  ['@weekly', 'At 00:00 on Sunday'],
  ['0,20,50 * * * *', 'Every hour at the minutes 0, 20 and 50'],
  ['0,15,20,25 9-17 * * *', 'Every hour at the minutes 0, 15, 20 and 25 from 09:00 to 17:59'],
  ['0 0 * * 1/2', 'At 00:00 on Monday, Wednesday and Friday'],
  ['0 0 * * 0,7', 'At 00:00 on Sunday'],
  ['0 0 * * FRI-MON', 'At 00:00 on FRI-MON'],
])('%s is "%s"', (expression, words) => {
  expect(describeSchedule(expression)).toBe(words)
})

test('an expression without five fields has no words', () => {
  expect(() => describeSchedule('* *')).toThrow(ScheduleProblem)
})
