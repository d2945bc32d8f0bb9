/** What the screens of a build read besides the build itself. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

const MINUTE = 60_000
/** Decided approvals among which the last one of the same step is searched. */
const DECISIONS = 50

export const buildQueries = {
  usage: (id: string) =>
    queryOptions({
      queryKey: ['build', id, 'usage'],
      queryFn: ({ signal }) => client.builds.usage(id, { signal }),
      staleTime: MINUTE / 4,
    }),
  /** The differences from another build, by default the last successful one of the branch. Fails with `not-found` without one. */
  comparison: (id: string, other: string | undefined) =>
    queryOptions({
      queryKey: ['build', id, 'compare', { other }],
      queryFn: ({ signal }) => client.builds.compare(id, { signal, query: { with: other } }),
      placeholderData: keepPreviousData,
      retry: false,
    }),
  /** Usual times and memory of a pipeline on a branch. */
  stats: (pipeline: string, branch: string | undefined) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'stats', { branch }],
      queryFn: ({ signal }) => client.pipelines.stats(pipeline, { signal, query: { branch } }),
      staleTime: MINUTE,
      retry: false,
    }),
  /** Names of the registry contexts. Users without the right to see contexts get an error. */
  registries: () =>
    queryOptions({
      queryKey: ['contexts', 'registries'],
      queryFn: async ({ signal }) =>
        (await client.contexts.list({ signal })).items.filter(({ type }) => type === 'registry').map(({ name }) => name),
      staleTime: MINUTE,
      retry: false,
    }),
  /** The latest decisions about approvals of a pipeline. */
  decisions: (pipeline: string) =>
    queryOptions({
      queryKey: ['approvals', 'decided', pipeline],
      queryFn: ({ signal }) => client.builds.approvals({ signal, query: { state: 'decided', pipeline, limit: DECISIONS } }),
    }),
}
