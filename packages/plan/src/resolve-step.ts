/** A step with its variables filled in, ready to run. What is wrong with it then is told as values: the step fails as `invalid-step`. */
import { parseDuration } from './duration.ts'
import type { FreestyleAction, PlanStep, Retry } from './plan.ts'
import { fillAction } from './resolve-action.ts'
import type { ResolvedAction } from './resolve-action.ts'
import type { BuildScope } from './scope.ts'
import { StepFields } from './step-fields.ts'
import type { Notes, StepProblem } from './step-fields.ts'

export interface ResolvedStep {
  readonly name: string
  readonly title: string
  readonly failFast: boolean
  readonly strictFailFast: boolean
  /** Absent means no limit. */
  readonly timeoutMs?: number
  readonly retry: Retry
  readonly action: ResolvedAction
  /** All variables of the build and the step's own, the step's own winning: what a container of the step gets. */
  readonly environment: Readonly<Record<string, string>>
}

export interface StepResolution {
  /** Absent when there is a problem. */
  readonly step?: ResolvedStep
  readonly problems: readonly StepProblem[]
  /** Names that nobody defined; their references stay in the texts. Worth a warning in the log. */
  readonly unresolved: readonly string[]
}

/** Fills in a step at the moment it starts. Never throws: all problems are told at once. */
export function resolveStep(step: PlanStep, scope: BuildScope, tryNumber = 1): StepResolution {
  const outer = scope.within({ name: step.name, try: tryNumber, maxAttempts: step.retry.maxAttempts })
  const notes: Notes = { problems: [], unresolved: new Set() }
  const own = step.action.kind === 'freestyle' ? ownEnvironment(step.action, outer, notes) : {}
  const fields = new StepFields(outer.with(own), notes)
  const action = fillAction(step.action, fields, step.name)
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

function ownEnvironment(action: FreestyleAction, scope: BuildScope, notes: Notes): Record<string, string> {
  const fields = new StepFields(scope, notes)
  const own: Record<string, string> = Object.create(null)
  for (const [index, template] of action.environment.entries()) {
    const entry = fields.text(`environment[${index}]`, template)
    const at = entry.indexOf('=')
    if (at < 1) fields.problem(`environment[${index}]`, `"environment[${index}]" must have the form NAME=VALUE`)
    else own[entry.slice(0, at)] = entry.slice(at + 1)
  }
  return own
}

function fillTimeout(step: PlanStep, fields: StepFields): number | undefined {
  if (step.timeout === undefined) return undefined
  const ms = parseDuration(fields.text('timeout', step.timeout))
  return ms === 0 ? undefined : ms
}
