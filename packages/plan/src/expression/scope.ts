/** Resolves names at one place of a build: variables by precedence, results and members of steps, `workflow.result`. */
import { kindOf } from '../actions/index.ts'
import type { JsonTemplate } from '../fields/template.ts'
import type { Plan, PlanStep, VariableLayer } from '../plan.ts'
import { emptyPlan, VARIABLE_LEVELS } from '../plan.ts'
import type { BuildScope, Purpose, ScopeStep } from './build-scope.ts'
import { isProtectedVariable } from './builtin-variables.ts'
import { stateOf } from '../state/fold.ts'
import { stepResult } from '../state/results.ts'
import { enclosing, findNear, shapeOf, typedOf } from '../graph/shape.ts'
import type { Node, Shape } from '../graph/shape.ts'
import type { Snapshot, StepState } from '../state/snapshot.ts'
import { substitute } from './substitute.ts'
import type { Scope } from './substitute.ts'

export interface ScopeInput {
  readonly plan: Plan
  readonly snapshot: Snapshot
  /** Variables that only the engine knows: tokens, the name of the volume. Only the protected ones override user-defined values. */
  readonly builtins?: Readonly<Record<string, string>> | undefined
  /** Values of the secrets, by the names that the variables of the plan refer to. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** Value of `workflow.result`; default `running`. */
  readonly workflowResult?: string | undefined
  /** Name of the step that the scope is for. Inside a typed step its arguments and the short names of its parts are defined. */
  readonly step?: string | undefined
}

/** The part of a `ScopeInput` that differs between steps. */
export type ScopePlace = Pick<ScopeInput, 'workflowResult' | 'step'>

/** Builds the scope for the moment of `snapshot`. Cheap enough to call for every step. */
export function buildScope(input: ScopeInput): BuildScope {
  return scopesOf(input)(input)
}

/** Builds the scope of variables before any step has run. */
export function initialScope(variables: readonly VariableLayer[]): BuildScope {
  return buildScope({ plan: emptyPlan(variables), snapshot: { steps: {}, exports: [] } })
}

/** Builds scopes for many steps of one moment and shares the common parts. The steps of the snapshot may change meanwhile, its exports may not. */
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
  /** Variables of the build. */
  readonly variables: ReadonlyMap<string, string>
  /** Values of secrets. Those of external stores have their full name, such as `secrets.vault.token`. */
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

/** Returns the arguments of a typed step as texts, resolved in the scope around the step. */
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

/** Removes the arguments that the environment of the step overrides. */
function without(all: ReadonlyMap<string, string>, own: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return all.size === 0 ? all : new Map([...all].filter(([name]) => !Object.hasOwn(own, name)))
}

/** Returns false for variables that a process environment cannot hold: names that are empty or contain `=` or NUL, values that contain NUL. */
function isForContainers([name, value]: [string, string]): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0')
}

/** Lowest precedence first, so that later values win: plan layers by level, exports, then protected variables. */
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

/** Resolves `workflow.result`, `steps.NAME.member`, `steps.NAME.output.VAR`, `parentSteps.NAME` and the short form `NAME.member`. */
function memberReference(moment: Moment, place: Place, name: string): string | undefined {
  if (name === 'workflow.result') return place.workflowResult
  const path = /^(?:steps|parentSteps)\.(.*)$/s.exec(name)?.[1] ?? name
  if (path !== name) {
    const whole = stepValue(moment, place, { name: path, purpose: 'text' })
    if (whole !== undefined) return whole
  }
  // Names of parts contain dots: `greet.main.result`.
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const node = findNear(place.node, path.slice(0, dot), moment.shape.byName)
    const member = node && memberOf(node.step, stateOf(moment.snapshot, node.name), path.slice(dot + 1))
    if (member !== undefined) return member
  }
  return undefined
}

/** Returns a member of a step by its name in camel, snake or kebab case, or undefined if the step does not have it (yet). */
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

/** Returns the image of a build or push step: its id if known, else `name:tag`. Returns undefined for steps without an image. */
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
  return kindOf(node.step.action).refersTo === 'image' ? imageOf(state) : directory
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
