/** All that follows from a job and the configuration before anything runs: its program, its record, and its pod. Pure. */
import type { JobProgram } from '../../helper/program.ts'
import { cacheKeysOf } from '../../job/cache-stages.ts'
import { featureFlags } from '../../job/feature-flags.ts'
import type { Job } from '../../job/payload.ts'
import type { CacheUrls } from '../../job/stage.ts'
import { jobVariables } from '../../job/variables.ts'
import { ConfigurationError } from '../../pod/configuration-error.ts'
import { imageOf } from '../../pod/containers.ts'
import { pullPolicies, type PullPolicy } from '../../pod/images.ts'
import { jobServices, serviceValues } from '../../pod/job-services.ts'
import { podName, type PodIdentity } from '../../pod/names.ts'
import { overwrite } from '../../pod/overwrites.ts'
import { renderPod } from '../../pod/render.ts'
import { recordOf } from '../records/first-record.ts'
import { foldersOf } from './job-folders.ts'
import { programOf } from './job-program.ts'
import { LABELS, type JobRecord } from '../records/job-record.ts'
import type { JobPlanOptions } from './plan-options.ts'

export interface JobPlan {
  readonly pod: string
  readonly namespace: string
  /** Keys of the caches for which the program needs addresses. */
  readonly cacheKeys: readonly string[]
  /** Returns the program with the addresses of caches. A cache without one stays in the pod; `cacheProblem` says why. */
  readonly program: (cacheUrls: (key: string) => CacheUrls | undefined, cacheProblem?: string) => JobProgram
  /** Variables of services, by their keys in the Secret of the job. */
  readonly serviceValues: Readonly<Record<string, string>>
  readonly record: JobRecord
  /** Number of tries to pull images, each with its own policies. */
  readonly pullTries: number
  /** Returns the pod of a try, 0 for the first one. */
  readonly render: (pullTry: number, pullSecrets: readonly string[]) => Readonly<Record<string, unknown>>
}

/** Makes the plan of a job. Throws `ConfigurationError` for what the job asks for and this runner does not allow or cannot do. */
export function planJob(options: JobPlanOptions): JobPlan {
  const { job, runner, place } = options
  refuseUnknown(job)
  const flags = featureFlags(runner, job)
  const folders = foldersOf(options)
  const variables = jobVariables({
    job,
    secrets: options.secrets,
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
  const ownsNamespace = section.namespace_per_job === true
  const namespace = ownsNamespace ? `ci-job-${job.id}` : (section.namespace ?? options.namespace)
  const policies = new Map<string, readonly (PullPolicy | undefined)[]>()
  const services = jobServices({ job, section, variables })
  policies.set('build', pullPolicies(section, job.image?.pull_policy ?? []))
  policies.set('helper', pullPolicies(section, []))
  for (const { container, pullPolicies: ofService } of services) policies.set(container, pullPolicies(section, ofService))
  const render = (pullTry: number, pullSecrets: readonly string[]): Readonly<Record<string, unknown>> =>
    renderPod({
      job,
      section: { ...section, namespace },
      variables,
      flags,
      identity,
      managerName: options.managerName,
      labels: { [LABELS.job]: String(job.id), [LABELS.manager]: options.systemId },
      terminalS: options.terminalS ?? 0,
      helperImage: section.helper_image || options.helperImage,
      pullPolicy: (container) => {
        const list = policies.get(container) ?? [undefined]
        return list[Math.min(pullTry, list.length - 1)]
      },
      pullSecrets,
      jobSecret: pod,
      services,
      buildsFolder: folders.buildsFolder,
      cacheFolder: folders.cacheFolder,
    })
  // A pod that is not allowed fails the job before anything is created.
  render(0, [])
  return {
    pod,
    namespace,
    cacheKeys: cacheKeysOf({ job, variables, flags }),
    program: (cacheUrls, cacheProblem) => programOf(options, { variables, flags, folders, services, cacheUrls, cacheProblem }),
    serviceValues: serviceValues(services),
    record: recordOf(options, {
      variables,
      flags,
      pod,
      namespace,
      ownsNamespace,
      notes,
      image: imageOf({ job, section, variables }),
      services: services.map(({ container }) => container),
    }),
    pullTries: Math.max(...[...policies.values()].map(({ length }) => length)),
    render,
  }
}

/** Throws for parts of a job that this version does not run. */
function refuseUnknown(job: Job): void {
  if (job.run !== '') throw new ConfigurationError('The job has `run` with CI steps. Windlass does not run these; use `script`.')
}
