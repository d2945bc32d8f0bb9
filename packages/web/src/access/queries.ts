/** What the screens of access read from the server. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { listAll } from '@windlass/client'
import type { AuditRecord } from '@windlass/protocol'
import { client } from '../server/client.ts'

/** Users and teams that are read. */
const MOST = 2_000

export interface AuditFilter {
  readonly user?: string
  readonly result?: AuditRecord['result']
  readonly q?: string
}

export const accessQueries = {
  users: () => queryOptions({ queryKey: ['users'], queryFn: () => listAll(({ query }) => client.users.list({ query }), MOST) }),
  teams: () => queryOptions({ queryKey: ['teams'], queryFn: () => listAll(({ query }) => client.teams.list({ query }), MOST) }),
  keys: () => queryOptions({ queryKey: ['keys'], queryFn: ({ signal }) => client.keys.list({ signal }) }),
  chain: () => queryOptions({ queryKey: ['audit', 'chain'], queryFn: ({ signal }) => client.audit.chain({ signal }) }),
  audit: (filter: AuditFilter) =>
    infiniteQueryOptions({
      queryKey: ['audit', 'list', filter],
      queryFn: ({ signal, pageParam }) => client.audit.list({ signal, query: { ...filter, limit: 50, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
    }),
}
