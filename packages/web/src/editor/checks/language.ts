/** What the page asks the worker that knows the language, and what it answers. */
import type { CatalogEntry, Completions, Diagnostic, Explanation, Fix, KnownNames } from '@windlass/pipeline'
import type { Preview, PreviewStep } from '@windlass/plan'

/** A problem with the change that solves it, if the compiler knows one. */
export interface ShownProblem extends Diagnostic {
  readonly fix?: Fix | undefined
}

/** What a build of the document is planned with. */
export interface PlannedRun {
  readonly pipeline?: string | undefined
  readonly branch?: string | undefined
  readonly variables?: Readonly<Record<string, string>>
}

/** Where the steps of a document are that does not contain them. */
export interface ForeignSource {
  readonly kind: 'git' | 'url'
  readonly where: string
}

/** A plan with the places of its steps, 1-based. */
export interface PlacedPlan extends Omit<Preview, 'steps'> {
  readonly steps: readonly (PreviewStep & {
    readonly position?: { readonly line: number; readonly column: number } | undefined
  })[]
}

export interface CheckAnswer {
  readonly problems: readonly ShownProblem[]
  /** Absent if the document has errors. */
  readonly plan?: PlacedPlan | undefined
  readonly source?: ForeignSource | undefined
  /** Fields of `spec` that a `kind: pipeline` document writes. They override the stored settings. Undefined for other documents. */
  readonly written?: readonly string[] | undefined
}

export interface Questions {
  readonly check: {
    readonly input: { readonly text: string; readonly run: PlannedRun; readonly stepTypes: readonly CatalogEntry[] }
    readonly answer: CheckAnswer
  }
  readonly complete: {
    readonly input: { readonly text: string; readonly offset: number; readonly names: KnownNames }
    readonly answer: Completions
  }
  readonly explain: {
    readonly input: { readonly text: string; readonly offset: number; readonly names: KnownNames }
    readonly answer: Explanation | undefined
  }
}

export type Question = {
  [K in keyof Questions]: { readonly id: number; readonly kind: K } & Questions[K]['input']
}[keyof Questions]

export interface Answered {
  readonly id: number
  readonly answer: Questions[keyof Questions]['answer']
}
