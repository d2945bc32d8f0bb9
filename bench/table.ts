/** The rows as a table for users. */
import { ratioOf, reachesGoal, type Row, type Spread } from './row.ts'

const COLUMNS = ['line', 'value', 'n', 'range', 'p99', 'floor', 'ratio', 'goal', ''] as const

/** Returns a text with one line for each row, columns aligned, and the notes below. */
export function toTable(rows: readonly Row[]): string {
  const cells = [COLUMNS.map(String), ...rows.map(toCells)]
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const notes = rows.flatMap((row) => [
    `${row.name}: ${row.figure}${row.floor === undefined ? '' : `; floor: ${row.floor.what}`}`,
    ...(row.note === undefined ? [] : [`  ${row.note}`]),
  ])
  return [...lines, '', ...notes].join('\n')
}

function toCells(row: Row): string[] {
  const { value, floor } = row
  const ratio = ratioOf(row)
  const reached = reachesGoal(row)
  return [
    row.name,
    `${round(value.median)} ${row.unit}`,
    String(value.n),
    value.n > 1 ? toRange(value) : '',
    value.p99 === undefined ? '' : round(value.p99),
    floor === undefined ? '' : round(floor.value.median),
    ratio === undefined ? '' : `${ratio.toFixed(2)}x`,
    toGoals(row),
    reached === undefined ? '' : reached ? 'reached' : 'MISSED',
  ]
}

function toGoals({ unit, goal, goalP99, goalRatio }: Row): string {
  return [
    goal === undefined ? '' : `${unit === '1/s' ? '>=' : '<='} ${goal}`,
    goalP99 === undefined ? '' : `p99 <= ${round(goalP99)}`,
    goalRatio === undefined ? '' : `<= ${goalRatio}x`,
  ]
    .filter((text) => text !== '')
    .join(', ')
}

function toRange(value: Spread): string {
  return `${round(value.min)}-${round(value.max)}`
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
