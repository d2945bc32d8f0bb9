/** The tables of what managers of GitLab runners report. `schema.ts` says what columns may contain. */
import type { ReportedGitlabJob } from '@windlass/protocol'

export interface GitlabManagerRow {
  account_id: string
  /** System ID. */
  id: string
  /** The process that reported last, and the number of its last report. */
  instance: string
  seq: number
  /** Name of the key of the last report. */
  key_name: string
  /** JSON: the report without its jobs. */
  facts: string
  seen_at: number
  created_at: number
}

export interface GitlabJobRow {
  id: string
  account_id: string
  /** Base URL of GitLab. With the number it identifies the job. */
  gitlab: string
  number: number
  /** System ID and host of the manager that reported the job last. */
  manager: string
  host: string
  runner: string
  project: string
  /** The reported state. */
  state: ReportedGitlabJob['state']
  state_since: number
  /** JSON: ReportedGitlabJob. */
  facts: string
  /** Time of the last report that has the job. */
  seen_at: number
  created_at: number
}
