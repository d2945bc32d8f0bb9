/** What a manager tells a Windlass server: names, states and reasons of jobs. Never variables, tokens or output. */
import { defined } from '@windlass/kit'
import {
  MAX_GITLAB_MESSAGE,
  MAX_GITLAB_NAME,
  MAX_GITLAB_REPORT_BYTES,
  MAX_REPORTED_GITLAB_JOBS,
  MAX_REPORTED_GITLAB_RUNNERS,
  ReportedGitlabJob,
  type GitlabReport,
} from '@windlass/protocol'
import type { EndedJob, JobKey, JobView } from '../manager/views/job-view.ts'
import type { ManagerState } from '../manager/manager.ts'

export interface ReportInput {
  readonly instance: string
  readonly seq: number
  readonly host: string
  readonly version: string
  readonly state: Pick<ManagerState, 'jobs' | 'runners' | 'concurrent' | 'isAsking'>
  /** Jobs that have ended and that the server does not know yet, oldest first. */
  readonly ended: readonly EndedJob[]
  /** Keys of live jobs that the last reports had. The others come before them. */
  readonly told?: ReadonlySet<string>
}

export interface BuiltReport {
  readonly report: GitlabReport
  /** Ended jobs that the report has. */
  readonly ended: readonly EndedJob[]
  /** Keys of the live jobs that the report has. */
  readonly live: readonly string[]
  /** True if no live job is left for the next report. */
  readonly isWhole: boolean
}

/** Returns the key of a job in the reports of a manager. */
function keyOf({ gitlab, id }: JobKey): string {
  return `${gitlab} ${id}`
}

/**
 * Returns the report of what a manager has now, within the limits of the server. Jobs that have ended come first: nothing else tells their ends. Live jobs that do not
 * fit are for the next report.
 */
export function buildReport({ instance, seq, host, version, state, ended, told = new Set() }: ReportInput): BuiltReport {
  const jobs: ReportedGitlabJob[] = []
  let bytes = 0
  const add = (view: JobView, more: Pick<ReportedGitlabJob, 'state'> & Partial<ReportedGitlabJob>): boolean => {
    // A job that the server would refuse must not hold back the others.
    const { data: job } = ReportedGitlabJob.safeParse({ ...factsOf(view), ...more })
    if (job === undefined) return true
    bytes += Buffer.byteLength(JSON.stringify(job))
    if (jobs.length >= MAX_REPORTED_GITLAB_JOBS || bytes > MAX_GITLAB_REPORT_BYTES) return false
    jobs.push(job)
    return true
  }
  const reported = ended.filter((job) => !isKnown(job) || add(job, endOf(job)))
  const known = state.jobs.filter(isKnown)
  const isTold = (job: JobView): boolean => told.has(keyOf(job))
  const inTurn = [...known.filter((job) => !isTold(job)), ...known.filter(isTold)]
  const live = inTurn.filter((job) => add(job, { state: job.state, ...message(job.why) })).map(keyOf)
  const now = new Set(live)
  const runners = state.runners.filter(({ gitlab }) => gitlab !== '').slice(0, MAX_REPORTED_GITLAB_RUNNERS)
  return {
    report: {
      instance,
      seq,
      host: cut(host, 253),
      version: cut(version, 50),
      concurrent: Math.max(0, state.concurrent),
      isAsking: state.isAsking,
      runners: runners.map(({ name, gitlab }) => ({ name: cut(name, MAX_GITLAB_NAME), gitlab })),
      jobs,
      ...((live.length < known.length || reported.length < ended.length) && { hasMore: true }),
    },
    ended: reported,
    live,
    isWhole: known.every((job) => isTold(job) || now.has(keyOf(job))),
  }
}

/** False for a job of a runner whose URL is not valid. */
function isKnown({ gitlab }: JobView): boolean {
  return gitlab !== ''
}

function factsOf(view: JobView): Omit<ReportedGitlabJob, 'state'> {
  const { id, gitlab, name, project, stage, ref, url, runner, pod, namespace, receivedAt, startedAt } = view
  const shown = (text: string, longest: number): string | undefined => (text === '' ? undefined : cut(text, longest))
  return {
    gitlab,
    number: id,
    name: cut(name, MAX_GITLAB_NAME),
    project: cut(project, 500),
    stage: cut(stage, MAX_GITLAB_NAME),
    ref: cut(ref, MAX_GITLAB_NAME),
    runner: cut(runner, MAX_GITLAB_NAME),
    receivedAt: Math.trunc(receivedAt),
    ...defined({ url, pod: shown(pod, 253), namespace: shown(namespace, 63), startedAt }),
  }
}

function endOf({ outcome, endedAt }: EndedJob): Pick<ReportedGitlabJob, 'state'> & Partial<ReportedGitlabJob> {
  const { state, reason, message: text } = outcome
  return { state, endedAt: Math.trunc(endedAt), ...defined({ reason }), ...message(text ?? '') }
}

function message(text: string): Pick<ReportedGitlabJob, 'message'> {
  return text === '' ? {} : { message: cut(text, MAX_GITLAB_MESSAGE) }
}

/** Returns at most this many characters, without control characters. */
function cut(written: string, longest: number): string {
  const text = written.replaceAll(/\p{Cc}+/gu, ' ')
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`
}
