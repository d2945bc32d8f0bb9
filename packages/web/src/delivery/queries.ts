/** What the screens of applications read from the server. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { openDeliveryClient } from '@windlass/client/delivery'
import type { EventQuery, ResourceKey } from '@windlass/protocol'
import { client } from '../server/client.ts'
import type { ApplicationFilter } from './filter.ts'

const PAGE_SIZE = 50
/** Releases of one call. */
const RELEASES = 10
/** Changes come with the event stream, except the silence of a runtime. Milliseconds. */
const REREAD_MS = 60_000

/** App-proxies report each half a minute. Milliseconds. */
const STATUS_MS = 15_000

/** What a runtime has is asked of it again this often, and while a sync runs more often. Milliseconds. */
const LIVE_MS = { calm: 10_000, busy: 1_000 }

export const delivery = openDeliveryClient(client)

export const deliveryQueries = {
  applications: (filter: ApplicationFilter) =>
    infiniteQueryOptions({
      queryKey: ['applications', 'list', filter],
      queryFn: ({ signal, pageParam }) =>
        delivery.applications.list({ signal, query: { sort: 'name', ...filter, limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
      refetchInterval: REREAD_MS,
    }),
  application: (name: string) =>
    queryOptions({
      queryKey: ['applications', 'one', name],
      queryFn: ({ signal }) => delivery.applications.get(name, { signal }),
      refetchInterval: REREAD_MS,
    }),
  /** The images of an application, with what was reported of them. */
  images: (name: string) =>
    queryOptions({
      queryKey: ['applications', 'images', name],
      queryFn: async ({ signal }) => (await delivery.applications.images(name, { signal })).items,
      refetchInterval: REREAD_MS,
      retry: false,
    }),
  /** As its runtime has it now. A runtime that is away is asked again later, and not at once. */
  live: (name: string) =>
    queryOptions({
      queryKey: ['live-application', name, 'details'],
      queryFn: ({ signal }) => delivery.applications.live(name, { signal }),
      refetchInterval: ({ state: { data, status } }) =>
        status === 'success' && data?.isBusy === true ? LIVE_MS.busy : LIVE_MS.calm,
      retry: false,
    }),
  /** The objects of an application, and those that they have created. */
  tree: (name: string, isBusy: boolean) =>
    queryOptions({
      queryKey: ['live-application', name, 'tree'],
      queryFn: async ({ signal }) => (await delivery.applications.tree(name, { signal })).items,
      refetchInterval: isBusy ? LIVE_MS.busy * 2 : LIVE_MS.calm,
      retry: false,
    }),
  /** An object as the cluster has it. */
  resource: (name: string, object: ResourceKey) =>
    queryOptions({
      queryKey: ['live-application', name, 'resource', object],
      queryFn: async ({ signal }) => (await delivery.applications.resource(name, { query: object, signal })).manifest,
      refetchInterval: LIVE_MS.calm,
      retry: false,
    }),
  events: (name: string, query: EventQuery) =>
    queryOptions({
      queryKey: ['live-application', name, 'events', query],
      queryFn: async ({ signal }) => (await delivery.applications.events(name, { query, signal })).items,
      refetchInterval: LIVE_MS.calm,
      retry: false,
    }),
  differences: (name: string) =>
    queryOptions({
      queryKey: ['live-application', name, 'diff'],
      queryFn: async ({ signal }) => (await delivery.applications.diff(name, { signal })).items,
      refetchInterval: LIVE_MS.calm,
      retry: false,
    }),
  environments: () =>
    queryOptions({
      queryKey: ['applications', 'environments'],
      queryFn: async ({ signal }) => (await delivery.environments.list({ signal })).items,
      refetchInterval: REREAD_MS,
    }),
  products: () =>
    queryOptions({
      queryKey: ['applications', 'products'],
      queryFn: async ({ signal }) => (await delivery.products.list({ signal })).items,
      refetchInterval: REREAD_MS,
    }),
  product: (name: string) =>
    queryOptions({
      queryKey: ['applications', 'product', name],
      queryFn: ({ signal }) => delivery.products.get(name, { signal }),
      refetchInterval: REREAD_MS,
    }),
  releases: (product: string) =>
    infiniteQueryOptions({
      queryKey: ['applications', 'releases', product],
      queryFn: ({ signal, pageParam }) =>
        delivery.releases.list({ signal, query: { product, limit: RELEASES, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      refetchInterval: REREAD_MS,
    }),
  /** What works and what is broken in each GitOps runtime. */
  statuses: () =>
    queryOptions({
      queryKey: ['applications', 'statuses'],
      queryFn: async ({ signal }) => (await delivery.gitopsStatus.list({ signal })).items,
      refetchInterval: STATUS_MS,
    }),
  /** The connections of all GitOps runtimes. */
  tunnels: () =>
    queryOptions({
      queryKey: ['applications', 'tunnels'],
      queryFn: async ({ signal }) => (await delivery.tunnels.list({ signal })).items,
      refetchInterval: REREAD_MS,
    }),
}
