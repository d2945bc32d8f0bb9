/**
 * The stages of a job in their order: what runs where, when, and how often it is tried. A stage is a script for the shell of a container of the pod. Rules of
 * the runners of GitLab.
 */
import { cacheKey } from '../cache/cache-key.ts'
import type { GitOptions } from './git-options.ts'
import { readGitOptions } from './git-options.ts'
import type { Job, JobArtifact, JobCache, JobStep } from './payload.ts'
import { quoted, type ShellScript } from './shell-script.ts'
import { clearSources, writeSources, type Sources } from './sources-script.ts'
import { addCommands, removeVariableFiles, stageScript, writeVariableFiles, type StageOptions } from './stage-script.ts'

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
  readonly sources: Omit<
    Sources,
    'options' | 'repoUrl' | 'ref' | 'sha' | 'refspecs' | 'objectFormat' | 'before' | 'after' | 'projectFolder' | 'temporaryFolder'
  >
  /** URL of the repository; the one of the job, or with another host. */
  readonly repoUrl: string
  readonly projectFolder: string
  /** Folder of caches in the pod. */
  readonly cacheFolder: string
  /** Base URL of GitLab, for artifacts. */
  readonly serverUrl: string
  /** Scripts of the configuration. */
  readonly hooks: {
    readonly beforeSources?: string | undefined
    readonly afterSources?: string | undefined
    readonly beforeBuild?: string | undefined
    readonly afterBuild?: string | undefined
  }
  /** Addresses of the object of a cache. Undefined: the cache stays in the pod. */
  readonly cacheUrls?: ((key: string) => CacheUrls | undefined) | undefined
  readonly flags: Readonly<Record<string, boolean>>
  readonly maxArchiveBytes?: number
}

/** Addresses that are valid for the time of the job. */
export interface CacheUrls {
  readonly get: string
  readonly head: string
  readonly put: string
  /** Headers of the upload, `Name: value`. */
  readonly headers: readonly string[]
}

const HELPER = 'gitlab-runner-helper'
const AFTER_SCRIPT_MS = 5 * 60_000

/** Returns the stages of a job. */
export function jobStages(options: StagesOptions): Stage[] {
  const { job, variables } = options
  const git = readGitOptions(variables, job.git_info.depth)
  return [
    helperStage(options, {
      name: 'prepare_script',
      title: 'Preparing environment',
      write: (script) => {
        writeVariableFiles(script, options)
        script.raw(`printf 'Running on %s...\\n' "$(hostname)"`)
      },
    }),
    sourcesStage(options, git),
    ...restoreStages(options),
    ...downloadStages(options),
    ...job.steps.filter(({ name }) => name !== 'after_script').map((step) => stepStage(options, step)),
    ...job.steps
      .filter(({ name, script }) => name === 'after_script' && script.length > 0)
      .map((step) => afterStage(options, step)),
    ...(['on_success', 'on_failure'] as const).flatMap((when) => saveStages(options, when)),
    ...(['on_success', 'on_failure'] as const).flatMap((when) => uploadStages(options, when)),
    helperStage(options, {
      name: 'cleanup_file_variables',
      title: 'Cleaning up project directory and file based variables',
      when: 'always',
      isFatal: false,
      write: (script) => removeVariableFiles(script, options),
    }),
  ]
}

interface Definition extends Partial<Pick<Stage, 'when' | 'attempts' | 'isFatal' | 'clear'>> {
  readonly name: string
  readonly title: string
  readonly write: (script: ShellScript) => void
}

function helperStage(options: StageOptions, { write, ...rest }: Definition): Stage {
  return { container: 'helper', when: 'on_success', attempts: 1, isFatal: true, ...rest, script: stageScript(options, write) }
}

function sourcesStage(options: StagesOptions, git: GitOptions): Stage {
  const { job, hooks, repoUrl, projectFolder, temporaryFolder } = options
  const ofJob = (name: string): string[] => job.hooks.filter((hook) => hook.name === name).map(({ script }) => script.join('\n'))
  const given = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : [text])
  const { ref, sha, refspecs, repo_object_format: objectFormat } = job.git_info
  const sources: Sources = {
    ...options.sources,
    options: git,
    repoUrl,
    projectFolder,
    temporaryFolder,
    ref,
    sha,
    refspecs,
    objectFormat,
    before: [...given(hooks.beforeSources), ...ofJob('pre_get_sources_script')],
    after: [...ofJob('post_get_sources_script'), ...given(hooks.afterSources)],
  }
  return helperStage(options, {
    name: 'get_sources',
    title: 'Getting source from Git repository',
    attempts: git.attempts,
    clear: {
      name: 'clear_worktree',
      title: 'Deleting all tracked and untracked files due to source fetch failure',
      script: stageScript(options, (script) => clearSources(script, sources)),
    },
    write: (script) => writeSources(script, sources),
  })
}

function stepStage(options: StagesOptions, step: JobStep): Stage {
  const { hooks, projectFolder, flags } = options
  const checksEach = flags['FF_ENABLE_BASH_EXIT_CODE_CHECK'] === true
  return {
    name: `step_${step.name}`,
    title: `Executing "step_${step.name}" stage of the job script`,
    container: 'build',
    when: step.when,
    attempts: 1,
    isFatal: step.allow_failure !== true,
    script: stageScript(options, (script) => {
      script.run('cd', projectFolder)
      if (hooks.beforeBuild) addCommands(script, [hooks.beforeBuild], { checksEach })
      addCommands(script, step.script, { checksEach })
      if (hooks.afterBuild) addCommands(script, [hooks.afterBuild], { checksEach })
    }),
  }
}

function afterStage(options: StagesOptions, step: JobStep): Stage {
  const { variables, projectFolder } = options
  return {
    name: 'after_script',
    title: 'Running after_script',
    container: 'build',
    when: 'always',
    attempts: 1,
    isFatal: variables.valueOf('AFTER_SCRIPT_IGNORE_ERRORS') === 'false',
    timeoutMs: AFTER_SCRIPT_MS,
    script: stageScript(options, (script) => {
      script.run('cd', projectFolder)
      // A failed command does not keep the others from running, unless it counts.
      if (variables.valueOf('AFTER_SCRIPT_IGNORE_ERRORS') !== 'false') script.raw('set +o errexit')
      addCommands(script, step.script)
    }),
  }
}

interface NamedCache {
  readonly cache: JobCache
  readonly key: string | undefined
  readonly notice: string | undefined
  /** Policy with its variables expanded. */
  readonly policy: string
}

function cachesOf({ job, variables, flags }: StagesOptions): NamedCache[] {
  const isHashed = flags['FF_HASH_CACHE_KEYS'] === true
  const names = { jobName: job.job_info.name, ref: job.git_info.ref, isHashed }
  return job.cache
    .filter(({ paths, untracked }) => paths.length > 0 || untracked === true)
    .map((cache) => {
      const { key, notice } = cacheKey(variables.expand(cache.key), names)
      return { cache, key, notice, policy: variables.expand(cache.policy) || 'pull-push' }
    })
}

function fileOf({ cacheFolder, job }: StagesOptions, key: string): string {
  return `${cacheFolder}/${job.job_info.project_full_path}/${key}/cache.zip`
}

function attemptsIn({ variables }: StagesOptions, name: string): number {
  const text = variables.valueOf(name) ?? ''
  return /^\d{1,3}$/.test(text) ? Math.min(Math.max(Number(text), 1), 10) : 1
}

function minutesFor({ variables }: StagesOptions): string {
  const text = variables.valueOf('CACHE_REQUEST_TIMEOUT') ?? ''
  return /^[1-9]\d{0,4}$/.test(text) ? text : '10'
}

function restoreStages(options: StagesOptions): Stage[] {
  const caches = cachesOf(options)
  if (caches.length === 0) return []
  const stage = helperStage(options, {
    name: 'restore_cache',
    title: 'Restoring cache',
    attempts: attemptsIn(options, 'RESTORE_CACHE_ATTEMPTS'),
    isFatal: false,
    write: (script) => {
      script.run('mkdir', '-p', options.projectFolder).run('cd', options.projectFolder)
      for (const cache of caches) restore(script, options, cache)
    },
  })
  return [stage]
}

function restore(script: ShellScript, options: StagesOptions, { cache, key, notice, policy }: NamedCache): void {
  if (notice !== undefined) script.say(`WARNING: ${notice}`, 'yellow')
  if (key === undefined) return
  if (policy === 'push') {
    script.say(`Not downloading cache ${key} due to policy`)
    return
  }
  const { variables, job, flags } = options
  const isHashed = flags['FF_HASH_CACHE_KEYS'] === true
  const names = { jobName: job.job_info.name, ref: job.git_info.ref, isHashed }
  const last = variables.valueOf('CACHE_FALLBACK_KEY') ?? ''
  const isProtected = last.endsWith('-protected') && !last.endsWith('-non_protected')
  const wanted = [...cache.fallback_keys.map((one) => variables.expand(one)), ...(last === '' || isProtected ? [] : [last])]
  const fallbacks = wanted.flatMap((one) => cacheKey(one, names).key ?? [])
  if (isProtected) script.say(`WARNING: CACHE_FALLBACK_KEY "${last}" must not end with "-protected", and is ignored`, 'yellow')
  script.raw('_restored=0')
  for (const one of [key, ...fallbacks])
    script.when('[ "$_restored" = 0 ]', (then) => {
      then.say(`Checking cache for ${one}...`, 'green')
      then.when(
        extractCommand(options, one),
        (found) => found.say('Successfully extracted cache', 'green').raw('_restored=1'),
        (failed) => failed.say('Failed to extract cache', 'yellow'),
      )
    })
}

function extractCommand(options: StagesOptions, key: string): string {
  const urls = options.cacheUrls?.(key)
  const remote = urls === undefined ? [] : ['--url', urls.get, '--head-url', urls.head]
  return [HELPER, 'cache-extractor', '--file', fileOf(options, key), '--timeout', minutesFor(options), ...remote]
    .map(quoted)
    .join(' ')
}

function saveStages(options: StagesOptions, when: 'on_success' | 'on_failure'): Stage[] {
  const caches = cachesOf(options).filter(({ cache, policy }) => policy !== 'pull' && runsWhen(cache.when || 'on_success', when))
  if (caches.length === 0) return []
  const isFailed = when === 'on_failure'
  const stage = helperStage(options, {
    name: isFailed ? 'archive_cache_on_failure' : 'archive_cache',
    title: `Saving cache for ${isFailed ? 'failed' : 'successful'} job`,
    when,
    isFatal: false,
    write: (script) => {
      script.run('cd', options.projectFolder)
      for (const { cache, key } of caches) {
        if (key === undefined) continue
        script.say(`Creating cache ${key}...`, 'green')
        script.when(
          archiveCommand(options, cache, key),
          (then) => then.say('Created cache', 'green'),
          (failed) => failed.say('Failed to create cache', 'yellow'),
        )
      }
    },
  })
  return [stage]
}

function archiveCommand(options: StagesOptions, cache: JobCache, key: string): string {
  const { variables, maxArchiveBytes = 0 } = options
  const urls = options.cacheUrls?.(key)
  const words = [
    HELPER,
    'cache-archiver',
    '--file',
    fileOf(options, key),
    '--timeout',
    minutesFor(options),
    ...(maxArchiveBytes > 0 ? ['--max-uploaded-archive-size', String(maxArchiveBytes)] : []),
    ...cache.paths.flatMap((path) => ['--path', variables.expand(path)]),
    ...(cache.untracked === true ? ['--untracked'] : []),
    ...(urls === undefined ? [] : ['--url', urls.put, '--check-url', urls.head]),
    ...(urls?.headers ?? []).flatMap((header) => ['--header', header]),
  ]
  return words.map(quoted).join(' ')
}

const runsWhen = (when: string, wanted: 'on_success' | 'on_failure'): boolean => when === 'always' || when === wanted

function downloadStages(options: StagesOptions): Stage[] {
  const { job, serverUrl } = options
  const wanted = job.dependencies.filter(({ artifacts_file: file }) => (file?.filename ?? '') !== '')
  if (wanted.length === 0) return []
  const stage = helperStage(options, {
    name: 'download_artifacts',
    title: 'Downloading artifacts',
    attempts: attemptsIn(options, 'ARTIFACT_DOWNLOAD_ATTEMPTS'),
    write: (script) => {
      script.run('mkdir', '-p', options.projectFolder).run('cd', options.projectFolder)
      for (const { id, name, token } of wanted) {
        script.say(`Downloading artifacts for ${name} (${id})...`, 'green')
        // A token on a command line could be read by every process of the pod.
        script.raw(
          `CI_JOB_TOKEN=${quoted(token)} ${[HELPER, 'artifacts-downloader', '--url', serverUrl, '--id', String(id)].map(quoted).join(' ')}`,
        )
      }
    },
  })
  return [stage]
}

function uploadStages(options: StagesOptions, when: 'on_success' | 'on_failure'): Stage[] {
  const wanted = options.job.artifacts.filter((artifact) => runsWhen(artifact.when || 'on_success', when))
  if (wanted.length === 0) return []
  const isFailed = when === 'on_failure'
  const stage = helperStage(options, {
    name: isFailed ? 'upload_artifacts_on_failure' : 'upload_artifacts_on_success',
    title: `Uploading artifacts for ${isFailed ? 'failed' : 'successful'} job`,
    when,
    write: (script) => {
      script.run('cd', options.projectFolder)
      for (const artifact of wanted) {
        script.say('Uploading artifacts...', 'green')
        script.raw(uploadCommand(options, artifact))
      }
    },
  })
  return [stage]
}

function uploadCommand({ job, serverUrl, variables }: StagesOptions, artifact: JobArtifact): string {
  const optional = (option: string, value: string): string[] => (value === '' ? [] : [option, value])
  const words = [
    HELPER,
    'artifacts-uploader',
    '--url',
    serverUrl,
    '--id',
    String(job.id),
    ...artifact.paths.flatMap((path) => ['--path', variables.expand(path)]),
    ...artifact.exclude.flatMap((path) => ['--exclude', variables.expand(path)]),
    ...(artifact.untracked === true ? ['--untracked'] : []),
    ...optional('--name', variables.expand(artifact.name)),
    ...optional('--expire-in', artifact.expire_in),
    ...optional('--artifact-format', artifact.artifact_format),
    ...optional('--artifact-type', artifact.artifact_type),
  ]
  return `CI_JOB_TOKEN=${quoted(job.token)} ${words.map(quoted).join(' ')}`
}
