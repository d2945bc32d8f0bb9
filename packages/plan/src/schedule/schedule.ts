/** Cron expressions. croner computes the times; this file brings the expressions of Codefresh into its form. */
import { Cron } from 'croner'

/** The expression is not valid. The message says why. */
export class ScheduleProblem extends Error {
  override readonly name = 'ScheduleProblem'
}

const ALIASES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Largest value of each field: minute, hour, day of the month, month, day of the week. */
const LARGEST = [59, 23, 31, 12, 6]

export interface Schedule {
  readonly expression: string
  readonly timezone: string
}

/**
 * Returns the first time after `after`; undefined if there is none. A time that a change of clocks skips counts at the moment of the change, and a time
 * that occurs twice counts once. Throws `ScheduleProblem`.
 */
export function nextTick({ expression, timezone }: Schedule, after: number): number | undefined {
  try {
    const cron = new Cron(normalize(expression), { timezone, paused: true })
    return cron.nextRun(new Date(after))?.getTime()
  } catch (error) {
    if (error instanceof ScheduleProblem) throw error
    const why = error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error)
    throw new ScheduleProblem(`the expression "${expression}" in the time zone "${timezone}" cannot be used: ${why}`)
  }
}

/** Returns at most `count` times after `after`, in their order. Throws `ScheduleProblem`. */
export function nextTicks(schedule: Schedule, after: number, count: number): number[] {
  const ticks: number[] = []
  while (ticks.length < count) {
    const next = nextTick(schedule, ticks.at(-1) ?? after)
    if (next === undefined) break
    ticks.push(next)
  }
  return ticks
}

/** Returns the expression with seconds, without aliases, question marks and open steps. */
function normalize(expression: string): string {
  const parts = readFields(expression)
  const [minute = '', hour = '', day = '', month = '', weekday = '', year] = parts
  const five = [minute, hour, day, month, weekday].map((field, index) =>
    openSteps(field.replace(/^\?$/, '*'), LARGEST[index] ?? 0),
  )
  return ['0', ...five, ...(year === undefined ? [] : [year])].join(' ')
}

/** Returns the five fields of an expression, and the year if it has one. Throws `ScheduleProblem`. */
export function readFields(expression: string): readonly string[] {
  const text = expression.trim()
  const written = text.startsWith('@') ? ALIASES[text.toLowerCase()] : text
  const fields = written?.split(/\s+/) ?? []
  const year = fields.length === 6 && /^\d{4}([-,/]\d+)*$/.test(fields[5] ?? '') ? fields[5] : undefined
  // Codefresh accepted a field for seconds in front. Builds start at full minutes.
  const hasSeconds = fields.length === 6 && year === undefined && fields[0] === '0'
  const five = year !== undefined ? fields.slice(0, 5) : hasSeconds ? fields.slice(1) : fields
  if (five.length !== 5)
    throw new ScheduleProblem(
      `the expression "${expression}" must have five fields (minute, hour, day, month, weekday) or be one of ${Object.keys(ALIASES).join(', ')}`,
    )
  return year === undefined ? five : [...five, year]
}

/** `5/10` means every 10 from 5 to the end of the field. */
function openSteps(field: string, largest: number): string {
  return field
    .split(',')
    .map((part) => part.replace(/^(\d+)\/(\d+)$/, `$1-${largest}/$2`))
    .join(',')
}
