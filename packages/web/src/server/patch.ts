/** Writes the changes of the stream into the cache, so that lists and builds change in place. */
import type { Build, StreamEvent } from '@windlass/protocol'
import { patchBuild } from './patch-build.ts'
import { queryClient } from './query-client.ts'
import { noteDuringReading, patchPages, readAgain, watchReadings, type Pages } from './readings.ts'
import { observeStream } from './stream.ts'

const READ_MS = 500
/** Builds that were read a moment ago; true for those that have changed since. */
const justRead = new Map<string, boolean>()

/** Reads the steps of a build again, which the list form lacks: at once, and at most twice a second while it changes. */
function readBuild(id: string): void {
  if (justRead.has(id)) {
    justRead.set(id, true)
    return
  }
  readAgain({ queryKey: ['build', id], exact: true })
  justRead.set(id, false)
  setTimeout(() => {
    const hasChanged = justRead.get(id) === true
    justRead.delete(id)
    if (hasChanged) readBuild(id)
  }, READ_MS)
}

/** The status of each build whose parts were read again last. The cached build may have been read anew before its change arrives. */
const statuses = new Map<string, Build['status']>()

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
  noteDuringReading(builds)
  for (const build of builds.values()) {
    queryClient.setQueriesData<Pages>({ queryKey: ['builds', 'list'] }, (pages) => pages && patchPages(pages, build))
    const before = queryClient.getQueryData<Build>(['build', build.id])
    if (before !== undefined) queryClient.setQueryData<Build>(['build', build.id], patchBuild(before, build))
    readBuild(build.id)
    // The plan of a build that waited for its document is there once it starts.
    const isOther = before !== undefined && statuses.get(build.id) !== build.status
    if (isOther) statuses.set(build.id, build.status)
    for (const part of isOther ? ['related', 'usage', 'plan'] : []) readAgain({ queryKey: ['build', build.id, part] })
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
  readAgain({ queryKey: ['builds', 'counts'] })
  readAgain({ queryKey: ['builds', 'queue'] })
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
      for (const one of keys) readAgain({ queryKey: [one] })
    }, NOUNS_MS)
  dueNouns.add(key)
}

const NOUN_KEYS = {
  approval: 'approvals',
  runtime: 'runtimes',
  agent: 'agents',
  delivery: 'deliveries',
  'gitlab-job': 'gitlab-jobs',
  applications: 'applications',
} as const

function apply({ event, data }: StreamEvent): void {
  if (event === 'reset') readAgain({})
  if (event !== 'changed') return
  const { change } = data
  if (change.noun === 'build') schedule(change.item)
  else if (change.noun === 'gone') scheduleNoun(change.of === 'build' ? 'builds' : NOUN_KEYS[change.of])
  else scheduleNoun(NOUN_KEYS[change.noun])
  // The build shows its approvals, and its list form does not change with each of them.
  if (change.noun === 'approval') readBuild(change.item.build.id)
}

/** Begins to patch the cache. Called once by the page. */
export function startPatching(): () => void {
  const unwatch = watchReadings()
  const unobserve = observeStream(apply)
  return () => {
    unwatch()
    unobserve()
  }
}
