/** Writes the changes of the stream into the cache, so that lists and builds change in place. */
import type { InfiniteData, Query } from '@tanstack/react-query'
import type { Build, StreamEvent } from '@windlass/protocol'
import { patchBuild } from './patch-build.ts'
import { queryClient } from './query-client.ts'
import { observeStream } from './stream.ts'

/** A page of a list. */
interface Page {
  readonly items: readonly Build[]
  readonly next?: string | undefined
}
type Pages = InfiniteData<Page, string | undefined>

/** Returns the list with the build in the place of its earlier state; the same list if it does not contain it. */
function patchPages(pages: Pages, build: Build): Pages {
  if (!pages.pages.some(({ items }) => items.some(({ id }) => id === build.id))) return pages
  const replace = (items: readonly Build[]): readonly Build[] => items.map((one) => (one.id === build.id ? build : one))
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, items: replace(page.items) })) }
}

const LISTS = ['builds', 'list'] as const

/** Changes that arrived while a list was read, by the hash of its key. Its answer may be older than they are. */
const overtaken = new Map<string, Map<string, Build>>()

function patchLists(build: Build): void {
  queryClient.setQueriesData<Pages>({ queryKey: LISTS }, (pages) => pages && patchPages(pages, build))
  for (const { queryHash } of queryClient.getQueryCache().findAll({ queryKey: LISTS, fetchStatus: 'fetching' }))
    overtaken.set(queryHash, (overtaken.get(queryHash) ?? new Map<string, Build>()).set(build.id, build))
}

/** Writes the changes that arrived while a list was read into its answer. */
function patchAnswer({ queryHash, queryKey }: Query): void {
  const builds = overtaken.get(queryHash)
  overtaken.delete(queryHash)
  for (const build of builds?.values() ?? [])
    queryClient.setQueryData<Pages>(queryKey, (pages) => pages && patchPages(pages, build))
}

const READ_MS = 500
/** Builds that were read a moment ago; true for those that have changed since. */
const justRead = new Map<string, boolean>()

/** Reads the steps of a build again, which the list form lacks: at once, and at most twice a second while it changes. */
function readBuild(id: string): void {
  if (justRead.has(id)) {
    justRead.set(id, true)
    return
  }
  void queryClient.invalidateQueries({ queryKey: ['build', id], exact: true })
  justRead.set(id, false)
  setTimeout(() => {
    const hasChanged = justRead.get(id) === true
    justRead.delete(id)
    if (hasChanged) readBuild(id)
  }, READ_MS)
}

const FLUSH_MS = 100
let waiting: Build[] = []
let isDue = false

/** Collects changes, so that the cache changes at most ten times a second. */
function schedule(build: Build): void {
  waiting.push(build)
  if (isDue) return
  isDue = true
  setTimeout(flush, FLUSH_MS)
}

function flush(): void {
  isDue = false
  const builds = new Map(waiting.map((build) => [build.id, build]))
  waiting = []
  for (const build of builds.values()) {
    patchLists(build)
    const before = queryClient.getQueryData<Build>(['build', build.id])
    if (before === undefined) continue
    queryClient.setQueryData<Build>(['build', build.id], patchBuild(before, build))
    readBuild(build.id)
    // The plan of a build that waited for its document is there once it starts.
    for (const part of before.status === build.status ? [] : ['related', 'plan'])
      void queryClient.invalidateQueries({ queryKey: ['build', build.id, part] })
  }
  refreshSums()
}

/** How often counts and the queue are read again while builds change, and for how long the server answers from one reading. Milliseconds. */
const SUMS_MS = 1_000
let sumsTimer: ReturnType<typeof setTimeout> | undefined
let lastSumsTimer: ReturnType<typeof setTimeout> | undefined
let sumsAt = -Infinity

function readSums(): void {
  sumsAt = performance.now()
  void queryClient.invalidateQueries({ queryKey: ['builds', 'counts'] })
  void queryClient.invalidateQueries({ queryKey: ['builds', 'queue'] })
}

/** Reads counts and the queue again: soon after the first change, once a second while changes arrive, and once the server has read the last one. */
function refreshSums(): void {
  sumsTimer ??= setTimeout(
    () => {
      sumsTimer = undefined
      readSums()
    },
    Math.max(0, sumsAt + SUMS_MS - performance.now()),
  )
  clearTimeout(lastSumsTimer)
  lastSumsTimer = setTimeout(readSums, SUMS_MS + FLUSH_MS)
}

const NOUNS_MS = 500
const dueNouns = new Set<string>()

/** Reads the lists of a noun again, at most twice a second, because every start and end of a build changes its runtime. */
function scheduleNoun(key: string): void {
  if (dueNouns.size === 0)
    setTimeout(() => {
      const keys = [...dueNouns]
      dueNouns.clear()
      for (const one of keys) void queryClient.invalidateQueries({ queryKey: [one] })
    }, NOUNS_MS)
  dueNouns.add(key)
}

const NOUN_KEYS = { approval: 'approvals', runtime: 'runtimes', agent: 'agents', delivery: 'deliveries' } as const

function apply({ event, data }: StreamEvent): void {
  if (event === 'reset') void queryClient.invalidateQueries()
  if (event !== 'changed') return
  const { change } = data
  if (change.noun === 'build') schedule(change.item)
  else if (change.noun === 'gone') scheduleNoun(change.of === 'build' ? 'builds' : NOUN_KEYS[change.of])
  else scheduleNoun(NOUN_KEYS[change.noun])
  // The build shows its approvals, and its list form does not change with each of them.
  if (change.noun === 'approval') readBuild(change.item.build.id)
}

/** Begins to patch the cache. Called once by the page. */
export function startPatching(): void {
  observeStream(apply)
  queryClient.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return
    const { query, action } = event
    if (action.type === 'fetch') overtaken.delete(query.queryHash)
    else if (action.type === 'success' && action.manual !== true) patchAnswer(query)
  })
}
