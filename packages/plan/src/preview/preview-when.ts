/** Predicts whether a `when` will hold, as far as this is known before anything has run. */
import { judgeCondition, judgeWhen } from '../expression/condition.ts'
import { kindOf } from '../actions/index.ts'
import type { Plan, When } from '../plan.ts'
import { matchesResult } from '../state/results.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { isFinalStep } from '../lists.ts'
import { stateOf } from '../state/fold.ts'
import type { Snapshot } from '../state/snapshot.ts'

/** `maybe`: depends on the steps or values in `on`. */
export type Forecast =
  | { readonly holds: 'yes' }
  | { readonly holds: 'no' | 'broken'; readonly because: string }
  | { readonly holds: 'maybe'; readonly on: readonly string[]; readonly because: string }

export interface ForecastPlace {
  readonly scope: BuildScope
  /** Steps that are known to be skipped have that status; all others are pending. */
  readonly snapshot: Snapshot
  /** Variable -> the step that exports it, as far as its commands show. */
  readonly exporters: ReadonlyMap<string, string>
}

/** Evaluates each part separately. A part that is certainly false or invalid decides. */
export function forecast(when: When, place: ForecastPlace): Forecast {
  const parts = [
    ...(when.branch === undefined ? [] : [branchForecast(when.branch, place)]),
    ...(when.steps === undefined ? [] : [stepsForecast(when.steps, place)]),
    ...(when.condition === undefined ? [] : [conditionForecast(when.condition, place)]),
  ]
  return combine(parts, 'all')
}

function branchForecast(branch: NonNullable<When['branch']>, place: ForecastPlace): Forecast {
  const verdict = judgeWhen({ branch }, place)
  if (verdict.holds === 'yes') return { holds: 'yes' }
  if (verdict.holds === 'broken') return { holds: 'broken', because: verdict.message }
  const name = place.scope.lookup('CF_BRANCH')
  return { holds: 'no', because: name === undefined ? 'the branch is not known' : `branch ${name} does not match` }
}

function stepsForecast(steps: NonNullable<When['steps']>, place: ForecastPlace): Forecast {
  const each = steps.of.map(({ name, on }): Forecast => {
    const step = place.scope.findStep(name) ?? name
    const state = stateOf(place.snapshot, step)
    if (!isFinalStep(state.status)) return { holds: 'maybe', on: [step], because: `${step} is ${on.join(' or ')}` }
    return matchesResult(state, on) ? { holds: 'yes' } : { holds: 'no', because: `${step} is skipped` }
  })
  return combine(each, steps.match)
}

function conditionForecast(condition: NonNullable<When['condition']>, place: ForecastPlace): Forecast {
  const judge = ([label, text]: [string, string]): Forecast => expressionForecast(label, text, place)
  const all = Object.entries(condition.all ?? {}).map(judge)
  const any = Object.entries(condition.any ?? {}).map(judge)
  return combine([...all, ...(any.length === 0 ? [] : [combine(any, 'any')])], 'all')
}

/** Thrown when an expression reads a value that is known only while the build runs. */
class NotYet extends Error {
  readonly on: string

  constructor(on: string) {
    super(on)
    this.on = on
  }
}

function expressionForecast(label: string, text: string, place: ForecastPlace): Forecast {
  const shown = text.replace(/\s+/g, ' ').trim()
  try {
    const verdict = judgeCondition({ all: { [label]: text } }, knownOnly(place))
    if (verdict.holds === 'yes') return { holds: 'yes' }
    return { holds: verdict.holds, because: verdict.holds === 'broken' ? verdict.message : shown }
  } catch (error) {
    if (!(error instanceof NotYet)) throw error
    return { holds: 'maybe', on: [error.on], because: shown }
  }
}

/** Returns a scope that throws `NotYet` for values that are known only while the build runs. */
function knownOnly({ scope, snapshot, exporters }: ForecastPlace): BuildScope {
  const lookup = (name: string): string | undefined => {
    if (name === 'workflow.result') throw new NotYet(name)
    const exporter = exporters.get(name)
    if (exporter !== undefined && !isFinalStep(stateOf(snapshot, exporter).status)) throw new NotYet(exporter)
    const [first = '', ...member] = name.replace(/^(?:steps|parentSteps)\./, '').split('.')
    const step = scope.findStep(first)
    const isOwn = member.length > 0 && ['name', 'type', 'title'].includes(member.join('.'))
    if (step !== undefined && !isOwn && !isFinalStep(stateOf(snapshot, step).status)) throw new NotYet(step)
    return scope.lookup(name)
  }
  return { ...scope, lookup, as: () => ({ lookup }) }
}

/** Combines forecasts: certain results decide, otherwise the result depends on all uncertain ones. */
function combine(parts: readonly Forecast[], match: 'all' | 'any'): Forecast {
  const broken = parts.find(({ holds }) => holds === 'broken')
  if (broken !== undefined) return broken
  if (match === 'any' && parts.some(({ holds }) => holds === 'yes')) return { holds: 'yes' }
  const no = parts.filter((part) => part.holds === 'no')
  const maybe = parts.filter((part) => part.holds === 'maybe')
  if (match === 'all' && no[0] !== undefined) return no[0]
  if (maybe.length > 0) {
    const because = maybe.map((part) => part.because).join(match === 'all' ? ' and ' : ' or ')
    return { holds: 'maybe', on: [...new Set(maybe.flatMap(({ on }) => on))], because }
  }
  return match === 'any' && parts.length > 0 ? (no[0] ?? { holds: 'yes' }) : { holds: 'yes' }
}

/** Maps each exported variable to the first step that exports it, as far as the plan shows it. */
export function exportersOf(plan: Plan): Map<string, string> {
  const found = new Map<string, string>()
  for (const step of plan.steps) {
    const names = kindOf(step.action).exportedNames?.(step.action) ?? []
    for (const name of names) if (!found.has(name)) found.set(name, step.name)
  }
  return found
}
