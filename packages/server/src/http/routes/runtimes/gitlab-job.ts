/** Routes of jobs of GitLab and of the managers that report them. The shapes are documented in `protocol/runtime/gitlab-jobs.ts`. */
import {
  GitlabJob,
  GitlabJobQuery,
  GitlabManager,
  GitlabManagerId,
  GitlabReport,
  GitlabReportAnswer,
  MAX_GITLAB_REPORT_BODY_BYTES,
  page,
  PageQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listGitlabJobPage, listGitlabManagerPage, showGitlabJob } from '../../../gitlab-jobs/show-jobs.ts'
import { requireReporter, takeGitlabReport } from '../../../gitlab-jobs/take-report.ts'
import { ok, route, type Route } from '../../route.ts'

const ById = z.object({ id: z.string().min(1).max(100) })
export const ByManager = z.object({ id: GitlabManagerId })
/** Concurrent reports of one key, which the managers of one Deployment share, or of one agent. */
export const REPORTS_AT_ONCE = 8

export function gitlabJobRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/gitlab-jobs', {
      summary: 'List the jobs of GitLab runners, newest first',
      allow: 'see-gitlab-jobs',
      scope: 'gitlab-job:read',
      query: GitlabJobQuery,
      replies: { 200: page(GitlabJob) },
      handle: async ({ query }) => ok(await listGitlabJobPage(app, query)),
    }),
    route('GET', '/v1/gitlab-jobs/{id}', {
      summary: 'Show a job of a GitLab runner',
      allow: 'see-gitlab-jobs',
      scope: 'gitlab-job:read',
      params: ById,
      replies: { 200: GitlabJob },
      handle: async ({ params }) => ok(await showGitlabJob(app, params.id)),
    }),
    route('GET', '/v1/gitlab-managers', {
      summary: 'List the managers of GitLab runners that have reported jobs, by their system IDs',
      allow: 'see-gitlab-jobs',
      scope: 'gitlab-job:read',
      query: PageQuery,
      replies: { 200: page(GitlabManager) },
      handle: async ({ query }) => ok(await listGitlabManagerPage(app, query)),
    }),
    route('PUT', '/v1/gitlab-managers/{id}', {
      summary: 'Report the jobs of a manager of GitLab runners',
      allow: 'report-gitlab-jobs',
      scope: 'gitlab-report:write',
      unaudited: 'reports what runs elsewhere, every few seconds; the key and its use are recorded',
      params: ByManager,
      body: GitlabReport,
      maxBodyBytes: MAX_GITLAB_REPORT_BODY_BYTES,
      callsAtOnce: REPORTS_AT_ONCE,
      replies: { 200: GitlabReportAnswer },
      handle: async ({ params: { id }, body: report, actor }) =>
        ok(await takeGitlabReport(app, { id, from: { key: requireReporter(actor) }, report })),
    }),
  ]
}
