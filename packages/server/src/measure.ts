/** The content of `/metrics`. */
import type { App } from './app.ts'
import { freeShare } from './builds/schedule/disk-space.ts'
import { listAgents } from './store/runtimes/agents.ts'
import { waitOf } from './builds/lifecycle/waits.ts'
import { LIVE_BUILD_STATUSES } from './store/builds/builds.ts'
import { countByReason, countLiveByRuntime } from './store/builds/waits.ts'
import { countMessages } from './store/messages.ts'
import { countOpenDeliveries } from './store/triggers/deliveries.ts'
import { VERSION } from './version.ts'
import { countQueuedTasks } from './store/runtimes/tasks.ts'

/** Scrapes within this time get the same page, because some metrics query the database. Milliseconds. */
const FRESH_MS = 1000

/** Returns a function that renders the metrics as Prometheus text. Queries the database at most once a second, regardless of the number of callers. */
export function metricsPage(app: App): () => Promise<string> {
  let page: { readonly at: number; readonly text: Promise<string> } | undefined
  return () => {
    const now = app.clock.monotonic()
    if (page !== undefined && now - page.at < FRESH_MS) return page.text
    const text = readPage(app)
    const fresh = { at: now, text }
    page = fresh
    text.catch(() => {
      if (page === fresh) page = undefined
    })
    return text
  }
}

async function readPage(app: App): Promise<string> {
  await measureStore(app)
  const { registry, more } = app.metrics
  return (await registry.metrics()) + more.map((write) => write()).join('')
}

/** Reads the gauges from the store. */
async function measureStore(app: App): Promise<void> {
  const { metrics } = app
  await Promise.all([measureBuilds(app), measureAgents(app), measureQueues(app)])
  metrics.info.set({ version: VERSION, database: app.store.name }, 1)
  metrics.logStorageFails.set(app.logs.failingSince() === undefined ? 0 : 1)
  const { bytes, files } = await freeShare(app)
  metrics.freeDiskShare.set(bytes)
  metrics.freeFileShare.set(files)
}

async function measureBuilds({ metrics, store, accountId }: App): Promise<void> {
  const byStatus = new Map(LIVE_BUILD_STATUSES.map((status) => [status, 0]))
  const byReason = new Map<string, number>()
  for (const { status, reason, count } of await countByReason(store.query, accountId)) {
    byStatus.set(status, (byStatus.get(status) ?? 0) + count)
    const wait = waitOf({ status, reason })
    if (wait !== undefined) byReason.set(wait, (byReason.get(wait) ?? 0) + count)
  }
  for (const [status, count] of byStatus) metrics.buildsByStatus.set({ status }, count)
  metrics.buildsWaiting.reset()
  for (const [reason, count] of byReason) metrics.buildsWaiting.set({ reason }, count)
  metrics.attemptsLive.reset()
  for (const { runtime, count } of await countLiveByRuntime(store.query)) metrics.attemptsLive.set({ runtime }, count)
}

async function measureAgents({ metrics, store, accountId, clock, timings }: App): Promise<void> {
  const now = clock.now()
  metrics.agentSilence.reset()
  metrics.agentOnline.reset()
  for (const { name, last_seen_at: seenAt } of await listAgents(store.query, accountId)) {
    metrics.agentOnline.set({ agent: name }, seenAt !== null && now - seenAt <= timings.agentLeaseMs ? 1 : 0)
    if (seenAt !== null) metrics.agentSilence.set({ agent: name }, (now - seenAt) / 1000)
  }
}

/** Measures what waits to be processed or sent. */
async function measureQueues({ metrics, store, accountId }: App): Promise<void> {
  metrics.tasksQueued.set(await countQueuedTasks(store.query))
  metrics.deliveriesWaiting.set(await countOpenDeliveries(store.query, accountId))
  const messages = await countMessages(store.query)
  for (const state of ['waiting', 'failed'] as const) metrics.messages.set({ state }, messages[state])
}
