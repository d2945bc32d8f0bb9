/**
 * Turns a job of a `.gitlab-ci.yml` into what runs: the payload that a GitLab server would send, and from it the program of the helper, by the same code as for a
 * pod of a cluster.
 */
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { hasCode } from '@windlass/kit'
import type { CiCache, CiJob, CiVariable } from '../ci-file/ci-job.ts'
import { invalid } from '../ci-file/node.ts'
import type { JobProgram } from '../helper/program.ts'
import { featureFlags } from '../job/feature-flags.ts'
import { Job } from '../job/payload.ts'
import { jobStages } from '../job/stages.ts'
import { jobVariables, timeoutOf, type Variables } from '../job/variables.ts'
import { isTraced, showsServices } from '../manager/plan/plan-options.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { healthChecksOf, jobServices, type JobService } from '../pod/job-services.ts'
import { expandVariables } from './expand-variables.ts'

export interface ExecPlanOptions {
  readonly job: CiJob
  /** Folder of the working tree. */
  readonly root: string
  /** Path of the project, `group/app`. */
  readonly project: string
  /** Branch, tag or commit. */
  readonly ref: string
  readonly predefined: readonly CiVariable[]
  /** Variables of the command line, which win over those of the file. */
  readonly given: readonly CiVariable[]
  /** Image of a job that names none. */
  readonly defaultImage: string | undefined
  /** Whether artifacts are kept. */
  readonly keepsArtifacts: boolean
  readonly version: string
  readonly revision: string
}

export interface ExecPlan {
  readonly image: string
  readonly entrypoint: readonly string[]
  /** User of the build container; undefined: that of the image. */
  readonly user: string | undefined
  readonly pullPolicy: string | undefined
  readonly services: readonly JobService[]
  /** Whether the log has the output of services: `CI_DEBUG_SERVICES`. */
  readonly showsServices: boolean
  readonly variables: Variables
  readonly program: JobProgram
  readonly projectFolder: string
  /** Seconds. */
  readonly timeoutS: number
  readonly masksAllTokens: boolean
  /** Number of archives of artifacts that the job can leave. */
  readonly archives: number
}

export const BUILDS_FOLDER = '/builds'
export const CACHE_FOLDER = '/cache'
/** In the file system of the helper, which no other container sees. */
export const ARTIFACTS_FOLDER = '/run/windlass/artifacts'

/** Time limit of a job that names none, as on a GitLab server. Seconds. */
const DEFAULT_TIMEOUT_S = 3_600

/** Returns the plan. Throws `document-invalid` for a job that cannot be run. */
export function planExec(options: ExecPlanOptions): ExecPlan {
  const { job: given, project } = options
  const job = toPayload(options)
  const flags = featureFlags({}, job)
  const projectFolder = `${BUILDS_FOLDER}/${project}`
  const variables = jobVariables({
    job,
    runner: {},
    image: job.image?.name || options.defaultImage,
    flags,
    version: options.version,
    revision: options.revision,
    tls: {},
    buildsFolder: BUILDS_FOLDER,
    projectFolder,
    concurrentId: 0,
    concurrentProjectId: 0,
  })
  const image = variables.expand(job.image?.name || options.defaultImage || '')
  if (image === '')
    throw invalid(given.at, `the job "${given.name}" names no image`, 'Add `image:` to the job, or name one with --image.')
  const services = servicesOf(options, { job, variables })
  const temporaryFolder = `${projectFolder}.tmp`
  const stages = jobStages({
    job,
    variables,
    flags,
    temporaryFolder,
    projectFolder,
    cacheFolder: CACHE_FOLDER,
    isTraced: isTraced({ runner: {} }, variables),
    sources: undefined,
    repoUrl: '',
    serverUrl: '',
    artifactsFolder: ARTIFACTS_FOLDER,
    hooks: {},
  })
  const timeoutS = timeoutOf(job)
  const user = job.image?.executor_opts?.kubernetes?.user
  return {
    image,
    entrypoint: (job.image?.entrypoint ?? []).filter((word) => word !== ''),
    user: user === undefined || user === null ? undefined : variables.expand(String(user)),
    pullPolicy: job.image?.pull_policy[0],
    services,
    showsServices: showsServices({ runner: {} }, variables),
    variables,
    program: {
      version: 1,
      stages,
      environmentFile: `${temporaryFolder}/gitlab_runner_env`,
      timeoutMs: timeoutS * 1_000,
      healthChecks: healthChecksOf(services),
    },
    projectFolder,
    timeoutS,
    masksAllTokens: flags.FF_MASK_ALL_DEFAULT_TOKENS,
    archives: job.artifacts.length,
  }
}

function servicesOf(
  { job: { at } }: ExecPlanOptions,
  given: Pick<Parameters<typeof jobServices>[0], 'job' | 'variables'>,
): JobService[] {
  try {
    return jobServices({ ...given, section: {} })
  } catch (error) {
    throw error instanceof ConfigurationError ? invalid(at, error.message) : error
  }
}

/** Returns the body that a GitLab server would answer a request for a job with. */
function toPayload(options: ExecPlanOptions): Job {
  const { job, project, ref, predefined, given, keepsArtifacts } = options
  const all = [...predefined, ...job.variables, ...given]
  const variables = expandVariables(all, (name) => invalid(job.at, `the variable "${name}" of the job "${job.name}" is too long`))
  const { artifacts } = job
  return Job.parse({
    id: 1,
    token: '',
    job_info: {
      name: job.name,
      stage: job.stage,
      project_name: project.split('/').at(-1),
      project_full_path: project,
    },
    git_info: { ref },
    runner_info: { timeout: job.timeoutS ?? DEFAULT_TIMEOUT_S },
    variables,
    steps: [
      { name: 'script', script: job.script, when: 'on_success' },
      { name: 'after_script', script: job.afterScript, when: 'always' },
    ],
    image: job.image,
    services: job.services,
    cache: job.caches.map((cache) => ({
      key: cacheKeyOf(options, cache),
      paths: cache.paths,
      policy: cache.policy,
      when: cache.when,
      fallback_keys: cache.fallbackKeys,
    })),
    artifacts: artifacts === undefined || !keepsArtifacts ? [] : [artifacts],
  })
}

/** Returns the key of a cache. That of files changes with their content, not with their commits, so that changes count before they are committed. */
function cacheKeyOf(options: ExecPlanOptions, { key }: CiCache): string {
  if (typeof key === 'string') return key
  const contents = key.files.flatMap((file) => contentOf(options, file) ?? [])
  const hash = createHash('sha256')
  for (const content of contents) hash.update(createHash('sha256').update(content).digest())
  const name = contents.length === 0 ? 'default' : hash.digest('hex')
  return key.prefix === '' ? name : `${key.prefix}-${name}`
}

/** Returns the content of a file of the working tree; undefined if it does not exist. */
function contentOf({ root, job }: ExecPlanOptions, file: string): Buffer | undefined {
  try {
    const path = realpathSync(join(root, file))
    if (!path.startsWith(realpathSync(root) + sep))
      throw invalid(job.at, `\`cache:key:files\` of the job "${job.name}" has "${file}", which leads out of the repository`)
    return statSync(path).isFile() ? readFileSync(path) : undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}
