/** A manager of GitLab runners, as the server sees it. */
import { gitlabCalls } from '@windlass/client/gitlab'
import type { GitlabReport, GitlabReportAnswer, ReportedGitlabJob } from '@windlass/protocol'
import type { HttpScene } from '../http-scene.ts'

export const GITLAB = 'https://gitlab.test'

/** Returns a job as a manager reports it. */
export function reportedJob(number: number, more: Partial<ReportedGitlabJob> = {}): ReportedGitlabJob {
  return {
    gitlab: GITLAB,
    number,
    name: `job-${number}`,
    project: 'acme/shop',
    stage: 'test',
    ref: 'main',
    url: `${GITLAB}/acme/shop/-/jobs/${number}`,
    runner: 'shop',
    state: 'running',
    message: 'Running in the pod runner-1',
    pod: `runner-${number}`,
    namespace: 'jobs',
    receivedAt: 1_000,
    startedAt: 2_000,
    ...more,
  }
}

/** Returns a report of a manager with two runners. */
export function gitlabReport(seq: number, jobs: readonly ReportedGitlabJob[], more: Partial<GitlabReport> = {}): GitlabReport {
  return {
    instance: 'instance-1',
    seq,
    host: 'manager-0',
    version: '1.2.3',
    concurrent: 10,
    isAsking: true,
    runners: [
      { name: 'shop', gitlab: GITLAB },
      { name: 'other', gitlab: GITLAB },
    ],
    jobs: [...jobs],
    ...more,
  }
}

export interface GitlabReporter {
  readonly token: string
  /** Sends a report with the next number. */
  report(jobs: readonly ReportedGitlabJob[], more?: Partial<GitlabReport>): Promise<GitlabReportAnswer>
}

/** Creates the key of a manager. */
export async function openGitlabManager({ admin, nobody }: HttpScene, id = 'r_0123456789ab'): Promise<GitlabReporter> {
  const { token } = await admin.keys.create({ name: `manager-${id}`, role: 'maintainer', scopes: ['gitlab-report:write'] })
  const calls = gitlabCalls(nobody.withToken(token))
  let seq = 0
  return {
    token,
    report: (jobs, more) => calls.report(id, gitlabReport((seq += 1), jobs, more)),
  }
}
