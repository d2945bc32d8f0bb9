/** What the screens of deliveries and triggers read from the server. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { calls } from '../triggers/calls.ts'
import { toDeliveryQuery, type DeliveryFilter } from '../url/delivery-filter.ts'

const PAGE_SIZE = 50

export const deliveryQueries = {
  list: (filter: DeliveryFilter) =>
    infiniteQueryOptions({
      queryKey: ['deliveries', 'list', filter],
      queryFn: ({ signal, pageParam }) =>
        calls.deliveries.list({ signal, query: { ...toDeliveryQuery(filter), limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
    }),
  one: (id: string) =>
    queryOptions({ queryKey: ['deliveries', 'one', id], queryFn: ({ signal }) => calls.deliveries.get(id, { signal }) }),
  webhooks: () =>
    queryOptions({
      queryKey: ['webhooks'],
      queryFn: ({ signal }) => calls.webhooks.list({ signal, query: { limit: 500 } }),
    }),
}
