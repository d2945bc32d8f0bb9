/** What the page reads from the server: the key and the call of each query. Keys are `[noun, id, part, parameters]`. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { LogStreams } from '@windlass/protocol'
import { toBuildQuery, type BuildFilter } from '../url/build-filter.ts'
import { client } from './client.ts'
import { keepOwn } from './own-storage.ts'

/** Builds on one page of the list. */
const PAGE_SIZE = 50
/** Interval at which sentences about health are read again. */
export const HEALTH_MS = 15_000

/** The values by which the list of builds shows counts. */
export type CountedBy = 'status' | 'project' | 'pipeline' | 'branch' | 'initiator' | 'runtime' | 'trigger' | 'reason'

/** Reads all streams of a log; large builds have several pages of them. */
async function readLogStreams(id: string, signal: AbortSignal): Promise<LogStreams> {
  const query = { limit: 2_000 }
  const first = await client.builds.logStreams(id, { signal, query })
  const items = [...first.items]
  for (let { next } = first; next !== undefined;) {
    const page = await client.builds.logStreams(id, { signal, query: { ...query, cursor: next } })
    items.push(...page.items)
    next = page.next
  }
  return { ...first, items }
}

export const queries = {
  status: () => queryOptions({ queryKey: ['status'], queryFn: ({ signal }) => client.server.status({ signal }) }),
  /** The session of this browser. Fails with `unauthenticated` without one. */
  session: () =>
    queryOptions({
      queryKey: ['session'],
      queryFn: async ({ signal }) => {
        const session = await client.sessions.current({ signal })
        keepOwn(session)
        return session
      },
      staleTime: 5 * 60_000,
    }),
  settings: () => queryOptions({ queryKey: ['settings'], queryFn: ({ signal }) => client.settings.get({ signal }) }),
  builds: (filter: BuildFilter) =>
    infiniteQueryOptions({
      queryKey: ['builds', 'list', filter],
      queryFn: ({ signal, pageParam }) =>
        client.builds.list({ signal, query: { ...toBuildQuery(filter), limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
      placeholderData: keepPreviousData,
    }),
  counts: (by: CountedBy, filter: BuildFilter) =>
    queryOptions({
      queryKey: ['builds', 'counts', by, filter],
      queryFn: ({ signal }) => client.builds.counts({ signal, query: { ...toBuildQuery(filter), by } }),
      placeholderData: keepPreviousData,
    }),
  queue: () => queryOptions({ queryKey: ['builds', 'queue'], queryFn: ({ signal }) => client.builds.queue({ signal }) }),
  build: (id: string) => queryOptions({ queryKey: ['build', id], queryFn: ({ signal }) => client.builds.get(id, { signal }) }),
  buildByNumber: (number: number) =>
    queryOptions({
      queryKey: ['builds', 'number', number],
      queryFn: ({ signal }) => client.builds.list({ signal, query: { number, limit: 1 } }),
    }),
  buildPlan: (id: string) =>
    queryOptions({
      queryKey: ['build', id, 'plan'],
      queryFn: ({ signal }) => client.builds.plan(id, { signal }),
      staleTime: 60_000,
    }),
  related: (id: string) =>
    queryOptions({ queryKey: ['build', id, 'related'], queryFn: ({ signal }) => client.builds.related(id, { signal }) }),
  logStreams: (id: string) =>
    queryOptions({
      queryKey: ['build', id, 'streams'],
      queryFn: ({ signal }) => readLogStreams(id, signal),
    }),
  /** Lines of a stream; with a negative `from`, the last ones. */
  linesFrom: (id: string, stream: string, { from, count }: { readonly from: number; readonly count: number }) =>
    queryOptions({
      queryKey: ['build', id, 'lines', { stream, from, count }],
      queryFn: ({ signal }) => client.builds.logLines(id, { signal, query: { stream, from, count } }),
    }),
  /** The problems of a stream, as far as the server has read it. */
  logMarks: (id: string, stream: string) =>
    queryOptions({
      queryKey: ['build', id, 'marks', { stream }],
      queryFn: ({ signal }) => client.builds.logMarks(id, { signal, query: { stream } }),
      retry: false,
    }),
  /** Lines of a stream that the last successful build of the branch lacks. Fails with `not-found` without one. */
  newLines: (id: string, { stream, attempt }: { readonly stream: string; readonly attempt: number }) =>
    queryOptions({
      queryKey: ['build', id, 'new', { stream, attempt }],
      queryFn: ({ signal }) => client.builds.newLogLines(id, { signal, query: { stream, attempt } }),
      retry: false,
    }),
  /** The events of a build, without its log. */
  events: (id: string) =>
    infiniteQueryOptions({
      queryKey: ['build', id, 'events'],
      queryFn: ({ signal, pageParam }) =>
        client.builds.feed(id, { signal, query: { after: pageParam, limit: 500, logs: false } }),
      initialPageParam: 0,
      getNextPageParam: ({ items, next }) => (items.length === 0 ? undefined : next),
    }),
  buildImages: (id: string) =>
    queryOptions({
      queryKey: ['build', id, 'images'],
      queryFn: ({ signal }) => client.images.list({ signal, query: { build: id } }),
    }),
  openApprovals: () =>
    queryOptions({ queryKey: ['approvals', 'open'], queryFn: ({ signal }) => client.builds.approvals({ signal }) }),
  pipelines: () =>
    queryOptions({ queryKey: ['pipelines'], queryFn: ({ signal }) => client.pipelines.list({ signal }), staleTime: 60_000 }),
  /** All pipelines, a page at a time. */
  pipelineList: () =>
    infiniteQueryOptions({
      queryKey: ['pipelines', 'list'],
      queryFn: ({ signal, pageParam }) => client.pipelines.list({ signal, query: { limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
    }),
  pipeline: (name: string) =>
    queryOptions({ queryKey: ['pipeline', name], queryFn: ({ signal }) => client.pipelines.get(name, { signal }) }),
  /** Branches that builds of a pipeline or events for it had, the latest first. */
  branches: (pipeline: string) =>
    queryOptions({
      queryKey: ['branches', pipeline],
      queryFn: ({ signal }) => client.pipelines.branches(pipeline, { signal, query: {} }),
    }),
  approvals: (state: 'open' | 'decided') =>
    infiniteQueryOptions({
      queryKey: ['approvals', 'list', state],
      queryFn: ({ signal, pageParam }) =>
        client.builds.approvals({ signal, query: { state, limit: PAGE_SIZE, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next,
    }),
  /** The health of the server and of all runtimes. Its sentences contain durations, so it is read again. */
  health: () =>
    queryOptions({
      queryKey: ['runtimes', 'health'],
      queryFn: ({ signal }) => client.health.server({ signal }),
      refetchInterval: HEALTH_MS,
    }),
  runtimes: () => queryOptions({ queryKey: ['runtimes', 'list'], queryFn: ({ signal }) => client.runtimes.list({ signal }) }),
  agents: () => queryOptions({ queryKey: ['agents', 'list'], queryFn: ({ signal }) => client.agents.list({ signal }) }),
  search: (q: string) =>
    queryOptions({
      queryKey: ['search', q],
      queryFn: ({ signal }) => client.builds.search({ signal, query: { q, limit: 12 } }),
      enabled: q.trim() !== '',
      placeholderData: keepPreviousData,
    }),
}
