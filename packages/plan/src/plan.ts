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
  /** Which root steps decide what the build ends as; all when absent (pipeline language 3.5). */
  readonly successCriteria?: SuccessCriteria
  /** Containers that live as long as the attempt. */
  readonly services?: ServiceSet
  /**
   * Every step, parents before their children, in document order. Names are unique. Steps that the language makes out of others (hooks,
   * children of a matrix, parts of typed steps) are steps like any other.
   */
  readonly steps: readonly PlanStep[]
  /** Where the steps stand that this plan has not yet. It is filled before the first step: by the server, or with the engine's help. */
  readonly source?: DocumentSource
  /** Put on the shared volume before the first step. */
  readonly externalResources?: readonly ExternalResource[]
  /** Lowest precedence first. Values of secrets are not in the plan. */
  readonly variables: readonly VariableLayer[]
}

/** A document that stands elsewhere. What is in a repository is fetched where the build runs, what is behind a URL by whoever compiles. */
export type DocumentSource =
  | { readonly location: 'url'; readonly url: string }
  | {
      readonly location: 'git'
      readonly repo: Template
      readonly path: Template
      /** The revision of the build when absent. */
      readonly revision?: Template
      /** Name of the git context; the default one when absent. */
      readonly git?: Template
    }

/** A file or folder of a git repository. */
export interface ExternalResource {
  readonly repo: Template
  readonly revision: Template
  readonly git?: Template
  /** Path in the repository. */
  readonly source: Template
  /** Folder on the shared volume, absolute or below it. */
  readonly destination: Template
  readonly isFolder: boolean
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
  /** Of groups: which children decide; all when absent. */
  readonly successCriteria?: SuccessCriteria
  /** Marks the one step at the top of a hook; its children have `parent` only. */
  readonly hook?: Hook
  /** Containers beside the step: its own, or the names of root services. */
  readonly services?: ServiceSet | readonly string[]
  /** Where a debug run stops; no effect in other runs. */
  readonly breakpoints?: readonly Breakpoint[]
  /** The deployment environment that a success of this step updates. */
  readonly environmentRecord?: EnvironmentRecord
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

export type Action =
  | FreestyleAction
  | GitCloneAction
  | BuildAction
  | PushAction
  | PushTagAction
  | CompositionAction
  | LaunchCompositionAction
  | DeployAction
  | ApprovalAction
  | AnnotateAction
  | GroupAction

/** JSON whose texts may hold references. */
export type JsonTemplate = null | boolean | number | Template | readonly JsonTemplate[] | { readonly [key: string]: JsonTemplate }

/** Labelled expressions, and which steps count: `only` these, all but `ignore`. */
export interface SuccessCriteria {
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly condition?: When['condition']
}

export const HOOK_MOMENTS = ['on_elected', 'on_success', 'on_fail', 'on_finish'] as const
export type HookMoment = (typeof HOOK_MOMENTS)[number]

/**
 * A hook is named `<step>.<moment>` (of the build: `.<moment>`; names users write have no dot). Its order follows from `graph.ts`, not from
 * `after`: on_elected, the step, on_success or on_fail, on_finish.
 */
export interface Hook {
  readonly moment: HookMoment
  /** The step it belongs to; the whole build when absent. */
  readonly of?: string
}

export const BREAKPOINTS = ['before', 'override', 'after'] as const
export type Breakpoint = (typeof BREAKPOINTS)[number]

/** The steps of a `type: parallel`, a matrix, a scale, a hook of several steps or a typed step. In a serial one, each child has its predecessor in `after`. */
export interface GroupAction {
  readonly kind: 'group'
  readonly mode: 'serial' | 'parallel'
  readonly typed?: TypedStep
}

/** A typed step. Inside it `${{ARG}}` is an argument, and short names mean its own parts: a part `main` of `greet` is the step `greet.main`. */
export interface TypedStep {
  readonly type: string
  readonly version: string
  readonly arguments: Readonly<Record<string, JsonTemplate>>
  /** The outputs that leave the step; all when absent. A required one that is missing fails it. */
  readonly returns?: { readonly names: readonly string[]; readonly required: readonly string[] }
}

/** A compose document, or the path of one (relative to the working directory). A stored composition is made inline by the compiler. */
export type ComposeSource = { readonly inline: JsonTemplate } | { readonly path: Template }

export interface ServiceSet {
  readonly name?: string
  readonly compose: ComposeSource
  /** `KEY=VALUE`, for `${KEY}` in the compose document. */
  readonly variables: readonly Template[]
  /** All services and the step in one network namespace, so that `localhost` reaches them. */
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
  /** Role for a pull from an ECR registry of another account. */
  readonly roleArn?: Template
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
  readonly squash: FlagTemplate
  readonly cacheTo: readonly Template[]
  /** BuildKit secrets: `id` and the file below the working directory (or absolute on the shared volume). */
  readonly secrets: readonly { readonly id: Template; readonly src: Template }[]
  /** `default`, or `name=path` entries. */
  readonly ssh: readonly Template[]
  /** A flag, or the settings of a builder of its own. */
  readonly buildx: FlagTemplate | Buildx
  /** Comma separated; needs `buildx`. */
  readonly platform?: Template
  readonly cosign?: { readonly sign: FlagTemplate; readonly options: Readonly<Record<string, Template>> }
  readonly aws?: Aws
}

export interface Buildx {
  readonly qemu: { readonly image: Template; readonly platforms: Template }
  readonly builder: { readonly driver: Template; readonly driverOpts?: Template }
}

/** Cross-account and cross-region access to ECR. */
export interface Aws {
  readonly region?: Template
  readonly roleArn?: Template
  readonly sessionName?: Template
  readonly durationSeconds?: number
  readonly accessKeyId?: Template
  readonly secretAccessKey?: Template
}

export interface PushAction {
  readonly kind: 'push'
  readonly candidate: Template
  readonly registry?: Template
  readonly imageName?: Template
  readonly tags: readonly Template[]
  readonly registryContext?: Template
  readonly credentials?: { readonly username: Template; readonly password: Template }
  readonly aws?: Aws
}

/** Gives an image that is in the registry already further tags. */
export interface PushTagAction {
  readonly kind: 'push-tag'
  readonly imageName: Template
  readonly tags: readonly Template[]
  readonly registry?: Template
  readonly aws?: Aws
}

/** Runs a composition until its candidates have exited. */
export interface CompositionAction {
  readonly kind: 'composition'
  readonly compose: ComposeSource
  /** Service -> compose service; merged over a service of the same name. */
  readonly candidates: Readonly<Record<string, JsonTemplate>>
  readonly variables: readonly Template[]
  readonly workingDirectory?: Template
  readonly registryContexts: readonly Template[]
  /** Mounts the shared volume in every service. */
  readonly addVolume: FlagTemplate
}

/** Starts a composition that outlives the build. */
export interface LaunchCompositionAction {
  readonly kind: 'launch-composition'
  readonly compose: ComposeSource
  readonly variables: readonly Template[]
  readonly workingDirectory?: Template
  readonly registryContexts: readonly Template[]
  readonly environmentName?: Template
  readonly entryPoint?: Template
}

export interface DeployAction {
  readonly kind: 'deploy'
  readonly cluster: Template
  readonly namespace: Template
  /** What is deployed: a Service whose deployment gets a new image, or a manifest. */
  readonly target:
    | { readonly service: Template; readonly candidate?: { readonly image: Template; readonly registry: Template } }
    | { readonly filePath: Template }
  /** Seconds, as text. */
  readonly rolloutTimeout: Template
}

/** Waits for a person. The attempt ends meanwhile, so that no pods are held. */
export interface ApprovalAction {
  readonly kind: 'pending-approval'
  readonly timeoutMs: number
  readonly finalState: 'approved' | 'denied' | 'terminated'
}

/** Writes annotations and image metadata; needs no container unless a value is a file. */
export interface AnnotateAction {
  readonly kind: 'annotate'
  readonly set: readonly AnnotationChange[]
  readonly unset: readonly { readonly entity: AnnotatedEntity; readonly id?: Template; readonly names: readonly string[] }[]
  /** Image reference -> metadata. Without a reference: the image of the build step that this belongs to. */
  readonly metadata: readonly { readonly image?: Template; readonly entries: readonly AnnotationEntry[] }[]
}

export const ANNOTATED_ENTITIES = ['build', 'pipeline', 'project', 'image'] as const
export type AnnotatedEntity = (typeof ANNOTATED_ENTITIES)[number]

export interface AnnotationChange {
  readonly entity: AnnotatedEntity
  /** Name or id; the running build, its pipeline or project, or the image of the step when absent. */
  readonly id?: Template
  readonly entries: readonly AnnotationEntry[]
  /** The annotation that lists of builds show. */
  readonly display?: string
}

export interface AnnotationEntry {
  readonly name: string
  readonly value: { readonly is: Template | number | boolean } | { readonly evaluate: Template }
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
