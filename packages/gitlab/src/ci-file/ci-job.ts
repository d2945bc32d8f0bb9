/** A job of a `.gitlab-ci.yml` with all that belongs to it. Images and services have the form of the runner API of GitLab. */
import type { z } from 'zod'
import type { JobImage, JobVariable } from '../job/payload.ts'
import type { Place } from './node.ts'

export type CiImage = z.input<typeof JobImage>
export type CiVariable = z.input<typeof JobVariable>

export interface CiCache {
  /** A name, or files whose content gives the name. */
  readonly key: string | { readonly files: readonly string[]; readonly prefix: string }
  readonly paths: readonly string[]
  readonly policy: string
  readonly when: 'on_success' | 'on_failure' | 'always'
  readonly fallbackKeys: readonly string[]
}

export interface CiArtifacts {
  readonly paths: readonly string[]
  readonly exclude: readonly string[]
  readonly when: 'on_success' | 'on_failure' | 'always'
}

export interface CiJob {
  readonly name: string
  readonly stage: string
  readonly at: Place
  /** Those of `before_script`, then those of `script`. */
  readonly script: readonly string[]
  readonly afterScript: readonly string[]
  readonly image: CiImage | undefined
  readonly services: readonly CiImage[]
  /** Those of the file, then those of the job. A later one replaces an earlier one. */
  readonly variables: readonly CiVariable[]
  readonly caches: readonly CiCache[]
  readonly artifacts: CiArtifacts | undefined
  /** Seconds; undefined: the default of GitLab. */
  readonly timeoutS: number | undefined
  /** Whether the pipeline would continue after a failure; a list: only after these exit codes. */
  readonly allowFailure: boolean | readonly number[]
}
