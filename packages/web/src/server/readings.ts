/** Changes that arrive while the cache is being read: the answer can be older than they are, and nothing else would replace it. */
import type { InfiniteData, QueryCacheNotifyEvent, QueryFilters } from '@tanstack/react-query'
import type { Build } from '@windlass/protocol'
import { queryClient } from './query-client.ts'

/** A page of a list. */
interface Page {
  readonly items: readonly Build[]
  readonly next?: string | undefined
}
export type Pages = InfiniteData<Page, string | undefined>

/** Returns the list with the build in the place of its earlier state; the same list if it does not contain it. */
export function patchPages(pages: Pages, build: Build): Pages {
  if (!pages.pages.some(({ items }) => items.some(({ id }) => id === build.id))) return pages
  const replace = (items: readonly Build[]): readonly Build[] => items.map((one) => (one.id === build.id ? build : one))
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, items: replace(page.items) })) }
}

/** Builds that changed during a reading of a list, by the hash of its query. */
const changed = new Map<string, ReadonlyMap<string, Build>>()
/** Hashes of queries that are read again after their first reading. */
const repeated = new Set<string>()

/** Keeps the changes of builds for the lists that are being read. */
export function noteDuringReading(builds: ReadonlyMap<string, Build>): void {
  for (const { queryHash } of queryClient.getQueryCache().findAll({ queryKey: ['builds', 'list'], fetchStatus: 'fetching' }))
    changed.set(queryHash, new Map([...(changed.get(queryHash) ?? []), ...builds]))
}

/** Reads what is shown of these queries again. A first reading that is under way would otherwise go on with the state before the change. */
export function readAgain(filters: QueryFilters): void {
  for (const { queryHash, state } of queryClient.getQueryCache().findAll({ ...filters, fetchStatus: 'fetching' }))
    if (state.data === undefined) repeated.add(queryHash)
  void queryClient.invalidateQueries(filters)
}

/** Begins to write the changes into the answers of readings. Returns a function that ends this. */
export function watchReadings(): () => void {
  return queryClient.getQueryCache().subscribe((event) => {
    if (event.type === 'removed') forget(event.query.queryHash)
    if (event.type === 'updated') afterUpdate(event)
  })
}

function afterUpdate({ query, action }: Extract<QueryCacheNotifyEvent, { type: 'updated' }>): void {
  const { queryHash, queryKey } = query
  if (action.type === 'error') return forget(queryHash)
  if (action.type !== 'success' || action.manual === true) return
  const builds = changed.get(queryHash)
  const isRepeated = repeated.has(queryHash)
  forget(queryHash)
  if (builds !== undefined)
    queryClient.setQueryData<Pages>(queryKey, (pages) => pages && [...builds.values()].reduce(patchPages, pages))
  if (isRepeated) void queryClient.invalidateQueries({ queryKey, exact: true })
}

function forget(queryHash: string): void {
  changed.delete(queryHash)
  repeated.delete(queryHash)
}
