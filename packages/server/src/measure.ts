/** The content of `/metrics`. */
import type { App } from './app.ts'
import { freeShare } from './builds/schedule/disk-space.ts'
import { listAgents } from './store/runtimes/agents.ts'
import { countBuilds, LIVE_BUILD_STATUSES } from './store/builds/builds.ts'
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
  return app.metrics.registry.metrics()
}

/** Reads the gauges from the store. */
async function measureStore(app: App): Promise<void> {
  const { metrics, store } = app
  const now = app.clock.now()
  metrics.tasksQueued.set(await countQueuedTasks(store.query))
  const counts = new Map((await countBuilds(store.query, app.accountId)).map(({ status, count }) => [status, count]))
  for (const status of LIVE_BUILD_STATUSES) metrics.buildsByStatus.set({ status }, counts.get(status) ?? 0)
  metrics.agentSilence.reset()
  for (const { name, last_seen_at: seenAt } of await listAgents(store.query, app.accountId)) {
    if (seenAt !== null) metrics.agentSilence.set({ agent: name }, (now - seenAt) / 1000)
  }
  metrics.logStorageFails.set(app.logs.failingSince() === undefined ? 0 : 1)
  const { bytes, files } = await freeShare(app)
  metrics.freeDiskShare.set(bytes)
  metrics.freeFileShare.set(files)
}
