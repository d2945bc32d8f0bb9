/** The summary of a run: failures, the table of groups with their budgets, the slowest files, and the last line with the counts. */
import type { Outcome } from './outcome.ts'

export interface Budgets {
  /** Seconds of a whole run, with all binaries ready and with binaries that have to be compiled. */
  readonly total: { readonly warm: number; readonly bare: number }
  readonly groups: Readonly<Record<string, number>>
}

export interface GroupResult {
  readonly name: string
  readonly outcome: Outcome
  readonly seconds: number
  readonly cpuSeconds: number
}

export interface RunResult {
  readonly groups: readonly GroupResult[]
  /** Duration of the whole run, including preparation. */
  readonly seconds: number
  /** CPU utilization of the machine during the run. Below about 0.8 another lane would be useful. */
  readonly busyShare: number
  /** True if a program was compiled; then the budget of a bare machine applies. */
  readonly wasBare: boolean
  /** True if every group ran that runs without being asked for. The total budget applies only then. */
  readonly isWhole: boolean
  /** Groups that were not asked for. */
  readonly others: readonly string[]
}

const SLOWEST = 15
const time = (seconds: number): string => `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`

/** All lines of the summary but the last. `root` is cut from the names of files. */
export function describe(run: RunResult, budgets: Budgets, root: string): string[] {
  const outcomes = run.groups.map(({ outcome }) => outcome)
  return [
    ...table(run, budgets),
    ...(run.isWhole && run.others.length > 0 ? [`not in this run: ${run.others.join(', ')}; run \`make chaos\``] : []),
    `processors in use: ${(run.busyShare * 100).toFixed(0)} %`,
    '',
    `slowest files of ${outcomes.reduce((sum, { files }) => sum + files.length, 0)}:`,
    ...slowest(outcomes, root),
    '',
    ...outcomes.flatMap(({ failures }) => failures.map((failure) => `FAILED ${failure}`)),
    ...outcomes.flatMap(({ skips }) => skips.map((skip) => `SKIPPED ${skip}`)),
    ...outcomes.flatMap(({ repeats }) => repeats.map((repeat) => `AT THE SECOND TRY ${repeat}`)),
    ...outcomes.flatMap(({ unsteady }) => unsteady.map((test) => `UNSTEADY, passed alone: ${test}`)),
    ...run.groups.flatMap(({ name, seconds }) => overBudget(name, seconds, budgets.groups[name])),
    ...(run.isWhole ? overBudget('the run', run.seconds, wholeBudget(run, budgets)) : []),
  ]
}

/** The last line, which other programs read. */
export function lastLine(groups: readonly GroupResult[]): string {
  const sum = (count: (outcome: Outcome) => number): number => groups.reduce((total, { outcome }) => total + count(outcome), 0)
  const skipped = sum(({ skips }) => skips.length)
  const line = `${sum(({ passed }) => passed)} passed, ${sum(({ failures }) => failures.length)} failed`
  const unsteady = sum((outcome) => outcome.unsteady.length)
  return `${line}${skipped === 0 ? '' : `, ${skipped} skipped`}${unsteady === 0 ? '' : `, ${unsteady} unsteady`}`
}

const wholeBudget = ({ wasBare }: RunResult, { total }: Budgets): number => (wasBare ? total.bare : total.warm)

function table(run: RunResult, budgets: Budgets): string[] {
  const { groups } = budgets
  const rows = run.groups.map(({ name, outcome, seconds, cpuSeconds }) => {
    const tests = outcome.passed + outcome.failures.length + outcome.skips.length
    return [name, String(tests), time(seconds), time(cpuSeconds), budgetOf(groups[name]), verdict(seconds, groups[name])]
  })
  const whole = wholeBudget(run, budgets)
  const sum = [
    'the run',
    '',
    time(run.seconds),
    '',
    run.isWhole ? time(whole) : '',
    run.isWhole ? verdict(run.seconds, whole) : '',
  ]
  const lines = [['group', 'tests', 'wall', 'CPU', 'budget', ''], ...rows, sum]
  return lines.map(([name = '', ...cells]) => (name.padEnd(22) + cells.map((cell) => cell.padStart(9)).join('')).trimEnd())
}

const budgetOf = (limit: number | undefined): string => (limit === undefined ? '' : time(limit))
const verdict = (seconds: number, limit: number | undefined): string =>
  limit === undefined ? '' : seconds > limit ? 'over' : 'under'

/** A line and no failure: how long a run takes depends on who else uses the machine. */
function overBudget(name: string, seconds: number, limit: number | undefined): string[] {
  if (limit === undefined || seconds <= limit) return []
  return [`OVER BUDGET ${name}: ${time(seconds)} of ${time(limit)} (scripts/test-budget.json)`]
}

function slowest(outcomes: readonly Outcome[], root: string): string[] {
  return outcomes
    .flatMap(({ files }) => files)
    .toSorted((left, right) => right.seconds - left.seconds)
    .slice(0, SLOWEST)
    .map(({ name, seconds }) => `${time(seconds).padStart(9)}  ${name.replace(`${root}/`, '')}`)
}
