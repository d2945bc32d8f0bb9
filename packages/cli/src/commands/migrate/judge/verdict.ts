/** What `migrate` decides about a document: the resource that it becomes, with remarks, or why it is left. */
import type { ContextInput, PipelineInput, ProjectInput, StepTypeInput } from '@windlass/protocol'
import type { z } from 'zod'

/** In the order in which resources are written: pipelines use the others. */
export const MIGRATED_KINDS = ['project', 'step-type', 'context', 'pipeline'] as const
export type MigratedKind = (typeof MIGRATED_KINDS)[number]

/** A document to migrate, as text. Its content is foreign. */
export interface SourceDocument {
  readonly text: string
  /** File, or path of the API. */
  readonly from: string
  /** Line of the file at which the text begins; undefined if the text is not from a file. */
  readonly line: number | undefined
  /** Name of a document without kind and name. */
  readonly name: string | undefined
  /** The user named this document, so it is reported even if it is something else. */
  readonly isNamed: boolean
}

/** Something that the user has to look at. */
export interface Remark {
  /** Path in the document, such as `spec.triggers`; empty for the whole document. */
  readonly path: string
  readonly line?: number | undefined
  readonly reason: string
  /** What to do, as a sentence; empty if the reason says it. */
  readonly action: string
}

interface ResourceOf<K extends MigratedKind, B> {
  readonly kind: K
  /** With the version for a step type: `name:version`. */
  readonly name: string
  /** The document for `apply`. Masked values are empty. */
  readonly text: string
  /** The same as a request. */
  readonly body: B
  /** Variables or fields whose value the source does not show. They are empty. */
  readonly masked: readonly string[]
}

export type Resource =
  | ResourceOf<'project', z.output<typeof ProjectInput>>
  | ResourceOf<'step-type', StepTypeInput>
  | ResourceOf<'context', ContextInput>
  | ResourceOf<'pipeline', PipelineInput>

export interface Moved {
  readonly from: string
  readonly resource: Resource
  readonly remarks: readonly Remark[]
}

export interface Left {
  readonly from: string
  /** A kind of ours, or the foreign one. */
  readonly kind: string
  /** Empty if the document has none. */
  readonly name: string
  /** Why it is left. At least one. */
  readonly reasons: readonly Remark[]
}

export type Verdict = Moved | Left

/** What exists where the resources go. Fields are undefined if they are not known. */
export interface Surroundings {
  /** The account adds a step `main_clone` to pipelines. */
  readonly automaticClone?: boolean | undefined
  readonly runtimes?: ReadonlySet<string> | undefined
  readonly contexts?:
    | readonly { readonly name: string; readonly type: ContextInput['type']; readonly isDefault: boolean }[]
    | undefined
  /** Whether a context that moves as the default of its type replaces another default. Undefined if the other one is not known. */
  readonly defaults?: 'kept' | 'replaced' | undefined
}

/** Returns the problems that a schema found in the settings of a document. */
export function settingProblems({ issues }: z.ZodError): Remark[] {
  return issues.map(({ path, message }) => ({ path: `spec.${path.join('.')}`, reason: `${message}.`, action: '' }))
}
