/** The stages that restore and save the caches of a job. */
import { cacheKey, type KeyOptions } from '../cache/cache-key.ts'
import type { JobCache } from './payload.ts'
import { quoted, type ShellScript } from './shell-script.ts'
import { attemptsIn, HELPER, helperStage, runsWhen, type Stage, type StagesOptions } from './stage.ts'

type CacheOptions = Pick<StagesOptions, 'job' | 'variables' | 'flags'>

interface NamedCache {
  readonly cache: JobCache
  readonly key: string | undefined
  readonly notice: string | undefined
  /** Policy with its variables expanded. */
  readonly policy: string
}

function namesOf({ job, flags }: CacheOptions): KeyOptions {
  return { jobName: job.job_info.name, ref: job.git_info.ref, isHashed: flags.FF_HASH_CACHE_KEYS }
}

function cachesOf(options: CacheOptions): NamedCache[] {
  const { job, variables } = options
  return job.cache
    .filter(({ paths, untracked }) => paths.length > 0 || untracked === true)
    .map((cache) => {
      const { key, notice } = cacheKey(variables.expand(cache.key), namesOf(options))
      return { cache, key, notice, policy: variables.expand(cache.policy) || 'pull-push' }
    })
}

function fileOf({ cacheFolder, job }: StagesOptions, key: string): string {
  return `${cacheFolder}/${job.job_info.project_full_path}/${key}/cache.zip`
}

function minutesFor({ variables }: StagesOptions): string {
  const text = variables.valueOf('CACHE_REQUEST_TIMEOUT') ?? ''
  return /^[1-9]\d{0,4}$/.test(text) ? text : '10'
}

/** Returns the stage that restores caches, if the job has any. */
export function restoreStages(options: StagesOptions): Stage[] {
  const caches = cachesOf(options)
  if (caches.length === 0) return []
  const stage = helperStage(options, {
    name: 'restore_cache',
    title: 'Restoring cache',
    attempts: attemptsIn(options, 'RESTORE_CACHE_ATTEMPTS'),
    isFatal: false,
    write: (script) => {
      const { projectFolder, cacheProblem } = options
      script.run('mkdir', '-p', projectFolder).run('cd', projectFolder)
      if (cacheProblem !== undefined) script.say(`WARNING: caches stay in the pod of this job: ${cacheProblem}`, 'yellow')
      for (const cache of caches) restore(script, options, cache)
    },
  })
  return [stage]
}

function restore(script: ShellScript, options: StagesOptions, named: NamedCache): void {
  const { cache, key, notice } = named
  if (notice !== undefined) script.say(`WARNING: ${notice}`, 'yellow')
  if (key === undefined) return
  if (!isRestored(named)) {
    script.say(`Not downloading cache ${key} due to policy`)
    return
  }
  const { fallbacks, refused } = fallbacksOf(options, cache)
  if (refused !== undefined)
    script.say(`WARNING: CACHE_FALLBACK_KEY "${refused}" must not end with "-protected", and is ignored`, 'yellow')
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

/** Returns the keys that are tried after the own one, and the key of `CACHE_FALLBACK_KEY` if it is refused. */
function fallbacksOf(
  options: CacheOptions,
  cache: JobCache,
): { readonly fallbacks: readonly string[]; readonly refused: string | undefined } {
  const { variables } = options
  const last = variables.valueOf('CACHE_FALLBACK_KEY') ?? ''
  const isProtected = last.endsWith('-protected') && !last.endsWith('-non_protected')
  const wanted = [...cache.fallback_keys.map((one) => variables.expand(one)), ...(last === '' || isProtected ? [] : [last])]
  return {
    fallbacks: wanted.flatMap((one) => cacheKey(one, namesOf(options)).key ?? []),
    refused: isProtected ? last : undefined,
  }
}

const isRestored = ({ policy }: NamedCache): boolean => policy !== 'push'
const isSaved = ({ policy }: NamedCache): boolean => policy !== 'pull'

/** Returns the keys of all caches that the stages of a job read or write. */
export function cacheKeysOf(options: CacheOptions): string[] {
  const keys = cachesOf(options).flatMap((one) =>
    one.key === undefined ? [] : [one.key, ...(isRestored(one) ? fallbacksOf(options, one.cache).fallbacks : [])],
  )
  return [...new Set(keys)]
}

function extractCommand(options: StagesOptions, key: string): string {
  const urls = options.cacheUrls?.(key)
  const remote = urls === undefined ? [] : ['--url', urls.get]
  return [HELPER, 'cache-extractor', '--file', fileOf(options, key), '--timeout', minutesFor(options), ...remote]
    .map(quoted)
    .join(' ')
}

/** Returns the stage that saves caches after a result. */
export function saveStages(options: StagesOptions, when: 'on_success' | 'on_failure'): Stage[] {
  const caches = cachesOf(options).filter((one) => isSaved(one) && runsWhen(one.cache.when || 'on_success', when))
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
    ...(urls === undefined ? [] : ['--url', urls.put]),
    ...(urls?.headers ?? []).flatMap((header) => ['--header', header]),
  ]
  return words.map(quoted).join(' ')
}
