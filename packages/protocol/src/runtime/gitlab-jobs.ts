/**
 * Jobs of GitLab: what the manager of GitLab runners reports about them, and how callers see them. A report never contains variables, tokens or output of a
 * job; its log stays at GitLab.
 *
 * PUT /v1/gitlab-managers/{id}        GitlabReport -> GitlabReportAnswer: jobs of a manager that have ended since the last report, and its live jobs
 * PUT /v1/agent/gitlab-managers/{id}  the same, from an agent that passes on the reports of a manager in its pod
 */
import { z } from 'zod'
import { HttpUrl, Id, PageQuery, Time } from '../base.ts'

/** Of a job that has not ended. `waiting`: it waits for another job of the manager to end. `preparing`: its pod does not run yet. `ending`: GitLab gets the rest. */
export const LIVE_GITLAB_STATES = ['waiting', 'preparing', 'running', 'ending'] as const
/** Of a job that has ended. `canceled`: GitLab ended it. */
export const ENDED_GITLAB_STATES = ['success', 'failed', 'canceled'] as const
/** As callers see them. `unknown`: the job has not ended as far as the server knows, and its manager is silent. */
export const GITLAB_JOB_STATES = [...LIVE_GITLAB_STATES, ...ENDED_GITLAB_STATES, 'unknown'] as const
export type GitlabJobState = (typeof GITLAB_JOB_STATES)[number]

/** The time between two reports of a manager is at most this. Milliseconds. */
export const GITLAB_REPORT_MS = 30_000
/** Silence of a manager after which the states of its jobs are unknown. Milliseconds. */
export const GITLAB_SILENT_MS = 3 * GITLAB_REPORT_MS
/** Maximum number of jobs, and of runners, in one report. A manager with more live jobs needs several reports for all of them. */
export const MAX_REPORTED_GITLAB_JOBS = 500
export const MAX_REPORTED_GITLAB_RUNNERS = 100
/** Size of the JSON of the jobs in one report, which a manager keeps. Bytes. */
export const MAX_GITLAB_REPORT_BYTES = 1_048_576
/** Maximum size of the whole report. Bytes. */
export const MAX_GITLAB_REPORT_BODY_BYTES = 2 * MAX_GITLAB_REPORT_BYTES
/** Longest names and messages in a report. Characters. */
export const MAX_GITLAB_NAME = 255
export const MAX_GITLAB_MESSAGE = 1_000

/** A text of one line. Control characters would move what a terminal shows, and PostgreSQL stores no NUL. */
const line = (longest: number) =>
  z
    .string()
    .max(longest)
    .overwrite((text) => text.replaceAll(/\p{Cc}+/gu, ' '))
const Text = line(MAX_GITLAB_NAME)

/** The system ID of a manager, which is unique among the managers of all runners. */
export const GitlabManagerId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be a system ID: letters, digits, _ and -, at most 64')

/** A job as its manager knows it. GitLab and the number identify it. */
const GitlabJobFacts = z.object({
  /** Base URL of GitLab. */
  gitlab: HttpUrl,
  /** Id of the job at GitLab. */
  number: z.int().positive(),
  name: Text,
  /** Full path. */
  project: line(500),
  stage: Text,
  ref: Text,
  /** Page of the job at GitLab, with its log. */
  url: HttpUrl.optional(),
  /** Name of the runner. */
  runner: Text,
  /** Cause of the end in the words of GitLab, such as `script_failure`. */
  reason: line(100).optional(),
  /** What the job waits for, or how it ended. */
  message: line(MAX_GITLAB_MESSAGE).optional(),
  pod: line(253).optional(),
  namespace: line(63).optional(),
  /** Times of the manager. */
  receivedAt: Time.optional(),
  startedAt: Time.optional(),
  endedAt: Time.optional(),
})

export const ReportedGitlabJob = GitlabJobFacts.extend({ state: z.enum([...LIVE_GITLAB_STATES, ...ENDED_GITLAB_STATES]) })
export type ReportedGitlabJob = z.infer<typeof ReportedGitlabJob>

const GitlabRunner = z.object({ name: Text, gitlab: HttpUrl })

const GitlabManagerFacts = z.object({
  host: line(253),
  version: line(50),
  /** Maximum number of jobs at the same time. */
  concurrent: z.int().nonnegative(),
  /** False for a manager that asks for no more jobs. */
  isAsking: z.boolean(),
  runners: z.array(GitlabRunner).max(MAX_REPORTED_GITLAB_RUNNERS),
})

/** What a manager has now. Sending it twice changes nothing. */
export const GitlabReport = GitlabManagerFacts.extend({
  /** Random per process. */
  instance: z.string().min(8).max(100),
  /** Grows with each report of a process. A report with a lower number came late and is ignored. */
  seq: z.int().positive(),
  /** Jobs that have ended, which are repeated until the server has answered, and live jobs. Those that do not fit are in the next reports, a few seconds later. */
  jobs: z.array(ReportedGitlabJob).max(MAX_REPORTED_GITLAB_JOBS),
  /** True if jobs did not fit. */
  hasMore: z.boolean().optional(),
})
export type GitlabReport = z.infer<typeof GitlabReport>

export const GitlabReportAnswer = z.object({
  /** Number of the latest report of this process that is stored. */
  seq: z.int().nonnegative(),
})
export type GitlabReportAnswer = z.infer<typeof GitlabReportAnswer>

/** A manager in `/v1`. */
export const GitlabManager = GitlabManagerFacts.extend({
  id: GitlabManagerId,
  status: z.enum(['online', 'offline']),
  /** Name of the key that reported last. Absent if an agent passes the reports on. */
  key: z.string().optional(),
  /** Name of the agent that passed on the last report. */
  agent: z.string().optional(),
  /** Jobs that have not ended as far as the server knows. */
  jobs: z.int().nonnegative(),
  seenAt: Time,
  createdAt: Time,
})
export type GitlabManager = z.infer<typeof GitlabManager>

export const GitlabJobQuery = PageQuery.extend({
  state: z.enum(GITLAB_JOB_STATES).optional(),
  runner: Text.min(1).optional(),
  /** Full path of the project at GitLab. */
  project: z.string().min(1).max(500).optional(),
})

/** A job in `/v1`. */
export const GitlabJob = GitlabJobFacts.extend({
  id: Id,
  state: z.enum(GITLAB_JOB_STATES),
  /** With `unknown`: the last state that was reported. */
  lastState: z.enum(LIVE_GITLAB_STATES).optional(),
  /** Since when the job has its state. */
  since: Time,
  /** System ID of the manager. */
  manager: z.string(),
  /** Host of the manager. */
  host: z.string(),
  /** Time of the first and of the last report about the job. */
  createdAt: Time,
  reportedAt: Time,
})
export type GitlabJob = z.infer<typeof GitlabJob>
