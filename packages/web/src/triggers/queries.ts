/** What the tab of triggers reads from the server. */
import { queryOptions } from '@tanstack/react-query'
import { calls } from './calls.ts'

/** Triggers of one kind that a pipeline can have. */
const MOST = 500

export const triggerQueries = {
  git: (pipeline: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'triggers'],
      queryFn: ({ signal }) => calls.triggers.list({ signal, query: { pipeline, limit: MOST } }),
    }),
  cron: (pipeline: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'cron-triggers'],
      queryFn: ({ signal }) => calls.cronTriggers.list({ signal, query: { pipeline, limit: MOST } }),
    }),
  event: (pipeline: string) =>
    queryOptions({
      queryKey: ['pipeline', pipeline, 'event-triggers'],
      queryFn: ({ signal }) => calls.eventTriggers.list({ signal, query: { pipeline, limit: MOST } }),
    }),
  lastDeliveries: (pipeline: string) =>
    queryOptions({
      queryKey: ['deliveries', 'of', pipeline],
      queryFn: ({ signal }) => calls.deliveries.list({ signal, query: { pipeline, limit: 50 } }),
    }),
}
