import type { Surroundings, Resource } from '../judge/verdict.ts'

export type Written = 'created' | 'configured' | 'unchanged'

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
  write(resource: Resource): Promise<Written>
}
