/** What the screens about pipelines read beyond the pipeline itself. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { now } from '../looks/clock.ts'
import { client } from '../server/client.ts'

const DAY_MS = 86_400_000
/** Pipelines on one page of the list. */
const PAGE_SIZE = 50

export const pipelineQueries = {
  /** Statistics over a number of days, of all branches or of one. Part of the builds, so that they are read again when builds change. */
  stats: (pipeline: string, days: number, branch?: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'stats', { days, branch }],
      queryFn: ({ signal }) =>
        client.pipelines.stats(pipeline, {
          signal,
          query: { from: now() - days * DAY_MS, ...(branch !== undefined && { branch }) },
        }),
      placeholderData: keepPreviousData,
      staleTime: 60_000,
    }),
  /** Pipelines with their newest builds, those with the newest build first. */
  list: (filter: { readonly q?: string | undefined; readonly project?: string | undefined }) =>
    infiniteQueryOptions({
      queryKey: ['pipelines', 'activity', filter],
      queryFn: ({ signal, pageParam }) =>
        client.pipelines.list({
          signal,
          query: { ...filter, limit: PAGE_SIZE, cursor: pageParam, activity: true, order: 'last-build' },
        }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
    }),
  projects: () =>
    queryOptions({
      queryKey: ['projects'],
      queryFn: ({ signal }) => client.projects.list({ signal, query: { limit: 500 } }),
      staleTime: 60_000,
      retry: false,
    }),
}
