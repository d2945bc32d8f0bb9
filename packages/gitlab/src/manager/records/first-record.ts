/** The record of a job that begins, with the first lines of its trace. */
import { defined } from '@windlass/kit'
import { shortToken } from '../../coordinator/tokens.ts'
import { flagsLine, unknownFlags, type FeatureFlags } from '../../job/feature-flags.ts'
import { timeoutOf } from '../../job/variables.ts'
import type { JobRecord, Note } from './job-record.ts'
import { factsOf } from '../views/shown-job.ts'
import { isTraced, showsServices, type Derived, type JobPlanOptions } from '../plan/plan-options.ts'
import { sectionEnd, sectionStart, titled } from '../sections.ts'

/** Default of `output_limit`. KiB. */
const OUTPUT_LIMIT = 4_096

export interface RecordOptions extends Derived {
  readonly pod: string
  /** Namespace of the pod. */
  readonly namespace: string
  /** True if the namespace is created for the job. */
  readonly ownsNamespace: boolean
  readonly image: string
  /** Containers of the services. */
  readonly services: readonly string[]
  /** What variables of the job change. */
  readonly notes: readonly string[]
}

/** Returns the record. */
export function recordOf(
  options: JobPlanOptions,
  { variables, flags, pod, services, ownsNamespace, ...shown }: RecordOptions,
): JobRecord {
  const { job, runner, place, now } = options
  const shownServices = showsServices(options, variables) ? services : []
  const lines = introLines({ options, flags, ...shown })
  const { name, project, stage, ref, url } = factsOf(job, runner)
  const intro: Note[] = lines.map((text) => ({ at: now * 1_000, text }))
  return {
    version: 1,
    jobId: job.id,
    jobToken: job.token,
    runner: options.runnerKey,
    pod,
    ...(shown.namespace !== options.namespace && { namespace: shown.namespace }),
    ownsNamespace,
    createdAt: now,
    timeoutS: timeoutOf(job),
    ...defined({ terminalS: options.terminalS }),
    supportedReasons: job.features.failure_reasons,
    // GitLab shows such a trace only to members of the project.
    isDebug: isTraced(options, variables) || shownServices.length > 0,
    hasServices: services.length > 0,
    shownServices: [...shownServices],
    hasSections: job.features.trace_sections === true,
    projectId: job.job_info.project_id,
    shown: { name, project, stage, ref, ...defined({ url }) },
    ...place,
    trace: {
      masked: [...variables.masked],
      tokenPrefixes: job.features.token_mask_prefixes,
      masksAllTokens: flags.FF_MASK_ALL_DEFAULT_TOKENS,
      hasTimes: flags.FF_TIMESTAMPS,
      limit: (runner.output_limit ?? OUTPUT_LIMIT) * 1_024,
    },
    intro,
  }
}

/** Returns the lines that every trace begins with: which manager has the job. */
export function managerLines({
  runner,
  version,
  revision,
  systemId,
}: Pick<JobPlanOptions, 'runner' | 'version' | 'revision' | 'systemId'>): string[] {
  return [
    `Running with windlass ${version} (${revision})\n`,
    `  on ${runner.name ?? ''} ${shortToken(runner.token ?? '')}, system ID: ${systemId}\n`,
  ]
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
  readonly flags: FeatureFlags
  readonly notes: readonly string[]
  readonly image: string
}): string[] {
  const { job, now } = options
  const hasSections = job.features.trace_sections === true
  const line = flagsLine(flags)
  const unknown = unknownFlags(job.variables.map(({ key }) => key))
  return [
    ...managerLines(options),
    ...(line === undefined ? [] : [`${line}\n`]),
    ...(unknown.length === 0 ? [] : [`  feature flags without an effect in Windlass: ${unknown.join(', ')}\n`]),
    ...secretLines(options),
    hasSections ? sectionStart('prepare_executor', now) : '',
    titled('Preparing the "kubernetes" executor'),
    ...notes.map((note) => `${note}\n`),
    `Using Kubernetes namespace: ${namespace}\n`,
    `Using Kubernetes executor with image ${image} ...\n`,
    hasSections ? sectionEnd('prepare_executor', now) : '',
  ].filter((text) => text !== '')
}

/** Says which secrets of other stores the job has, and from where. */
function secretLines({ job, secrets, now }: JobPlanOptions): string[] {
  if (Object.keys(job.secrets ?? {}).length === 0) return []
  const hasSections = job.features.trace_sections === true
  const known = new Map(secrets.map(({ name, store }) => [name, store]))
  return [
    hasSections ? sectionStart('resolve_secrets', now) : '',
    titled('Resolving secrets'),
    ...Object.keys(job.secrets ?? {}).map((name) => {
      const store = known.get(name)
      return store === undefined
        ? `WARNING: the secret "${name}" does not exist\n`
        : `Resolved the secret "${name}" of ${store}\n`
    }),
    hasSections ? sectionEnd('resolve_secrets', now) : '',
  ]
}
