/** Prepares a step to run: substitutes its variables. Problems are returned as values, and the step fails as `invalid-step`. */
import { parseDuration } from '../duration.ts'
import { kindOf } from '../actions/index.ts'
import type { ResolvedAction } from '../actions/index.ts'
import type { Template } from '../fields/template.ts'
import type { PlanStep, Retry } from '../plan.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { StepFields } from '../fields/step-fields.ts'
import type { Notes, StepProblem } from '../fields/step-fields.ts'

export interface ResolvedStep {
  readonly name: string
  readonly title: string
  readonly failFast: boolean
  readonly strictFailFast: boolean
  /** No limit if absent. */
  readonly timeoutMs?: number
  readonly retry: Retry
  readonly action: ResolvedAction
  /** The environment of the step's containers: all variables of the build, overridden by the step's own. */
  readonly environment: Readonly<Record<string, string>>
}

export interface StepResolution {
  /** Absent if there is a problem. */
  readonly step?: ResolvedStep
  readonly problems: readonly StepProblem[]
  /** Undefined names, whose references stay in the texts; callers should log a warning. */
  readonly unresolved: readonly string[]
}

/** Resolves a step when it starts. Returns all problems at once; never throws. */
export function resolveStep(step: PlanStep, scope: BuildScope, tryNumber = 1): StepResolution {
  const outer = scope.within({ name: step.name, try: tryNumber, maxAttempts: step.retry.maxAttempts })
  const notes: Notes = { problems: [], unresolved: new Set() }
  const kind = kindOf(step.action)
  const own = ownEnvironment(kind.environment?.(step.action) ?? [], outer, notes)
  const fields = new StepFields(outer.with(own), notes)
  const action = kind.resolve(step.action, fields, step.name)
  const timeoutMs = fillTimeout(step, fields)
  const resolved: ResolvedStep = {
    name: step.name,
    title: fields.text('title', step.title),
    failFast: fields.flag('fail_fast', step.failFast),
    strictFailFast: fields.flag('strict_fail_fast', step.strictFailFast),
    ...(timeoutMs !== undefined && { timeoutMs }),
    retry: step.retry,
    action,
    environment: { ...outer.environment(), ...own },
  }
  return { ...(notes.problems.length === 0 && { step: resolved }), problems: notes.problems, unresolved: [...notes.unresolved] }
}

function ownEnvironment(environment: readonly Template[], scope: BuildScope, notes: Notes): Record<string, string> {
  const fields = new StepFields(scope, notes)
  const own: Record<string, string> = Object.create(null)
  for (const [index, template] of environment.entries()) {
    const entry = fields.text(`environment[${index}]`, template)
    const at = entry.indexOf('=')
    if (at > 0) own[entry.slice(0, at)] = entry.slice(at + 1)
    // As in Docker, a name alone stands for the variable of this name, which the step has if it exists. Nothing is left of a reference to an empty value.
    else if (at === 0) fields.problem(`environment[${index}]`, `"environment[${index}]" must have the form NAME=VALUE`)
  }
  return own
}

function fillTimeout(step: PlanStep, fields: StepFields): number | undefined {
  if (step.timeout === undefined) return undefined
  const ms = parseDuration(fields.text('timeout', step.timeout))
  return ms === 0 ? undefined : ms
}
