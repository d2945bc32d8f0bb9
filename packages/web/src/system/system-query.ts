/** What the system screen reads. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'
import { HEALTH_MS } from '../server/queries.ts'

export function systemQuery() {
  return queryOptions({
    queryKey: ['system'],
    queryFn: ({ signal }) => client.server.system({ signal }),
    refetchInterval: HEALTH_MS,
  })
}
