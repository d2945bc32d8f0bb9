/** What the screens of deliveries and triggers read from the server. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'
import { toDeliveryQuery, type DeliveryFilter } from '../url/delivery-filter.ts'

const PAGE_SIZE = 50

export const deliveryQueries = {
  list: (filter: DeliveryFilter) =>
    infiniteQueryOptions({
      queryKey: ['deliveries', 'list', filter],
      queryFn: ({ signal, pageParam }) =>
        client.deliveries.list({ signal, query: { ...toDeliveryQuery(filter), limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
    }),
  one: (id: string) =>
    queryOptions({ queryKey: ['deliveries', 'one', id], queryFn: ({ signal }) => client.deliveries.get(id, { signal }) }),
  webhooks: () =>
    queryOptions({
      queryKey: ['webhooks'],
      queryFn: ({ signal }) => client.webhooks.list({ signal, query: { limit: 500 } }),
    }),
}
