import type { Remark, Surroundings, Resource } from '../judge/verdict.ts'

export type Written = 'created' | 'configured' | 'unchanged'

/** What was done with a resource, or would be done. */
export interface Receipt {
  readonly done: Written
  /** What the user has to look at because of what the target had before. */
  readonly remarks: readonly Remark[]
}

export interface WriteOptions {
  /** Writes nothing. */
  readonly dryRun: boolean
  /** Replaces resources that exist with other content. */
  readonly overwrite: boolean
}

/** Where resources go: a server or a folder. */
export interface Target {
  /** Reads what pipelines may refer to, for remarks. */
  surroundings(): Promise<Surroundings>
  /** Writes one resource. Throws `conflict` if it exists with other content and may not be replaced, and the faults of a refusal. */
  write(resource: Resource): Promise<Receipt>
}
