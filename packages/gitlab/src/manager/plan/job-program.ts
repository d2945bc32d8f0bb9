/** The program of a job, which its helper runs without a manager. */
import { defined } from '@windlass/kit'
import type { JobProgram } from '../../helper/program.ts'
import type { CacheUrls } from '../../job/stage.ts'
import { jobStages } from '../../job/stages.ts'
import { timeoutOf } from '../../job/variables.ts'
import { healthChecksOf, type JobService } from '../../pod/job-services.ts'
import type { JobFolders } from './job-folders.ts'
import { isTraced, type Derived, type JobPlanOptions } from './plan-options.ts'

export interface ProgramOptions extends Derived {
  readonly folders: JobFolders
  readonly services: readonly JobService[]
  /** Addresses of a cache; undefined: it stays in the pod. */
  readonly cacheUrls: (key: string) => CacheUrls | undefined
  /** Why caches have no addresses. */
  readonly cacheProblem: string | undefined
}

/** Returns the program of a job. */
export function programOf(
  options: JobPlanOptions,
  { variables, flags, folders, services, cacheUrls, cacheProblem }: ProgramOptions,
): JobProgram {
  const { job, runner } = options
  const temporaryFolder = `${folders.projectFolder}.tmp`
  const caFile = options.tls.ca === undefined ? undefined : `${temporaryFolder}/CI_SERVER_TLS_CA_FILE`
  const stages = jobStages({
    job,
    variables,
    flags,
    temporaryFolder,
    projectFolder: folders.projectFolder,
    cacheFolder: folders.cacheFolder,
    isTraced: isTraced(options, variables),
    sources: {
      userAgent: `windlass ${options.version} ${process.platform}/${process.arch}`,
      correlationId: options.correlationId,
      caFile,
      cleansConfig: runner.clean_git_config ?? true,
      isSafeDirectory: runner.safe_directory_checkout ?? true,
    },
    repoUrl: repoUrlOf(options),
    serverUrl: runner.url ?? '',
    hooks: {
      beforeSources: runner.pre_get_sources_script,
      afterSources: runner.post_get_sources_script,
      beforeBuild: runner.pre_build_script,
      afterBuild: runner.post_build_script,
    },
    cacheUrls,
    cacheProblem,
    ...defined({
      maxArchiveBytes: runner.cache?.MaxUploadedArchiveSize,
      sourcesMs: runner.get_sources_timeout,
      uploadMs: runner.artifact?.upload_timeout,
    }),
  })
  return {
    version: 1,
    stages,
    environmentFile: `${temporaryFolder}/gitlab_runner_env`,
    timeoutMs: timeoutOf(job) * 1_000,
    ...defined({ terminalMs: options.terminalS === undefined ? undefined : options.terminalS * 1_000 }),
    healthChecks: healthChecksOf(services),
  }
}

/** Returns the URL of the repository, at the host of `clone_url` if there is one. */
function repoUrlOf({ job, runner }: JobPlanOptions): string {
  const { repo_url: given } = job.git_info
  const [from, to] = [URL.parse(given), URL.parse(runner.clone_url ?? '')]
  if (from === null || to === null) return given
  from.protocol = to.protocol
  from.host = to.host
  if (to.port === '') from.port = ''
  from.pathname = `${to.pathname.replace(/\/+$/, '')}${from.pathname}`
  return from.href
}
