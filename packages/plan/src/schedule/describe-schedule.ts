/** A cron expression in words. */
import { readFields } from './schedule.ts'

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

/** More times of a day are described by their minutes and hours. */
const MAX_TIMES = 6

/**
 * Describes an expression, such as `At 09:00 and 13:00, Monday to Friday`. A field that has no words is quoted as it is written. Throws `ScheduleProblem`
 * for an expression without five fields.
 */
export function describeSchedule(expression: string): string {
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*', year] = readFields(expression)
  const time = describeTime(minute, hour)
  const days = describeDays(day, weekday)
  const months = isAny(month) ? '' : ` in ${namesOf(month, { first: 1, last: 12, names: MONTHS })}`
  const years = year === undefined ? '' : ` in ${year}`
  const separator = days.startsWith('on ') || days.startsWith('every ') ? ' ' : ', '
  const needsDays = time.startsWith('At ') || days !== 'every day'
  return `${time}${needsDays ? `${separator}${days}` : ''}${months}${years}`
}

function isAny(field: string): boolean {
  return field === '*' || field === '?'
}

function describeTime(minute: string, hour: string): string {
  const minutes = numbersOf(minute, { first: 0, last: 59 })
  const hours = numbersOf(hour, { first: 0, last: 23 })
  if (minutes === undefined || hours === undefined) return `At minute ${minute} of hour ${hour}`
  if (!isAny(hour) && minutes.length * hours.length <= MAX_TIMES)
    return `At ${join(hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`)))}`
  const often = describeMinutes(minute, minutes)
  if (isAny(hour)) return often
  const isRun = hours.every((h, index) => index === 0 || h === (hours[index - 1] ?? 0) + 1)
  const [from = 0] = hours
  const to = hours.at(-1) ?? from
  return `${often} ${isRun ? `from ${two(from)}:00 to ${two(to)}:59` : `in the hours ${join(hours.map(two))}`}`
}

function describeMinutes(written: string, minutes: readonly number[]): string {
  if (minutes.length === 60) return 'Every minute'
  if (minutes.length === 1) return minutes[0] === 0 ? 'Every hour' : `Every hour at minute ${minutes[0]}`
  const step = (minutes[1] ?? 0) - (minutes[0] ?? 0)
  const isEven = minutes.length === 60 / step && minutes.every((minute, index) => minute === index * step)
  return isEven
    ? `Every ${step} minutes`
    : `Every hour at the minutes ${/^\d+-\d+$/.test(written) ? written : join(minutes.map(String))}`
}

function describeDays(day: string, weekday: string): string {
  const parts = [...(isAny(day) ? [] : [describeDay(day)]), ...(isAny(weekday) ? [] : [describeWeekday(weekday)])]
  // A day matches if one of both fields matches.
  return parts.length === 0 ? 'every day' : parts.join(' or ')
}

function describeDay(field: string): string {
  if (field === 'L') return 'on the last day of the month'
  const days = numbersOf(field, { first: 1, last: 31 })
  if (days === undefined) return `on the day ${field} of the month`
  return `on ${days.length === 1 ? 'day' : 'the days'} ${join(days.map(String))} of the month`
}

function describeWeekday(field: string): string {
  const [, name = '', which = ''] = /^(\w+)#([1-5])$/.exec(field) ?? []
  const nth = numberOf(name, DAYS)
  if (nth !== undefined) return `on the ${ORDINALS[Number(which) - 1]} ${DAYS[nth % 7]} of the month`
  // Sunday is 0 or 7. An open range ends with Saturday.
  return namesOf(field, { first: 0, last: 7, end: 6, names: DAYS, word: 'on ' })
}

interface Span {
  readonly first: number
  readonly last: number
  /** Last value of `*` and of steps without an end. Default: `last`. */
  readonly end?: number
  readonly names?: readonly string[]
}

interface Names extends Span {
  readonly names: readonly string[]
  /** Comes before a list, but not before a range. */
  readonly word?: string
}

/** Names the values of a field: `Monday to Friday`, or `on Monday and Thursday`. */
function namesOf(field: string, { word = '', ...span }: Names): string {
  const { first, names } = span
  const numbers = numbersOf(field, span)
  if (numbers === undefined) return `${word}${field}`
  const nameOf = (number: number): string => names[(number - first) % names.length] ?? field
  if (/^\w+-\w+$/.test(field) && numbers.length > 2) return `${nameOf(numbers[0] ?? 0)} to ${nameOf(numbers.at(-1) ?? 0)}`
  return `${word}${join([...new Set(numbers.map(nameOf))])}`
}

/** Returns the values of a field in their order; undefined if it has a form other than lists, ranges and steps. */
function numbersOf(field: string, { first, last, end = last, names = [] }: Span): number[] | undefined {
  const numbers = new Set<number>()
  for (const part of field.split(',')) {
    const [, from = '', to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? []
    const low = isAny(from) ? first : numberOf(from, names, first)
    const high = to !== undefined ? numberOf(to, names, first) : isAny(from) || step !== undefined ? end : low
    if (low === undefined || high === undefined || low < first || high < low || high > last) return undefined
    for (let value = low; value <= high; value += Math.max(1, Number(step ?? 1))) numbers.add(value)
  }
  return [...numbers].toSorted((a, b) => a - b)
}

/** Reads a number, or the first three letters of a name. */
function numberOf(text: string, names: readonly string[], first = 0): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const index = text.length === 3 ? names.findIndex((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase()) : -1
  return index === -1 ? undefined : index + first
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

function join(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
