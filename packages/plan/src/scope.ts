/**
 * What names mean at one place of a build: variables by precedence (pipeline language 4.3), results and members of steps, `workflow.result`.
 */
import type { Plan, PlanStep, VariableLayer } from './plan.ts'
import { VARIABLE_LEVELS } from './plan.ts'
import { isProtectedVariable } from './builtin-variables.ts'
import { stateOf } from './fold.ts'
import { stepResult } from './results.ts'
import type { Snapshot, StepState } from './snapshot.ts'
import { substitute } from './substitute.ts'
import type { Scope } from './substitute.ts'

export interface ScopeInput {
  readonly plan: Plan
  readonly snapshot: Snapshot
  /** Variables that only the engine knows: tokens, the name of the volume. Protected ones win over what users define; the others do not. */
  readonly builtins?: Readonly<Record<string, string>> | undefined
  /** Values of the secrets, by the names under which the variables of the plan refer to them. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** `workflow.result` here; `running` when absent. */
  readonly workflowResult?: string | undefined
}

/** The step that a scope is for, while it runs. */
export interface ScopeStep {
  readonly name: string
  /** 1-based. */
  readonly try: number
  readonly maxAttempts: number
}

/** What `${{NAME}}` gives when NAME is a step: the image it made, the directory it worked in, or whichever of them suits its kind. */
export type Purpose = 'text' | 'image' | 'directory'

export interface BuildScope extends Scope {
  /** The same scope for a field where the name of a step means its image or its directory. */
  as(purpose: Purpose): Scope
  /** True when the plan has a step of this name. */
  isStep(name: string): boolean
  /** Every variable with its references filled in, as the containers of steps get them. */
  environment(): Record<string, string>
  /** This scope while a step runs, with CF_STEP_NAME and the like. */
  within(step: ScopeStep): BuildScope
  /** This scope with a step's own `environment`, which wins over all else in that step. */
  with(own: Readonly<Record<string, string>>): BuildScope
}

/** Builds the scope at the moment of `snapshot`. Cheap enough to be built anew for every step. */
export function buildScope(input: ScopeInput): BuildScope {
  return scopeOver(input, variablesOf(input), new Set(input.plan.steps.map(({ name }) => name)))
}

function scopeOver(input: ScopeInput, variables: ReadonlyMap<string, string>, steps: ReadonlySet<string>): BuildScope {
  const purposes = (purpose: Purpose): Scope => ({
    lookup(name) {
      const made = purpose === 'text' ? undefined : stepValue(input, name, purpose)
      return made ?? memberReference(input, name) ?? variables.get(name) ?? stepValue(input, name, purpose)
    },
  })
  const text = purposes('text')
  return {
    lookup: text.lookup,
    as: purposes,
    isStep: (name) => steps.has(name),
    environment: () =>
      Object.fromEntries([...variables].filter(isForContainers).map(([name, value]) => [name, substitute(value, text).text])),
    within: (step) => scopeOver(input, extended(variables, stepVariables(step)), steps),
    with: (own) => scopeOver(input, extended(variables, own), steps),
  }
}

/** A process has no place for a name that is empty or holds `=` or NUL, nor for a value that holds NUL. */
function isForContainers([name, value]: [string, string]): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0')
}

/** Lowest first, so that the later wins: plan layers by level, exports, then what users may not change. */
function variablesOf({ plan, snapshot, builtins = {}, secrets = {} }: ScopeInput): Map<string, string> {
  const own = { level: 'system', variables: toVariables(builtins) } as const
  const layers = [...plan.variables, own].toSorted((a, b) => VARIABLE_LEVELS.indexOf(a.level) - VARIABLE_LEVELS.indexOf(b.level))
  const values = new Map<string, string>()
  const kept = new Map<string, string>()
  for (const layer of layers) {
    for (const [name, value] of layerValues(layer, secrets)) {
      values.set(name, value)
      if (layer.level === 'system' && isProtectedVariable(name)) kept.set(name, value)
    }
  }
  for (const { name, value } of snapshot.exports) values.set(name, value)
  for (const [name, value] of kept) values.set(name, value)
  return values
}

function* layerValues(layer: VariableLayer, secrets: Readonly<Record<string, string>>): Generator<[string, string]> {
  for (const [name, variable] of Object.entries(layer.variables)) {
    if ('value' in variable) yield [name, variable.value]
    else if (Object.hasOwn(secrets, variable.secret)) yield [name, secrets[variable.secret] ?? '']
  }
}

function toVariables(values: Readonly<Record<string, string>>): VariableLayer['variables'] {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
}

function stepVariables(step: ScopeStep): Record<string, string> {
  return { CF_STEP_NAME: step.name, CF_CURRENT_ATTEMPT: String(step.try), CF_MAX_ATTEMPTS: String(step.maxAttempts) }
}

function extended(variables: ReadonlyMap<string, string>, more: Readonly<Record<string, string>>): Map<string, string> {
  return new Map([...variables, ...Object.entries(more)])
}

/** `workflow.result`, `steps.NAME.member`, `steps.NAME.output.VAR`, `parentSteps.NAME` and the short `NAME.member`. */
function memberReference(input: ScopeInput, name: string): string | undefined {
  if (name === 'workflow.result') return input.workflowResult ?? 'running'
  const path = name.startsWith('steps.')
    ? name.slice('steps.'.length)
    : name.startsWith('parentSteps.')
      ? name.slice('parentSteps.'.length)
      : name
  const dot = path.indexOf('.')
  if (dot < 0) return path === name ? undefined : stepValue(input, path, 'text')
  const step = input.plan.steps.find((candidate) => candidate.name === path.slice(0, dot))
  return step === undefined ? undefined : memberOf(step, stateOf(input.snapshot, step.name), path.slice(dot + 1))
}

/** A member of a step by its name in camel, snake or kebab case; undefined when the step has none such (yet). */
export function memberOf(step: PlanStep, state: StepState, member: string): string | undefined {
  if (member.startsWith('output.')) return own(state.output, member.slice('output.'.length))
  const name = member.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase())
  if (name === 'result') return stepResult(state)
  const known = own(state.members, member) ?? own(state.members, name)
  if (known !== undefined) return known
  if (name === 'name') return step.name
  if (name === 'type') return step.action.kind
  return undefined
}

/** The image of a build or push step: its id when it is known here, else `name:tag`. Undefined for steps that made none. */
export function imageOf(state: StepState): string | undefined {
  const imageName = own(state.members, 'imageName')
  const tag = own(state.members, 'imageTagName')
  return own(state.members, 'imageId') ?? (imageName === undefined || tag === undefined ? imageName : `${imageName}:${tag}`)
}

function stepValue(input: ScopeInput, name: string, purpose: Purpose): string | undefined {
  const step = input.plan.steps.find((candidate) => candidate.name === name)
  if (step === undefined) return undefined
  const state = stateOf(input.snapshot, name)
  const directory = own(state.members, 'workingDirectory')
  if (purpose === 'image') return imageOf(state)
  if (purpose === 'directory') return directory
  return step.action.kind === 'build' || step.action.kind === 'push' ? imageOf(state) : directory
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
