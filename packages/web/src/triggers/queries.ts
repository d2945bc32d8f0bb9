/** What the tab of triggers reads from the server, beside `queries.triggers`. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

/** Triggers of one kind that a pipeline can have. */
const MOST = 500

export const triggerQueries = {
  cron: (pipeline: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'cron-triggers'],
      queryFn: ({ signal }) => client.cronTriggers.list({ signal, query: { pipeline, limit: MOST } }),
    }),
  event: (pipeline: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'event-triggers'],
      queryFn: ({ signal }) => client.eventTriggers.list({ signal, query: { pipeline, limit: MOST } }),
    }),
  lastDeliveries: (pipeline: string) =>
    queryOptions({
      queryKey: ['deliveries', 'of', pipeline],
      queryFn: ({ signal }) => client.deliveries.list({ signal, query: { pipeline, limit: 50 } }),
    }),
}
