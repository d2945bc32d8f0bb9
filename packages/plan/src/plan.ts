/**
 * The Plan: a compiled, frozen pipeline as JSON, the only input of an engine. Texts keep their `${{NAME}}` references; `resolve-step.ts`
 * substitutes them when a step starts. Package pipeline makes a Plan from YAML, package engine runs it.
 */

import type { Action } from './actions/index.ts'
import type { ComposeSource } from './fields/compose.ts'
import type { FlagTemplate, JsonTemplate, Template } from './fields/template.ts'

export interface Plan {
  readonly planVersion: 1
  /** In `serial` mode each step lists its predecessor in `after`; in `parallel` mode a step starts as soon as its `when` holds. */
  readonly mode: 'serial' | 'parallel'
  readonly stages: readonly string[]
  readonly failFast: FlagTemplate
  readonly strictFailFast: FlagTemplate
  /** Root steps that decide the outcome of the build; all if absent. */
  readonly successCriteria?: SuccessCriteria
  /** Containers that run as long as the attempt. */
  readonly services?: ServiceSet
  /**
   * All steps in document order, parents before their children. Names are unique. Generated steps (hooks, children of a matrix, parts of
   * typed steps) are ordinary steps.
   */
  readonly steps: readonly PlanStep[]
  /** Location of the steps if the plan does not contain them yet. The server or the engine loads them before the first step. */
  readonly source?: DocumentSource
  /** The automatic clone that the document was compiled with; documents of this build that are compiled later get the same. */
  readonly mainClone?: MainClone
  /** Files that are copied to the shared volume before the first step. */
  readonly externalResources?: readonly ExternalResource[]
  /** Lowest precedence first. Secret values are not in the plan. */
  readonly variables: readonly VariableLayer[]
}

/** A step `main_clone` that is added to documents without one. */
export interface MainClone {
  /** `owner/name` or a URL. */
  readonly repo: Template
  /** Default: the default branch of the repository. */
  readonly revision?: Template
  /** Name of the Git context; default: the default context. */
  readonly git?: Template
  /** True leaves documents alone that clone a repository under another name. */
  readonly unlessCloned?: boolean
}

/** Returns a plan without steps: of a pipeline whose steps are in another document, or to resolve variables before there is one. */
export function emptyPlan(variables: readonly VariableLayer[]): Plan {
  return { planVersion: 1, mode: 'serial', stages: [], failFast: true, strictFailFast: false, steps: [], variables }
}

/** A pipeline document in another place. The engine fetches a document from Git; the compiler's caller fetches one behind a URL. */
export type DocumentSource =
  | { readonly location: 'url'; readonly url: string }
  | {
      readonly location: 'git'
      readonly repo: Template
      readonly path: Template
      /** Default: the revision of the build. */
      readonly revision?: Template
      /** Name of the Git context; default: the default context. */
      readonly git?: Template
    }

/** A file or folder of a Git repository. */
export interface ExternalResource {
  readonly repo: Template
  readonly revision: Template
  readonly git?: Template
  /** Path in the repository. */
  readonly source: Template
  /** Folder on the shared volume, absolute or relative to the volume. */
  readonly destination: Template
  readonly isFolder: boolean
}

export interface PlanStep {
  readonly name: string
  readonly title: Template
  readonly stage?: string
  /** Name of the group around this step; absent at the root. */
  readonly parent?: string
  /** Steps that must be final before this one is considered. Their results do not matter here; `when` and fail-fast evaluate them. */
  readonly after: readonly string[]
  readonly when?: When
  readonly failFast: FlagTemplate
  readonly strictFailFast: FlagTemplate
  /** As written, e.g. `90s`; no limit if absent. The time includes pulling images. */
  readonly timeout?: Template
  readonly retry: Retry
  readonly action: Action
  /** For groups: the children that decide the outcome; all if absent. */
  readonly successCriteria?: SuccessCriteria
  /** Set on the top step of a hook; its children only have `parent`. */
  readonly hook?: Hook
  /** Service containers of the step: its own, or names of root services. */
  readonly services?: ServiceSet | readonly string[]
  /** Where a debug run stops. No effect in other runs. */
  readonly breakpoints?: readonly Breakpoint[]
  /** The deployment environment that is updated when this step succeeds. */
  readonly environmentRecord?: EnvironmentRecord
  /** Position in the document, for messages. 1-based. */
  readonly position: Position
}

export interface Position {
  readonly line: number
  readonly column: number
}

/** `maxAttempts` includes the first try. Times in milliseconds. */
export interface Retry {
  readonly maxAttempts: number
  readonly delayMs: number
  readonly factor: number
}

/** All parts that are present must hold. */
export interface When {
  readonly branch?: { readonly only?: readonly string[]; readonly ignore?: readonly string[] }
  /** Label -> expression. `all`: all must be true; `any`: at least one. */
  readonly condition?: { readonly all?: Readonly<Record<string, Template>>; readonly any?: Readonly<Record<string, Template>> }
  readonly steps?: { readonly match: 'all' | 'any'; readonly of: readonly StepCondition[] }
}

export interface StepCondition {
  readonly name: string
  /** Results as users write them (`success`, `failure`, `finished`, `approved`, ...), not step statuses. */
  readonly on: readonly string[]
}

/** Labeled expressions, and the steps that count: `only` these, or all except `ignore`. */
export interface SuccessCriteria {
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly condition?: When['condition']
}

export const HOOK_MOMENTS = ['on_elected', 'on_success', 'on_fail', 'on_finish'] as const
export type HookMoment = (typeof HOOK_MOMENTS)[number]

/**
 * A hook is named `<step>.<moment>`, or `.<moment>` for the build (names in documents contain no dot). Its order follows from `graph.ts`, not
 * from `after`: on_elected, the step, on_success or on_fail, on_finish.
 */
export interface Hook {
  readonly moment: HookMoment
  /** The step of the hook; the whole build if absent. */
  readonly of?: string
}

export const BREAKPOINTS = ['before', 'override', 'after'] as const
export type Breakpoint = (typeof BREAKPOINTS)[number]

export interface ServiceSet {
  readonly name?: string
  readonly compose: ComposeSource
  /** `KEY=VALUE` entries for `${KEY}` in the compose document. */
  readonly variables: readonly Template[]
  /** Runs all services and the step in one network namespace, so that `localhost` reaches them. */
  readonly sharedHostNetwork: FlagTemplate
  readonly readiness?: Readiness
  readonly setup?: { readonly image: Template; readonly commands: readonly Template[] }
}

export interface Readiness {
  readonly image: Template
  readonly commands: readonly Template[]
  readonly periodMs: number
  readonly timeoutMs: number
  readonly failureThreshold: number
}

export interface EnvironmentRecord {
  readonly name: Template
  readonly type: 'kubernetes' | 'helm-release'
  readonly change?: Template
  readonly endpoints: readonly { readonly name: Template; readonly url: Template }[]
  readonly filters: readonly { readonly [key: string]: JsonTemplate }[]
}

/** Sources of variables, lowest precedence first. Exports and step environments override all of them. */
export const VARIABLE_LEVELS = ['runtime', 'system', 'project', 'context', 'pipeline', 'trigger', 'build'] as const
export type VariableLevel = (typeof VARIABLE_LEVELS)[number]

export interface VariableLayer {
  readonly level: VariableLevel
  /** Name of the context, pipeline, project or trigger. */
  readonly source?: string
  readonly variables: Readonly<Record<string, Variable>>
}

/** A value, or the name of a secret that the engine receives. */
export type Variable = { readonly value: Template } | { readonly secret: string }
