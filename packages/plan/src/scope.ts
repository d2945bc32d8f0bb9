/**
 * What names mean at one place of a build: variables by precedence (pipeline language 4.3), results and members of steps, `workflow.result`.
 */
import type { JsonTemplate, Plan, PlanStep, VariableLayer } from './plan.ts'
import { VARIABLE_LEVELS } from './plan.ts'
import { isProtectedVariable } from './builtin-variables.ts'
import { stateOf } from './fold.ts'
import { stepResult } from './results.ts'
import { enclosing, findNear, shapeOf, typedOf } from './shape.ts'
import type { Node, Shape } from './shape.ts'
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
  /** Name of the step that the scope is for: inside a typed step its arguments have values, and its parts short names. */
  readonly step?: string | undefined
}

/** The part of a `ScopeInput` that differs from step to step. */
export type ScopePlace = Pick<ScopeInput, 'workflowResult' | 'step'>

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
  /** True when `name` means a step here. */
  isStep(name: string): boolean
  /** The whole name of the step that `name` means here. */
  findStep(name: string): string | undefined
  /** True inside a typed step. */
  readonly isTyped: boolean
  /** Every variable with its references filled in, as the containers of steps get them. */
  environment(): Record<string, string>
  /** This scope while a step runs, with CF_STEP_NAME and the like. */
  within(step: ScopeStep): BuildScope
  /** This scope with a step's own `environment`, which wins over all else in that step. */
  with(own: Readonly<Record<string, string>>): BuildScope
}

/** Builds the scope at the moment of `snapshot`. Cheap enough to be built anew for every step. */
export function buildScope(input: ScopeInput): BuildScope {
  return scopesOf(input)(input)
}

/** Builds scopes for many steps of one moment: what they share is made once. The steps of the snapshot may change meanwhile, its exports not. */
export function scopesOf(input: Omit<ScopeInput, keyof ScopePlace>): (place: ScopePlace) => BuildScope {
  const moment: Moment = {
    snapshot: input.snapshot,
    shape: shapeOf(input.plan),
    variables: variablesOf(input),
    secrets: input.secrets ?? {},
  }
  return (place) => scopeOver(moment, placeOf(moment, place), moment.variables)
}

interface Moment {
  readonly snapshot: Snapshot
  readonly shape: Shape
  /** Those of the build. */
  readonly variables: ReadonlyMap<string, string>
  /** Values of secrets; those of stores outside by their whole name, such as `secrets.vault.token`. */
  readonly secrets: Readonly<Record<string, string>>
}

interface Place {
  readonly node: Node | undefined
  readonly workflowResult: string
  readonly arguments: ReadonlyMap<string, string>
  readonly isTyped: boolean
}

function placeOf(moment: Moment, { step, workflowResult = 'running' }: ScopePlace): Place {
  const node = step === undefined ? undefined : moment.shape.byName.get(step)
  const typed = node === undefined ? undefined : enclosing(node).find((around) => typedOf(around.step) !== undefined)
  return { node, workflowResult, isTyped: typed !== undefined, arguments: argumentsOf(moment, typed, workflowResult) }
}

/** The arguments of a typed step as texts, filled in where the step stands. */
function argumentsOf(moment: Moment, node: Node | undefined, workflowResult: string): ReadonlyMap<string, string> {
  const typed = node === undefined ? undefined : typedOf(node.step)
  if (node === undefined || typed === undefined) return NO_ARGUMENTS
  const outside = scopeOver(moment, placeOf(moment, { step: node.name, workflowResult }), moment.variables)
  return new Map(Object.entries(typed.arguments).map(([name, value]) => [name, argumentText(value, outside)]))
}

const NO_ARGUMENTS: ReadonlyMap<string, string> = new Map()

function argumentText(value: JsonTemplate, scope: Scope): string {
  if (value === null) return ''
  if (typeof value === 'string') return substitute(value, scope).text
  return typeof value === 'object' ? JSON.stringify(value, (_, part: unknown) => fillPart(part, scope)) : String(value)
}

function fillPart(part: unknown, scope: Scope): unknown {
  return typeof part === 'string' ? substitute(part, scope).text : part
}

function scopeOver(moment: Moment, place: Place, variables: ReadonlyMap<string, string>): BuildScope {
  const purposes = (purpose: Purpose): Scope => ({
    lookup(name) {
      const made = place.arguments.get(name) ?? (purpose === 'text' ? undefined : stepValue(moment, place, { name, purpose }))
      if (name.startsWith('secrets.') && Object.hasOwn(moment.secrets, name)) return moment.secrets[name]
      return made ?? memberReference(moment, place, name) ?? variables.get(name) ?? stepValue(moment, place, { name, purpose })
    },
  })
  const text = purposes('text')
  const find = (name: string): string | undefined => findNear(place.node, name, moment.shape.byName)?.name
  return {
    lookup: text.lookup,
    as: purposes,
    isStep: (name) => find(name) !== undefined,
    findStep: find,
    isTyped: place.isTyped,
    environment: () =>
      Object.fromEntries([...variables].filter(isForContainers).map(([name, value]) => [name, substitute(value, text).text])),
    within: (step) => scopeOver(moment, place, extended(variables, stepVariables(step))),
    with: (own) => scopeOver(moment, { ...place, arguments: without(place.arguments, own) }, extended(variables, own)),
  }
}

/** Arguments but those that the step's own environment names again. */
function without(all: ReadonlyMap<string, string>, own: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return all.size === 0 ? all : new Map([...all].filter(([name]) => !Object.hasOwn(own, name)))
}

/** A process has no place for a name that is empty or holds `=` or NUL, nor for a value that holds NUL. */
function isForContainers([name, value]: [string, string]): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0')
}

/** Lowest first, so that the later wins: plan layers by level, exports, then what users may not change. */
function variablesOf({ plan, snapshot, builtins = {}, secrets = {} }: Omit<ScopeInput, keyof ScopePlace>): Map<string, string> {
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
function memberReference(moment: Moment, place: Place, name: string): string | undefined {
  if (name === 'workflow.result') return place.workflowResult
  const path = /^(?:steps|parentSteps)\.(.*)$/s.exec(name)?.[1] ?? name
  if (path !== name) {
    const whole = stepValue(moment, place, { name: path, purpose: 'text' })
    if (whole !== undefined) return whole
  }
  // Names of parts have dots themselves: `greet.main.result`.
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const node = findNear(place.node, path.slice(0, dot), moment.shape.byName)
    const member = node && memberOf(node.step, stateOf(moment.snapshot, node.name), path.slice(dot + 1))
    if (member !== undefined) return member
  }
  return undefined
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

function stepValue(moment: Moment, place: Place, wanted: { name: string; purpose: Purpose }): string | undefined {
  const node = findNear(place.node, wanted.name, moment.shape.byName)
  if (node === undefined) return undefined
  const state = stateOf(moment.snapshot, node.name)
  const directory = own(state.members, 'workingDirectory')
  if (wanted.purpose === 'image') return imageOf(state)
  if (wanted.purpose === 'directory') return directory
  const { kind } = node.step.action
  return kind === 'build' || kind === 'push' ? imageOf(state) : directory
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
