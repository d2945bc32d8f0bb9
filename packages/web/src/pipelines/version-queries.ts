/** What the history of a pipeline reads. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

const PAGE_SIZE = 50

export const versionQueries = {
  versions: (pipeline: string) =>
    infiniteQueryOptions({
      queryKey: ['pipeline', pipeline, 'versions'],
      queryFn: ({ signal, pageParam }) =>
        client.pipelines.versions(pipeline, { signal, query: { limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
    }),
  /** The differences of a version and the one before it. A version does not change. */
  diff: (pipeline: string, version: number) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'versions', version, 'diff'],
      queryFn: ({ signal }) => client.pipelines.diff(pipeline, version, { signal }),
      staleTime: Infinity,
    }),
}
