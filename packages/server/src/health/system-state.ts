/** The state of the server: replicas, versions, sizes, retention and load. */
import { defined } from '@windlass/kit'
import { AccountSettings, forecastFull, type SystemState } from '@windlass/protocol'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { fullestDisk } from '../builds/schedule/disk-space.ts'
import { readLoopLag } from '../metrics.ts'
import { listShownRuntimes } from '../runtimes/show-runtimes.ts'
import { LIVE_MS } from '../secrets/master-keys.ts'
import { listReplicas } from '../store/account/replicas.ts'
import { findOldest } from '../store/retention.ts'
import { isOnline, listAgents } from '../store/runtimes/agents.ts'
import { countQueuedTasks, oldestQueuedTask } from '../store/runtimes/tasks.ts'
import { listDiskSamples, readDatabase } from '../store/samples.ts'
import { VERSION } from '../version.ts'

export async function readSystemState(app: App): Promise<SystemState> {
  const { accountId, clock, retention, store } = app
  const { query } = store
  const startedAt = clock.monotonic()
  await store.ping()
  const pingMs = clock.monotonic() - startedAt
  const runtimes = await listShownRuntimes(app)
  const total = (of: 'running' | 'waiting'): number => runtimes.reduce((sum, runtime) => sum + runtime[of], 0)
  return {
    version: VERSION,
    store: { kind: store.name, ...(await readDatabase(store)), pingMs },
    replicas: await replicasOf(app),
    agents: await agentsOf(app),
    disk: await diskOf(app),
    retention: {
      buildDays: retention.buildDays,
      logDays: retention.logDays,
      taskDays: retention.taskDays,
      auditDays: retention.auditDays,
      ...defined(await findOldest(query, accountId)),
    },
    queue: {
      running: total('running'),
      waiting: total('waiting'),
      tasks: Number(await countQueuedTasks(query)),
      ...defined({ oldestTaskAt: await oldestQueuedTask(query) }),
    },
    settings: { current: await readAccountSettings(query, accountId), defaults: AccountSettings.parse({}) },
  }
}

/** Returns the servers of a shared database; otherwise only this one. */
async function replicasOf({ clock, metrics, store }: App): Promise<SystemState['replicas']> {
  const now = clock.now()
  if (!store.isShared) return [{ id: 'this', version: VERSION, seenAt: now, ...defined({ lagMs: await readLoopLag(metrics) }) }]
  return (await listReplicas(store.query, now - LIVE_MS)).map(({ id, seenAt, version, lagMs }) => ({
    id,
    seenAt,
    ...defined({ version, lagMs }),
  }))
}

async function agentsOf({ accountId, clock, store, timings }: App): Promise<SystemState['agents']> {
  const now = clock.now()
  const agents = await listAgents(store.query, accountId)
  const versions = agents.flatMap(({ version }) => version ?? [])
  return {
    total: agents.length,
    online: agents.filter((agent) => isOnline(agent, now, timings.agentLeaseMs)).length,
    versions: [...new Set(versions)].toSorted(),
  }
}

async function diskOf(app: App): Promise<SystemState['disk']> {
  const disk = await fullestDisk(app)
  // Servers may have different disks. Samples of another one have another size.
  const uses = (await listDiskSamples(app.store.query, app.accountId))
    .filter(({ total_bytes: bytes }) => bytes === disk.totalBytes)
    .map(({ at, used_bytes: usedBytes }) => ({ at, usedBytes }))
  const fullInMs = forecastFull(uses, disk.totalBytes * (1 - app.minFreeShare))
  return { ...disk, minFreeShare: app.minFreeShare, ...defined({ fullInMs }) }
}
