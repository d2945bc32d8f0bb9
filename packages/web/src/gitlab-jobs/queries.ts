/** What the screen of jobs of GitLab reads from the server. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { listAll } from '@windlass/client'
import { GITLAB_REPORT_MS, type GitlabJobState } from '@windlass/protocol'
import { client } from '../server/client.ts'

const PAGE_SIZE = 50

/** All filters must match. */
export interface GitlabFilter {
  readonly state?: GitlabJobState
  readonly runner?: string
  readonly project?: string
}

export const gitlabQueries = {
  // Changes come with the event stream, except the silence of a manager.
  jobs: (filter: GitlabFilter) =>
    infiniteQueryOptions({
      queryKey: ['gitlab-jobs', 'list', filter],
      queryFn: ({ signal, pageParam }) =>
        client.gitlabJobs.list({ signal, query: { ...filter, limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
      refetchInterval: GITLAB_REPORT_MS,
    }),
  managers: () =>
    queryOptions({
      queryKey: ['gitlab-jobs', 'managers'],
      queryFn: ({ signal }) => listAll(({ query }) => client.gitlabJobs.managers({ query, signal })),
      refetchInterval: GITLAB_REPORT_MS,
    }),
}
