/** Jobs of GitLab runners and their managers. */
import { GitlabJob, GitlabJobQuery, GitlabManager, page, PageQuery } from '@windlass/protocol'
import { route } from '../route.ts'

export const gitlabJobs = {
  /** Lists jobs, newest first. */
  list: route('GET', '/v1/gitlab-jobs', { query: GitlabJobQuery, answer: page(GitlabJob) }),
  get: route('GET', '/v1/gitlab-jobs/{id}', { answer: GitlabJob }),
  /** Lists the managers that have reported jobs, by their system IDs. */
  managers: route('GET', '/v1/gitlab-managers', { query: PageQuery, answer: page(GitlabManager) }),
}
