/** Whether a `when` would hold, as far as that can be said before anything has run. */
import { judgeCondition, judgeWhen } from './condition.ts'
import type { Plan, PlanStep, When } from './plan.ts'
import { matchesResult } from './results.ts'
import type { BuildScope } from './scope.ts'
import { isFinalStep } from './lists.ts'
import { stateOf } from './fold.ts'
import type { Snapshot } from './snapshot.ts'

/** `maybe`: it depends on what these are when the time has come. */
export type Forecast =
  | { readonly holds: 'yes' }
  | { readonly holds: 'no' | 'broken'; readonly because: string }
  | { readonly holds: 'maybe'; readonly on: readonly string[]; readonly because: string }

export interface ForecastPlace {
  readonly scope: BuildScope
  /** Steps whose end is known already (they are left out), all others pending. */
  readonly snapshot: Snapshot
  /** Variable -> the step that exports it, as far as its commands tell. */
  readonly exporters: ReadonlyMap<string, string>
}

/** Judges each part by itself; what is surely false or broken decides. */
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
  return { holds: 'no', because: name === undefined ? 'no branch is known' : `branch ${name} does not match` }
}

function stepsForecast(steps: NonNullable<When['steps']>, place: ForecastPlace): Forecast {
  const each = steps.of.map(({ name, on }): Forecast => {
    const step = place.scope.findStep(name) ?? name
    const state = stateOf(place.snapshot, step)
    if (!isFinalStep(state.status)) return { holds: 'maybe', on: [step], because: `${step} is ${on.join(' or ')}` }
    return matchesResult(state, on) ? { holds: 'yes' } : { holds: 'no', because: `${step} is left out` }
  })
  return combine(each, steps.match)
}

function conditionForecast(condition: NonNullable<When['condition']>, place: ForecastPlace): Forecast {
  const judge = ([label, text]: [string, string]): Forecast => expressionForecast(label, text, place)
  const all = Object.entries(condition.all ?? {}).map(judge)
  const any = Object.entries(condition.any ?? {}).map(judge)
  return combine([...all, ...(any.length === 0 ? [] : [combine(any, 'any')])], 'all')
}

/** Thrown by the scope of a forecast at names that get their values only while the build runs. */
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

/** The scope of a step that refuses what only a running build knows. */
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

/** What is sure decides; else it depends on all that is not. */
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

/** Which step exports a variable, as far as the commands of freestyle steps tell; the first of several. */
export function exportersOf(plan: Plan): Map<string, string> {
  const found = new Map<string, string>()
  for (const step of plan.steps) {
    for (const name of exportedBy(step)) if (!found.has(name)) found.set(name, step.name)
  }
  return found
}

function exportedBy({ action }: PlanStep): string[] {
  if (action.kind !== 'freestyle') return []
  return (action.commands ?? []).flatMap((command) =>
    [...command.matchAll(/\bcf_export\s+((?:--mask\s+|[A-Za-z_]\w*(?:=(?:"[^"]*"|'[^']*'|\S*))?\s*)+)/g)].flatMap(
      ([, words = '']) => [...words.matchAll(/(?:^|\s)([A-Za-z_]\w*)(?==|\s|$)/g)].flatMap(([, name]) => name ?? []),
    ),
  )
}
