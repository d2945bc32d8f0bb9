import { FINAL_BUILD_STATUSES } from '@windlass/plan'
import { insertDeadObjects } from './builds/log-objects.ts'
import type { Query, Tx } from './store.ts'

interface Old {
  /** Selects builds that ended before this time. */
  readonly before: number
  readonly limit: number
  readonly now: number
}

/** Deletes the log rows of old builds and marks their logs as expired. Returns the number of builds. */
export async function deleteOldLogs(tx: Tx, { before, limit, now }: Old): Promise<number> {
  const builds = await tx.query
    .selectFrom('build')
    .select('id')
    .where('finished_at', '<', before)
    .where('logs_expired_at', 'is', null)
    .where((where) =>
      where.exists(where.selectFrom('chunk').select('chunk.position').whereRef('chunk.build_id', '=', 'build.id')),
    )
    .limit(limit)
    .execute()
  const ids = builds.map(({ id }) => id)
  if (ids.length > 0) await tx.query.updateTable('build').set({ logs_expired_at: now }).where('id', 'in', ids).execute()
  await deleteLogs(tx, ids, now)
  return ids.length
}

/** Deletes log rows. An object may hold frames of several builds, so it is deleted after the last of them. */
async function deleteLogs(tx: Tx, builds: readonly string[], now: number): Promise<void> {
  if (builds.length === 0) return
  const chunks = await tx.query.deleteFrom('chunk').where('build_id', 'in', builds).returning('object').execute()
  await tx.query.deleteFrom('stream').where('build_id', 'in', builds).execute()
  await tx.query.deleteFrom('stream_marks').where('build_id', 'in', builds).execute()
  await insertDeadObjects(tx, [...new Set(chunks.map(({ object }) => object))], now)
}

/** Deletes old builds with all their data. Keeps builds that may still have objects in a cluster. */
export async function deleteOldBuilds(tx: Tx, { before, limit, now }: Old): Promise<number> {
  const old = await tx.query
    .selectFrom('build')
    .select('id')
    .where('finished_at', '<', before)
    .where('status', 'in', [...FINAL_BUILD_STATUSES])
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('attempt')
            .select('attempt.number')
            .whereRef('attempt.build_id', '=', 'build.id')
            .where('attempt.gone', '=', 0),
        ),
      ),
    )
    .limit(limit)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length === 0) return 0
  await deleteLogs(tx, ids, now)
  for (const table of [
    'event',
    'command',
    'task',
    'object_task',
    'attempt',
    'approval',
    'image',
    'build_plan',
    'terminal',
    'terminal_part',
  ] as const)
    await tx.query.deleteFrom(table).where('build_id', 'in', ids).execute()
  await tx.query.deleteFrom('annotation').where('entity', '=', 'build').where('entity_id', 'in', ids).execute()
  await tx.query.deleteFrom('build').where('id', 'in', ids).execute()
  return ids.length
}

export async function deleteOldTasks(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('object_task')
    .where('task_id', 'in', (of) => of.selectFrom('task').select('task.id').where('task.done_at', '<', before))
    .execute()
  await tx.query.deleteFrom('task').where('done_at', '<', before).execute()
}

/** Deletes pairs that a build used, once all objects of its attempt are gone. */
export async function deleteTakenPairs(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('warm_pair')
    .where('status', '=', 'taken')
    .where('created_at', '<', before)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('attempt')
            .select('attempt.number')
            .whereRef('attempt.build_id', '=', 'warm_pair.build_id')
            .whereRef('attempt.number', '=', 'warm_pair.attempt')
            .where('attempt.gone', '=', 0),
        ),
      ),
    )
    .execute()
}

export async function deleteOldReplies(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('reply').where('created_at', '<', before).execute()
}

/** A statement can have 32,766 parameters on SQLite and 65,535 on PostgreSQL. */
const OBJECTS_PER_STATEMENT = 1_000

/** Returns the objects that no row refers to. */
export async function listUnreferencedObjects(query: Query, objects: readonly string[]): Promise<string[]> {
  const kept = new Set<string>()
  for (let from = 0; from < objects.length; from += OBJECTS_PER_STATEMENT) {
    const some = objects.slice(from, from + OBJECTS_PER_STATEMENT)
    const used = await query.selectFrom('chunk').select('object').where('object', 'in', some).distinct().execute()
    for (const { object } of used) kept.add(object)
  }
  return objects.filter((object) => !kept.has(object))
}
