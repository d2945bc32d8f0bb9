import type { LogProblem } from './log-marks.ts'

/**
 * Returns the problem whose lines explain a failed step best: the first one. Test runners list the names of failed tests first, and repeat each name above its
 * details: of a problem that the log repeats, it is the last one. Undefined without problems.
 */
export function tellingProblem(problems: readonly LogProblem[]): LogProblem | undefined {
  const [first] = problems
  return first && problems.findLast(({ text }) => text === first.text)
}

/** Number of lines that explain a failed step, and those of them before the problem. */
const LINES = 10
const BEFORE = 1

/** The lines that explain a failed step. */
export interface TellingLines {
  readonly problem: LogProblem | undefined
  /** First line; negative: counted from the end. */
  readonly from: number
  readonly count: number
}

/** Returns the lines around the problem that tells most, or the last ones without problems. */
export function tellingLines(problems: readonly LogProblem[]): TellingLines {
  const problem = tellingProblem(problems)
  return { problem, from: problem === undefined ? -LINES : Math.max(0, problem.line - BEFORE), count: LINES }
}
