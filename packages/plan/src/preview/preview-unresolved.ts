/** The variables that a plan refers to and that have no value before the build starts. */
import { kindOf } from '../actions/index.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { BUILTIN_VARIABLES, isGitVariable } from '../expression/builtin-variables.ts'
import { findReferences } from '../expression/substitute.ts'
import type { Plan, PlanStep } from '../plan.ts'

export interface PreviewUnresolved {
  readonly name: string
  /** `trigger`: a Git trigger sets it. `user`: a variable of a user, or an export that the plan does not show. */
  readonly from: 'trigger' | 'user'
  /** Steps that use it, itself or through other variables; `services` stands for the services of the build. */
  readonly steps: readonly string[]
  /** Variables whose values refer to it. */
  readonly variables: readonly string[]
}

export interface UnresolvedPlace {
  /** The parts of each step that count, in order. */
  readonly steps: readonly { readonly step: PlanStep; readonly parts: readonly unknown[] }[]
  readonly scopeOf: (step?: string) => BuildScope
  /** Variable -> the step that exports it. */
  readonly exporters: ReadonlyMap<string, string>
}

/** Returns each variable once, sorted by name. Secrets, results of steps, exports and what the engine sets have a value when they are used. */
export function previewUnresolved(plan: Plan, { steps, scopeOf, exporters }: UnresolvedPlace): PreviewUnresolved[] {
  const given = new Set(plan.variables.flatMap(({ variables }) => Object.keys(variables)))
  const found = new Map<string, { steps: Set<string>; variables: Set<string> }>()
  const add = (name: string, scope: BuildScope, user: { readonly step?: string; readonly variable?: string }): void => {
    if (given.has(name) || exporters.has(name) || isSetLater(name, scope)) return
    const users = found.get(name) ?? { steps: new Set(), variables: new Set() }
    found.set(name, users)
    if (user.step !== undefined) users.steps.add(user.step)
    if (user.variable !== undefined) users.variables.add(user.variable)
  }
  for (const { step, parts } of steps) {
    const scope = scopeOf(step.name)
    const own = ownNames(step)
    for (const name of unresolvedIn(textsIn(parts), scope)) if (!own.has(name)) add(name, scope, { step: step.name })
  }
  const scope = scopeOf()
  for (const name of unresolvedIn(textsIn(plan.services), scope)) add(name, scope, { step: 'services' })
  for (const { variables } of plan.variables)
    for (const [variable, one] of Object.entries(variables))
      if ('value' in one) for (const name of unresolvedIn([one.value], scope)) add(name, scope, { variable })
  return [...found.keys()].toSorted().map((name) => {
    const users = found.get(name)
    return {
      name,
      from: isGitVariable(name) ? 'trigger' : 'user',
      steps: [...(users?.steps ?? [])],
      variables: [...(users?.variables ?? [])],
    }
  })
}

/** Returns the names without a value in the texts and in the values of their variables. Reads each value once, because values can be large. */
function unresolvedIn(texts: Iterable<string>, scope: BuildScope): Set<string> {
  const seen = new Set<string>()
  const unresolved = new Set<string>()
  const pending = [...texts]
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    for (const { name } of findReferences(text)) {
      if (seen.has(name)) continue
      seen.add(name)
      const value = scope.lookup(name) ?? scope.lookup(name.trim())
      if (value === undefined) unresolved.add(name.trim())
      else if (value.includes('${{')) pending.push(value)
    }
  }
  return unresolved
}

/** Returns true for results and outputs of steps, secrets of external stores, and variables that the server or the engine sets. */
function isSetLater(name: string, scope: BuildScope): boolean {
  if (Object.hasOwn(BUILTIN_VARIABLES, name)) return !isGitVariable(name)
  const [first = ''] = name.split('.')
  return name === 'workflow.result' || ['steps', 'parentSteps', 'secrets'].includes(first) || scope.findStep(first) !== undefined
}

/** Returns the names that the `environment` of a step defines. */
function ownNames({ action }: PlanStep): ReadonlySet<string> {
  const environment = kindOf(action).environment?.(action) ?? []
  return new Set(environment.flatMap((entry) => (entry.includes('=') ? entry.slice(0, entry.indexOf('=')) : [])))
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    if (value.includes('${{')) yield value
  } else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner)
}
