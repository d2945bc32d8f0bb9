/** What monitors report about clusters. For display only; builds do not depend on it. */
import { fault } from '@windlass/kit'
import {
  OBJECT_BATCH,
  type ClusterObject,
  type Monitor,
  type MonitorHello,
  type MonitorWelcome,
  type ObjectBatch,
  type ObjectChange,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/view.ts'
import { findAgentById } from '../store/runtimes/agents.ts'
import {
  countObjects,
  deleteMonitor,
  deleteObject,
  deleteOldObjects,
  listMonitors,
  lockMonitor,
  saveMonitor,
  saveObject,
} from '../store/runtimes/cluster-objects.ts'
import type { ClusterObjectRow, MonitorRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'

/** A monitor is offline after this time without a call; it says hello every minute when nothing changes. */
const OFFLINE_MS = 180_000

const Texts = z.array(z.string())
const Labels = z.record(z.string(), z.string())
const Summary = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))

/**
 * Registers a monitor. A new process starts a new generation; the same generation again renews the lease. Throws `conflict` while a monitor of
 * another agent reports the cluster.
 */
export async function registerMonitor(app: App, agentId: string, hello: MonitorHello): Promise<MonitorWelcome> {
  const now = app.clock.now()
  const key = { accountId: app.accountId, cluster: hello.cluster }
  await app.store.write(async (tx) => {
    const before = await lockMonitor(tx, key)
    const isTaken = before !== undefined && before.agent_id !== agentId && isOnline(before, now)
    // The monitor of a deleted agent does not report anymore.
    if (isTaken && (await findAgentById(tx.query, before.agent_id)) !== undefined)
      throw fault('conflict', { message: `A monitor of another agent already reports the cluster "${hello.cluster}".` })
    await saveMonitor(tx, {
      account_id: app.accountId,
      cluster: hello.cluster,
      agent_id: agentId,
      generation: hello.generation,
      version: hello.version,
      cluster_version: hello.clusterVersion ?? null,
      namespaces: hello.namespaces === undefined ? null : JSON.stringify(hello.namespaces),
      seq: before?.generation === hello.generation ? before.seq : 0,
      seen_at: now,
      created_at: before?.created_at ?? now,
    })
  })
  return { batch: OBJECT_BATCH }
}

/**
 * Applies a batch exactly once. Throws `agent-fenced` for a batch of an older generation. Throws `conflict` if a batch is missing; the monitor then
 * starts a new generation.
 */
export async function takeObjects(app: App, agentId: string, batch: ObjectBatch): Promise<{ seq: number }> {
  const now = app.clock.now()
  return app.store.write(async (tx) => {
    const monitor = await lockMonitor(tx, { accountId: app.accountId, cluster: batch.cluster })
    if (monitor === undefined)
      throw fault('not-found', { message: `No monitor is registered for the cluster "${batch.cluster}".` })
    if (monitor.agent_id !== agentId || monitor.generation !== batch.generation) throw fault('agent-fenced')
    if (batch.seq > monitor.seq + 1) throw fault('conflict', { message: `Batch ${monitor.seq + 1} is missing.` })
    if (batch.seq <= monitor.seq) return { seq: monitor.seq }
    for (const change of batch.changes) await applyChange(tx, monitor, { change, now })
    await saveMonitor(tx, { ...monitor, seq: batch.seq, seen_at: now })
    return { seq: batch.seq }
  })
}

async function applyChange(tx: Tx, monitor: MonitorRow, { change, now }: { change: ObjectChange; now: number }): Promise<void> {
  const { account_id, cluster, generation } = monitor
  if (change.change === 'synced') return deleteOldObjects(tx, { accountId: account_id, cluster, kind: change.kind, generation })
  const key = { account_id, cluster, kind: change.kind, namespace: change.namespace, name: change.name }
  if (change.change === 'gone') return deleteObject(tx, key)
  return saveObject(tx, {
    ...key,
    uid: change.uid,
    generation,
    labels: JSON.stringify(change.labels),
    summary: JSON.stringify(change.summary),
    created_at: change.createdAt ?? null,
    seen_at: now,
  })
}

function isOnline(monitor: MonitorRow, now: number): boolean {
  return monitor.seen_at > now - OFFLINE_MS
}

export async function listShownMonitors(app: App): Promise<Monitor[]> {
  const { query } = app.store
  const now = app.clock.now()
  const counts = await countObjects(query, app.accountId)
  return (await listMonitors(query, app.accountId)).map((row) => ({
    cluster: row.cluster,
    agentId: row.agent_id,
    version: row.version,
    status: isOnline(row, now) ? 'online' : 'offline',
    objects: counts.get(row.cluster) ?? 0,
    seenAt: row.seen_at,
    ...present({
      clusterVersion: row.cluster_version ?? undefined,
      namespaces: row.namespaces === null ? undefined : Texts.parse(JSON.parse(row.namespaces)),
    }),
  }))
}

/** Deletes a monitor and the objects that it reported. Throws `not-found`. */
export async function removeMonitor(app: App, cluster: string): Promise<void> {
  const isGone = await app.store.write((tx) => deleteMonitor(tx, { accountId: app.accountId, cluster }))
  if (!isGone) throw fault('not-found', { message: `No monitor is registered for the cluster "${cluster}".` })
}

export function toClusterObject(row: ClusterObjectRow): ClusterObject {
  return {
    kind: row.kind,
    namespace: row.namespace,
    name: row.name,
    uid: row.uid,
    labels: Labels.parse(JSON.parse(row.labels)),
    summary: Summary.parse(JSON.parse(row.summary)),
    seenAt: row.seen_at,
    ...present({ createdAt: row.created_at ?? undefined }),
  }
}
