/** Times and words of cron expressions. An entry of its own, because it needs a library. */
export { describeSchedule } from './describe-schedule.ts'
export { nextTick, nextTicks, ScheduleProblem, type Schedule } from './schedule.ts'
