/** What the screens of contexts read from the server. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

export const contextQueries = {
  list: () => queryOptions({ queryKey: ['contexts'], queryFn: ({ signal }) => client.contexts.list({ signal }) }),
  /** The context with what uses it. */
  one: (name: string) =>
    queryOptions({ queryKey: ['contexts', name], queryFn: ({ signal }) => client.contexts.get(name, { signal }) }),
}
