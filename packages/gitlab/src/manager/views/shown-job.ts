/** One job as users see it. Its texts contain no values of masked variables, secrets and tokens. */
import { parseBaseUrl } from '@windlass/protocol'
import type { RunnerSection } from '../../config/schema.ts'
import type { Job } from '../../job/payload.ts'
import { maskText, type Masks } from '../../trace/mask-text.ts'
import type { JobRecord } from '../records/job-record.ts'
import type { JobFacts, JobOutcome, JobView, JobViews } from './job-view.ts'

export interface ShownJobOptions {
  readonly views: JobViews
  readonly facts: JobFacts
  /** Name of the runner. */
  readonly runner: string
  readonly masks: Masks
  /** Epoch milliseconds, of a job that another manager received. */
  readonly receivedAt?: number
}

export interface ShownJob {
  /** Masks texts from now on as the trace of the job, which also knows its secrets. */
  mask(masks: Masks): void
  set(state: JobView['state'], why: string, place?: Pick<JobView, 'pod' | 'namespace'>): void
  /** Removes the job. Without an outcome it has not ended. */
  end(outcome: JobOutcome | undefined): void
}

export function openShownJob({ views, facts, runner, masks: first, receivedAt }: ShownJobOptions): ShownJob {
  let known = { pod: '', namespace: '' }
  let masks = first
  return {
    mask(next) {
      masks = next
    },
    set(state, why, place) {
      known = place ?? known
      views.set({ ...facts, ...known, runner, state, why: maskText(why, masks), receivedAt })
    },
    end(outcome) {
      const message = outcome?.message === undefined ? undefined : maskText(outcome.message, masks)
      views.remove(facts, outcome && { ...outcome, message })
    },
  }
}

/** Returns what is masked in the texts of a job. */
export function masksOf({ token, variables, features }: Job): Masks {
  const masked = variables.flatMap(({ masked: isMasked, value }) => (isMasked === true ? [value] : []))
  return { masked: [token, ...masked], tokenPrefixes: features.token_mask_prefixes }
}

/** Returns what is masked in the texts of a job that was recorded. */
export function recordedMasks({ jobToken, trace }: Pick<JobRecord, 'jobToken' | 'trace'>): Masks {
  return { masked: [jobToken, ...trace.masked], tokenPrefixes: trace.tokenPrefixes }
}

/** Returns what users see of a job that GitLab sent. */
export function factsOf({ id, job_info: info, git_info: git, variables }: Job, runner: RunnerSection): JobFacts {
  const gitlab = gitlabUrl(runner)
  const own = variables.find(({ key }) => key === 'CI_JOB_URL')?.value
  const usual = gitlab === '' || info.project_full_path === '' ? '' : `${gitlab}/${info.project_full_path}/-/jobs/${id}`
  return {
    id,
    gitlab,
    name: info.name,
    project: info.project_full_path,
    stage: info.stage,
    ref: git.ref,
    // GitLab knows the address at which people reach it. The runner may use another one.
    url: parseBaseUrl(own ?? '') ?? parseBaseUrl(usual),
  }
}

/** Returns what users see of a job that was recorded. */
export function recordedFacts({ jobId: id, shown }: Pick<JobRecord, 'jobId' | 'shown'>, runner: RunnerSection): JobFacts {
  const { name = '', project = '', stage = '', ref = '', url } = shown ?? {}
  return { id, gitlab: gitlabUrl(runner), name, project, stage, ref, url }
}

/** Returns the base URL of the GitLab of a runner, without a login; empty if it is not valid. */
export function gitlabUrl({ url = '' }: RunnerSection): string {
  const parsed = URL.parse(url)
  if (parsed === null) return ''
  return parseBaseUrl(`${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '').replace(/\/ci$/, '')) ?? ''
}
