/**
 * The Plan: a pipeline compiled once and frozen, the only thing an engine reads. It is JSON.
 * Texts keep their `${{NAME}}` references; `resolve-step.ts` fills them in when a step starts.
 * Not here: how YAML becomes a Plan (package pipeline), what runs it (package engine).
 */

/** Text that may hold `${{NAME}}` references. */
export type Template = string
/** A boolean, or text that must resolve to one. */
export type FlagTemplate = boolean | Template

export interface Plan {
  readonly planVersion: 1
  /** In `serial` mode each step has its predecessor in `after`; in `parallel` mode a step starts as soon as its `when` holds. */
  readonly mode: 'serial' | 'parallel'
  readonly stages: readonly string[]
  readonly failFast: FlagTemplate
  readonly strictFailFast: FlagTemplate
  /** Every step of the document, parents before their children, in document order. Names are unique. */
  readonly steps: readonly PlanStep[]
  /** Lowest precedence first. Values of secrets are not in the plan. */
  readonly variables: readonly VariableLayer[]
}

export interface PlanStep {
  readonly name: string
  readonly title: Template
  readonly stage?: string
  /** Name of the group that holds this step; absent at the root. */
  readonly parent?: string
  /** Steps that must be final before this one is considered. Order only: what they ended as is judged by `when` and fail-fast. */
  readonly after: readonly string[]
  readonly when?: When
  readonly failFast: FlagTemplate
  readonly strictFailFast: FlagTemplate
  /** As written, e.g. `90s`; no limit when absent. The clock starts before images are pulled. */
  readonly timeout?: Template
  readonly retry: Retry
  readonly action: Action
  /** 1-based place in the document, for messages. */
  readonly position: Position
}

export interface Position {
  readonly line: number
  readonly column: number
}

/** `maxAttempts` counts the first try too. Times in milliseconds. */
export interface Retry {
  readonly maxAttempts: number
  readonly delayMs: number
  readonly factor: number
}

/** All parts that are present must hold. */
export interface When {
  readonly branch?: { readonly only?: readonly string[]; readonly ignore?: readonly string[] }
  /** Label -> expression text. `all`: every one is true; `any`: at least one. */
  readonly condition?: { readonly all?: Readonly<Record<string, Template>>; readonly any?: Readonly<Record<string, Template>> }
  readonly steps?: { readonly match: 'all' | 'any'; readonly of: readonly StepCondition[] }
}

export interface StepCondition {
  readonly name: string
  /** Words of the language (`success`, `failure`, `finished`, `approved`, ...), not step statuses. */
  readonly on: readonly string[]
}

export type Action = FreestyleAction | GitCloneAction | BuildAction | PushAction

/** A container of a user's image. With `commands` a shell runs them, with `set -e`; else the image's own entry point runs. */
export interface FreestyleAction {
  readonly kind: 'freestyle'
  readonly image: Template
  readonly workingDirectory?: Template
  readonly commands?: readonly Template[]
  readonly cmd?: readonly Template[]
  readonly entryPoint?: readonly Template[]
  readonly shell: 'sh' | 'bash'
  /** `KEY=VALUE` entries, in order. */
  readonly environment: readonly Template[]
  /** `source:target[:ro]`, the source below the shared volume. */
  readonly volumes: readonly Template[]
  readonly registryContext?: Template
}

export interface GitCloneAction {
  readonly kind: 'git-clone'
  /** `owner/name` or a URL (http, https, ssh, scp form, file). */
  readonly repo: Template
  readonly revision?: Template
  /** Name of the git context; the default one when absent. */
  readonly git?: Template
  readonly workingDirectory?: Template
  readonly credentials?: { readonly username: Template; readonly password: Template }
  readonly depth?: number
  readonly excludeBlobs: FlagTemplate
  readonly skipTagsOnUpdate: FlagTemplate
  readonly useProxy: FlagTemplate
}

export interface BuildAction {
  readonly kind: 'build'
  readonly imageName: Template
  /** Empty means the default: the branch as a tag. */
  readonly tags: readonly Template[]
  readonly tagPolicy: 'lowercase' | 'original'
  /** A path relative to the working directory, or the text of the Dockerfile itself. */
  readonly dockerfile: { readonly path: Template } | { readonly content: Template }
  readonly workingDirectory?: Template
  readonly buildArguments: readonly Template[]
  readonly target?: Template
  readonly noCache: FlagTemplate
  readonly noCfCache: FlagTemplate
  readonly cacheFrom: readonly Template[]
  readonly registry?: Template
  readonly registryContexts: readonly Template[]
  /** Not pushed when true; absent leaves it to the account (pushed when a registry is named or there is a default one). */
  readonly disablePush?: FlagTemplate
  readonly buildkit: FlagTemplate
  readonly progress?: Template
}

export interface PushAction {
  readonly kind: 'push'
  readonly candidate: Template
  readonly registry?: Template
  readonly imageName?: Template
  readonly tags: readonly Template[]
  readonly registryContext?: Template
  readonly credentials?: { readonly username: Template; readonly password: Template }
}

/** Where a variable comes from, lowest precedence first (pipeline language 4.3). Exports and step environments rank above all. */
export const VARIABLE_LEVELS = ['runtime', 'system', 'project', 'context', 'pipeline', 'trigger', 'build'] as const
export type VariableLevel = (typeof VARIABLE_LEVELS)[number]

export interface VariableLayer {
  readonly level: VariableLevel
  /** Name of the context, pipeline, project or trigger. */
  readonly source?: string
  readonly variables: Readonly<Record<string, Variable>>
}

/** A value, or the name under which the engine finds it among the secrets it is handed. */
export type Variable = { readonly value: Template } | { readonly secret: string }
