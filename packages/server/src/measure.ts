import type { App } from './app.ts'
import { freeShare } from './builds/disk-space.ts'
import { listAgents } from './store/agents.ts'
import { countBuilds, LIVE_BUILD_STATUSES } from './store/builds.ts'
import { countQueuedTasks } from './store/tasks.ts'

/** Reads the gauges from the store. */
export async function measureStore(app: App): Promise<void> {
  const { metrics, store } = app
  const now = app.clock.now()
  metrics.tasksQueued.set(await countQueuedTasks(store.query))
  const counts = new Map((await countBuilds(store.query, app.accountId)).map(({ status, count }) => [status, count]))
  for (const status of LIVE_BUILD_STATUSES) metrics.buildsByStatus.set({ status }, counts.get(status) ?? 0)
  metrics.agentSilence.reset()
  for (const { name, last_seen_at: seenAt } of await listAgents(store.query, app.accountId)) {
    if (seenAt !== null) metrics.agentSilence.set({ agent: name }, (now - seenAt) / 1000)
  }
  metrics.freeDiskShare.set(await freeShare(app))
}
