/** Forgets what is old: logs first, then builds, tasks and answers kept for repeated calls. */
import { attempt, ticks } from '@windlass/kit'
import type { App } from './app.ts'
import { deleteOldBuilds, deleteOldLogs, deleteOldReplies, deleteOldTasks, unreferenced } from './store/retention.ts'

const EVERY_MS = 600_000
const DAY_MS = 86_400_000
/** Objects younger than this may belong to rows that are being written. */
const ORPHAN_AGE_MS = 3_600_000
const BATCH = 200

/** Every ten minutes, one batch at a time, until the server closes. */
export async function retainLoop(app: App): Promise<void> {
  for await (const n of ticks(EVERY_MS, { clock: app.clock, signal: app.closing, jitter: 0.2 })) {
    if (n > 0) await attempt(app.log, 'retention', () => retain(app))
  }
}

/** One round; stops early when the server closes. */
export async function retain(app: App): Promise<void> {
  const { store, retention, closing } = app
  const now = app.clock.now()
  const before = {
    builds: now - retention.buildDays * DAY_MS,
    logs: now - retention.logDays * DAY_MS,
    tasks: now - retention.taskDays * DAY_MS,
  }
  while (!closing.aborted) {
    const objects = await store.write((tx) => deleteOldLogs(tx, { before: before.logs, limit: BATCH }))
    if (objects.length === 0) break
    await deleteUnreferenced(app, objects)
  }
  while (!closing.aborted) {
    const { builds, objects } = await store.write((tx) => deleteOldBuilds(tx, { before: before.builds, limit: BATCH }))
    if (builds === 0) break
    await deleteUnreferenced(app, objects)
  }
  await store.write((tx) => deleteOldTasks(tx, before.tasks))
  await store.write((tx) => deleteOldReplies(tx, now - retention.idempotencyHours * 3_600_000))
  await deleteOrphans(app, now)
}

/** An object may hold frames of several builds: it goes with the last of them. */
async function deleteUnreferenced(app: App, objects: readonly string[]): Promise<void> {
  for (const object of await unreferenced(app.store.query, objects)) await app.logs.objects.delete(object)
}

/** Objects whose rows were never written, because the process ended between the two. */
async function deleteOrphans(app: App, now: number): Promise<void> {
  let old: string[] = []
  const flush = async (): Promise<void> => {
    await deleteUnreferenced(app, old)
    old = []
  }
  for await (const { key, modifiedAt } of app.logs.objects.list('')) {
    if (app.closing.aborted) return
    if (now - modifiedAt > ORPHAN_AGE_MS) old.push(key)
    if (old.length >= BATCH) await flush()
  }
  await flush()
}
