/** The call of a manager of GitLab runners. */
import { GitlabManagerId, GitlabReport, GitlabReportAnswer, type Client } from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

export const GITLAB_ROUTES = {
  /** Reports the jobs of a manager. A report that comes late is ignored. */
  report: route('PUT', '/v1/gitlab-managers/{id}', {
    params: z.object({ id: GitlabManagerId }),
    body: GitlabReport,
    answer: GitlabReportAnswer,
  }),
}

export type GitlabCalls = Calls<typeof GITLAB_ROUTES>

/** Returns the calls of the manager whose key the client has. */
export function gitlabCalls(client: Client): GitlabCalls {
  return bindCalls(client, GITLAB_ROUTES)
}
