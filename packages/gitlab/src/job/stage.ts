/** A stage of a job: a script for the shell of a container of its pod. */
import type { FeatureFlags } from './feature-flags.ts'
import type { Job } from './payload.ts'
import type { ShellScript } from './shell-script.ts'
import type { Sources } from './sources-script.ts'
import { stageScript, type StageOptions } from './stage-script.ts'

export interface Stage {
  /** Name of its section in the trace. */
  readonly name: string
  /** First line of the section. */
  readonly title: string
  readonly container: 'build' | 'helper'
  readonly script: string
  /** `always` runs also after a stage has failed or the job was canceled. */
  readonly when: 'on_success' | 'on_failure' | 'always'
  /** Number of tries. */
  readonly attempts: number
  /** Runs in the helper between two tries. */
  readonly clear?: { readonly name: string; readonly title: string; readonly script: string } | undefined
  /** False if a failure is only shown. */
  readonly isFatal: boolean
  /** Milliseconds; undefined: the time limit of the job. */
  readonly timeoutMs?: number | undefined
}

export interface StagesOptions extends StageOptions {
  readonly job: Job
  /** How the sources are fetched. Undefined: they are in the folder of the project before the first stage. */
  readonly sources:
    | Omit<
        Sources,
        | 'options'
        | 'repoUrl'
        | 'ref'
        | 'sha'
        | 'refspecs'
        | 'objectFormat'
        | 'before'
        | 'after'
        | 'projectFolder'
        | 'temporaryFolder'
      >
    | undefined
  /** URL of the repository; the one of the job, or with another host. */
  readonly repoUrl: string
  readonly projectFolder: string
  /** Folder of caches in the pod. */
  readonly cacheFolder: string
  /** Base URL of GitLab, for artifacts. */
  readonly serverUrl: string
  /** Folder of the helper for archives of artifacts, `0.zip` and so on. Undefined: they are uploaded to GitLab. */
  readonly artifactsFolder?: string | undefined
  /** Scripts of the configuration. */
  readonly hooks: {
    readonly beforeSources?: string | undefined
    readonly afterSources?: string | undefined
    readonly beforeBuild?: string | undefined
    readonly afterBuild?: string | undefined
  }
  /** Addresses of the object of a cache. Undefined: the cache stays in the pod. */
  readonly cacheUrls?: ((key: string) => CacheUrls | undefined) | undefined
  /** Why caches have no addresses, if that is not the configuration. */
  readonly cacheProblem?: string | undefined
  readonly flags: FeatureFlags
  readonly maxArchiveBytes?: number
  /** `get_sources_timeout` and `upload_timeout` of the configuration. Milliseconds. */
  readonly sourcesMs?: number
  readonly uploadMs?: number
}

/** Addresses that are valid for the time of the job. */
export interface CacheUrls {
  readonly get: string
  readonly put: string
  /** Headers of the upload, `Name: value`. */
  readonly headers: readonly string[]
}

/** Program of the helper, whose commands are those of the original. */
export const HELPER = 'gitlab-runner-helper'

export interface Definition extends Partial<Pick<Stage, 'when' | 'attempts' | 'isFatal' | 'clear' | 'timeoutMs'>> {
  readonly name: string
  readonly title: string
  readonly write: (script: ShellScript) => void
}

/** Returns a stage that runs in the helper. */
export function helperStage(options: StageOptions, { write, ...rest }: Definition): Stage {
  return { container: 'helper', when: 'on_success', attempts: 1, isFatal: true, ...rest, script: stageScript(options, write) }
}

/** Returns the number of tries that a variable of the job sets, 1 to 10. */
export function attemptsIn({ variables }: Pick<StagesOptions, 'variables'>, name: string): number {
  const text = variables.valueOf(name) ?? ''
  return /^\d{1,3}$/.test(text) ? Math.min(Math.max(Number(text), 1), 10) : 1
}

/** Whether a cache or an artifact with `when` is saved after this result. */
export const runsWhen = (when: string, wanted: 'on_success' | 'on_failure'): boolean => when === 'always' || when === wanted
