/** Evaluates the `when` of a step. */
import { evaluate, ExpressionError, isTruthy, parseExpression } from './expression.ts'
import { stateOf } from '../state/fold.ts'
import type { StepCondition, When } from '../plan.ts'
import { matchesPattern, PatternError } from '../pattern/pattern.ts'
import { matchesResult } from '../state/results.ts'
import type { BuildScope } from './build-scope.ts'
import type { Snapshot } from '../state/snapshot.ts'
import { substitute } from './substitute.ts'

/** `broken`: an expression or a pattern is invalid, and the step fails with the message. */
export type Verdict = { readonly holds: 'yes' | 'no' } | { readonly holds: 'broken'; readonly message: string }

export interface ConditionPlace {
  readonly scope: BuildScope
  readonly snapshot: Snapshot
}

/** Evaluates all parts of a `when`; every part must hold. Never throws. */
export function judgeWhen(when: When, place: ConditionPlace): Verdict {
  return verdictOf(
    () => branchHolds(when.branch, place.scope) && stepsHold(when.steps, place) && conditionHolds(when.condition, place.scope),
  )
}

/** Evaluates labeled expressions only, as in success criteria. Never throws. */
export function judgeCondition(condition: When['condition'], scope: BuildScope): Verdict {
  return verdictOf(() => conditionHolds(condition, scope))
}

function verdictOf(judge: () => boolean): Verdict {
  try {
    return { holds: judge() ? 'yes' : 'no' }
  } catch (error) {
    if (error instanceof BrokenCondition) return { holds: 'broken', message: error.message }
    throw error
  }
}

class BrokenCondition extends Error {}

function branchHolds(branch: When['branch'], scope: BuildScope): boolean {
  if (branch === undefined) return true
  const name = scope.lookup('CF_BRANCH') === undefined ? '' : substitute('${{CF_BRANCH}}', scope).text
  const listed = (entries: readonly string[]): boolean => entries.some((entry) => matchesBranch(entry, name))
  return (branch.only === undefined || listed(branch.only)) && !(branch.ignore !== undefined && listed(branch.ignore))
}

function matchesBranch(entry: string, branch: string): boolean {
  const regex = toRegexParts(entry)
  if (regex === undefined) return entry === branch
  try {
    return matchesPattern(regex.source, regex.flags, branch)
  } catch (error) {
    if (error instanceof PatternError) throw new BrokenCondition(`The branch pattern ${entry} cannot be used: ${error.message}`)
    throw error
  }
}

/** Splits an entry written as `/body/flags`. Returns undefined for a plain branch name. */
export function toRegexParts(entry: string): { source: string; flags: string } | undefined {
  const match = /^\/(.+)\/([a-z]*)$/s.exec(entry)
  return match === null ? undefined : { source: match[1] ?? '', flags: match[2] ?? '' }
}

function stepsHold(steps: When['steps'], { scope, snapshot }: ConditionPlace): boolean {
  if (steps === undefined) return true
  const holds = ({ name, on }: StepCondition): boolean => matchesResult(stateOf(snapshot, scope.findStep(name) ?? name), on)
  return steps.match === 'all' ? steps.of.every(holds) : steps.of.some(holds)
}

function conditionHolds(condition: When['condition'], scope: BuildScope): boolean {
  if (condition === undefined) return true
  const holds = ([label, text]: [string, string]): boolean => expressionHolds(label, text, scope)
  const all = condition.all === undefined || Object.entries(condition.all).every(holds)
  return all && (condition.any === undefined || Object.entries(condition.any).some(holds))
}

function expressionHolds(label: string, text: string, scope: BuildScope): boolean {
  try {
    return isTruthy(evaluate(parseExpression(text), scope))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    const shown = text.length > 300 ? `${text.slice(0, 300)}…` : text
    throw new BrokenCondition(
      `Condition "${label}" cannot be evaluated: ${error.message} (character ${error.at + 1} of: ${shown.trim()})`,
    )
  }
}
