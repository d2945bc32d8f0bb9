/** What the screens of disks and checks read from the server. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

const PAGE_SIZE = 100
/** Agents report their disks once a minute. Milliseconds. */
const REFRESH_MS = 30_000

export const diskQueries = {
  disks: (runtime: string) =>
    infiniteQueryOptions({
      queryKey: ['disks', runtime],
      queryFn: ({ signal, pageParam }) => client.disks.list({ signal, query: { runtime, limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      refetchInterval: REFRESH_MS,
    }),
  checks: (agent: string) =>
    queryOptions({ queryKey: ['agent', agent, 'checks'], queryFn: ({ signal }) => client.agents.checks(agent, { signal }) }),
}
