/** All that follows from a job and the configuration before anything runs: its program, its record, and its pod. Pure. */
import { defined } from '@windlass/kit'
import type { RunnerSection } from '../config/schema.ts'
import type { JobProgram } from '../helper/program.ts'
import { expandText } from '../job/expand.ts'
import { flagsLine, jobFlags } from '../job/feature-flags.ts'
import { timeoutOf, jobVariables, type Variables } from '../job/variables.ts'
import { jobStages, type CacheUrls } from '../job/stages.ts'
import type { Job } from '../job/payload.ts'
import { isPlainPath } from '../job/stage-script.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { pullPolicies, type PullPolicy } from '../pod/images.ts'
import { podName, type PodIdentity } from '../pod/names.ts'
import { overwrite } from '../pod/overwrites.ts'
import { imageOf, renderPod } from '../pod/render.ts'
import { nameServices } from '../pod/services.ts'
import { configuredVolumes, coversFolder } from '../pod/volumes.ts'
import { shortToken } from '../coordinator/tokens.ts'
import { LABELS, type JobRecord, type Note } from './job-record.ts'
import { sectionEnd, sectionStart, titled } from './sections.ts'

export interface JobPlanOptions {
  readonly job: Job
  readonly correlationId: string | undefined
  readonly runner: RunnerSection
  /** Identifies the runner entry. */
  readonly runnerKey: string
  readonly systemId: string
  readonly managerName: string
  readonly version: string
  readonly revision: string
  readonly helperImage: string
  /** Namespace of jobs whose configuration names none. */
  readonly namespace: string
  readonly place: { readonly concurrentId: number; readonly concurrentProjectId: number }
  /** Eight characters that no other pod has. */
  readonly unique: string
  /** PEM texts for the connection to GitLab. */
  readonly tls: { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
  /** Addresses of a cache; undefined: it stays in the pod. */
  readonly cacheUrls: (key: string) => CacheUrls | undefined
  /** Epoch milliseconds. */
  readonly now: number
}

export interface JobPlan {
  readonly pod: string
  readonly namespace: string
  readonly program: JobProgram
  readonly record: JobRecord
  /** Number of tries to pull images, each with its own policies. */
  readonly pullTries: number
  /** Returns the pod of a try, 0 for the first one. */
  readonly render: (pullTry: number, pullSecrets: readonly string[]) => Readonly<Record<string, unknown>>
}

/** Default of `output_limit`. KiB. */
const OUTPUT_LIMIT = 4_096

/** Makes the plan of a job. Throws `ConfigurationError` for what the job asks for and this runner does not allow or cannot do. */
export function planJob(options: JobPlanOptions): JobPlan {
  const { job, runner, place } = options
  refuseUnknown(job)
  const flags = jobFlags(job, runner.feature_flags)
  const folders = foldersOf(options)
  const variables = jobVariables({
    job,
    runner,
    image: job.image?.name === '' ? undefined : job.image?.name,
    flags,
    version: options.version,
    revision: options.revision,
    tls: options.tls,
    ...folders,
    ...place,
  })
  const { section, notes } = overwrite(
    runner.kubernetes ?? {},
    (name) => variables.valueOf(name),
    variables.list.map(({ key }) => key),
  )
  const identity: PodIdentity = {
    token: runner.token ?? '',
    projectId: job.job_info.project_id,
    concurrentProjectId: place.concurrentProjectId,
    unique: options.unique,
  }
  const pod = podName(identity)
  const namespace = section.namespace ?? options.namespace
  const policies = new Map<string, readonly (PullPolicy | undefined)[]>()
  const serviceNames = nameServices([
    ...(section.services ?? []).map(({ name, alias = '' }) => ({ name: variables.expand(name), alias: variables.expand(alias) })),
    ...job.services.map(({ name, alias }) => ({ name: variables.expand(name), alias: variables.expand(alias) })),
  ])
  policies.set('build', pullPolicies(section, job.image?.pull_policy ?? []))
  policies.set('helper', pullPolicies(section, []))
  const configured = section.services?.length ?? 0
  for (const [index, { container }] of serviceNames.entries())
    policies.set(container, pullPolicies(section, job.services[index - configured]?.pull_policy ?? []))
  const render = (pullTry: number, pullSecrets: readonly string[]): Readonly<Record<string, unknown>> =>
    renderPod({
      job,
      runner,
      section: { ...section, namespace },
      variables,
      identity,
      managerName: options.managerName,
      labels: { [LABELS.job]: String(job.id), [LABELS.manager]: options.systemId },
      helperImage: nonEmpty(section.helper_image) ?? options.helperImage,
      pullPolicy: (container) => {
        const list = policies.get(container) ?? [undefined]
        return list[Math.min(pullTry, list.length - 1)]
      },
      pullSecrets,
      programSecret: pod,
      hasDeadline: flags['FF_USE_POD_ACTIVE_DEADLINE_SECONDS'] !== false,
      buildsFolder: folders.buildsFolder,
      cacheFolder: folders.cacheFolder,
    })
  // A pod that is not allowed fails the job before anything is created.
  render(0, [])
  return {
    pod,
    namespace,
    program: programOf(options, { variables, flags, folders }),
    record: recordOf(options, {
      variables,
      flags,
      pod,
      lines: introLines({ options, namespace, flags, notes, image: imageOf({ job, section, variables }) }),
    }),
    pullTries: Math.max(...[...policies.values()].map(({ length }) => length)),
    render,
  }
}

/** Throws for parts of a job that this version does not run. */
function refuseUnknown(job: Job): void {
  if (Object.keys(job.secrets ?? {}).length > 0)
    throw new ConfigurationError(
      `The job needs secrets of another store (${Object.keys(job.secrets ?? {}).join(', ')}). Windlass does not fetch these; use CI/CD variables.`,
    )
  if (job.run !== '') throw new ConfigurationError('The job has `run` with CI steps. Windlass does not run these; use `script`.')
}

interface Folders {
  readonly buildsFolder: string
  readonly projectFolder: string
  readonly cacheFolder: string
}

function foldersOf({ job, runner, place }: JobPlanOptions): Folders {
  const valueOf = (name: string): string => job.variables.find(({ key }) => key === name)?.value ?? ''
  const buildsFolder = nonEmpty(runner.builds_dir) ?? '/builds'
  const volumes = configuredVolumes(runner.kubernetes?.volumes, (text) => text)
  const isShared = coversFolder(
    { ...volumes, mounts: volumes.mounts.filter(({ name }) => !isEmptyDir(volumes.volumes, name)) },
    buildsFolder,
  )
  const path = job.job_info.project_full_path || valueOf('CI_PROJECT_PATH') || `project-${job.job_info.project_id}`
  const prefix = isShared ? `${buildsFolder}/${shortToken(runner.token ?? '')}/${place.concurrentProjectId}` : buildsFolder
  // The path is needed before the variables of the job exist.
  const own = expandText(valueOf('GIT_CLONE_PATH'), (name) => (name === 'CI_BUILDS_DIR' ? buildsFolder : valueOf(name)))
  if (own !== '' && runner.custom_build_dir?.enabled === false)
    throw new ConfigurationError('GIT_CLONE_PATH has no effect on this runner: [runners.custom_build_dir] is not enabled.')
  if (own !== '' && !own.startsWith(`${buildsFolder}/`))
    throw new ConfigurationError(`GIT_CLONE_PATH "${own}" is not within the builds folder ${buildsFolder}.`)
  const projectFolder = own === '' ? `${prefix}/${path}` : own
  if (!isPlainPath(projectFolder) || projectFolder.split('/').includes('..'))
    throw new ConfigurationError(
      `The folder of the project, "${projectFolder}", has characters that a folder of a job cannot have.`,
    )
  return { buildsFolder, projectFolder, cacheFolder: nonEmpty(runner.cache_dir) ?? '/cache' }
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

function isEmptyDir(volumes: readonly Readonly<Record<string, unknown>>[], name: unknown): boolean {
  return volumes.some((volume) => volume['name'] === name && volume['emptyDir'] !== undefined)
}

interface Derived {
  readonly variables: Variables
  readonly flags: Readonly<Record<string, boolean>>
}

function programOf(options: JobPlanOptions, { variables, flags, folders }: Derived & { readonly folders: Folders }): JobProgram {
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
    isTraced: isDebug(options, variables),
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
    cacheUrls: options.cacheUrls,
    ...defined({ maxArchiveBytes: runner.cache?.MaxUploadedArchiveSize }),
  })
  return {
    version: 1,
    stages,
    environmentFile: `${temporaryFolder}/gitlab_runner_env`,
    timeoutMs: timeoutOf(job) * 1_000,
    healthChecks: healthChecksOf(options, variables),
  }
}

/** Ports of services that the job waits for: `HEALTHCHECK_TCP_PORT` in the variables of a service. */
function healthChecksOf({ job, runner }: JobPlanOptions, variables: Variables): JobProgram['healthChecks'] {
  const name = 'HEALTHCHECK_TCP_PORT'
  const configured = (runner.kubernetes?.services ?? []).map((one) => ({
    service: one.name,
    port: one.environment?.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? '',
  }))
  const ofJob = job.services.map((one) => ({
    service: one.name,
    port: variables.expand(one.variables.find(({ key }) => key === name)?.value ?? ''),
  }))
  return [...configured, ...ofJob].flatMap(({ service, port }) =>
    /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536 ? [{ service, port: Number(port) }] : [],
  )
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

function isDebug({ runner }: JobPlanOptions, variables: Variables): boolean {
  return runner.debug_trace_disabled !== true && ['true', '1'].includes(variables.valueOf('CI_DEBUG_TRACE') ?? '')
}

function recordOf(
  options: JobPlanOptions,
  { variables, flags, pod, lines }: Derived & { readonly pod: string; readonly lines: readonly string[] },
): JobRecord {
  const { job, runner, place, now } = options
  const intro: Note[] = lines.map((text) => ({ at: now * 1_000, text }))
  return {
    version: 1,
    jobId: job.id,
    jobToken: job.token,
    runner: options.runnerKey,
    pod,
    createdAt: now,
    timeoutS: timeoutOf(job),
    supportedReasons: job.features.failure_reasons,
    isDebug: isDebug(options, variables),
    hasSections: job.features.trace_sections === true,
    projectId: job.job_info.project_id,
    ...place,
    trace: {
      masked: [...variables.masked],
      tokenPrefixes: job.features.token_mask_prefixes,
      masksAllTokens: flags['FF_MASK_ALL_DEFAULT_TOKENS'] !== false,
      hasTimes: flags['FF_TIMESTAMPS'] !== false,
      limit: (runner.output_limit ?? OUTPUT_LIMIT) * 1_024,
    },
    intro,
  }
}

function introLines({
  options,
  namespace,
  flags,
  notes,
  image,
}: {
  readonly options: JobPlanOptions
  readonly namespace: string
  readonly flags: Readonly<Record<string, boolean>>
  readonly notes: readonly string[]
  readonly image: string
}): string[] {
  const { job, runner, version, revision, systemId, now } = options
  const hasSections = job.features.trace_sections === true
  const line = flagsLine(flags)
  return [
    `Running with windlass ${version} (${revision})\n`,
    `  on ${runner.name ?? ''} ${shortToken(runner.token ?? '')}, system ID: ${systemId}\n`,
    ...(line === undefined ? [] : [`${line}\n`]),
    hasSections ? sectionStart('prepare_executor', now) : '',
    titled('Preparing the "kubernetes" executor'),
    ...notes.map((note) => `${note}\n`),
    `Using Kubernetes namespace: ${namespace}\n`,
    `Using Kubernetes executor with image ${image} ...\n`,
    hasSections ? sectionEnd('prepare_executor', now) : '',
  ].filter((text) => text !== '')
}
