import { FINAL_BUILD_STATUSES } from '@windlass/plan'
import type { Query, Tx } from './store.ts'

interface Old {
  /** Ended before this time. */
  readonly before: number
  readonly limit: number
}

/** Deletes the log rows of old builds; answers the objects they referred to. */
export async function deleteOldLogs(tx: Tx, { before, limit }: Old): Promise<string[]> {
  const builds = await tx.query
    .selectFrom('build')
    .select('id')
    .where('finished_at', '<', before)
    .where((where) =>
      where.exists(where.selectFrom('chunk').select('chunk.position').whereRef('chunk.build_id', '=', 'build.id')),
    )
    .limit(limit)
    .execute()
  return deleteLogs(
    tx,
    builds.map(({ id }) => id),
  )
}

async function deleteLogs(tx: Tx, builds: readonly string[]): Promise<string[]> {
  if (builds.length === 0) return []
  const chunks = await tx.query.deleteFrom('chunk').where('build_id', 'in', builds).returning('object').execute()
  await tx.query.deleteFrom('stream').where('build_id', 'in', builds).execute()
  return [...new Set(chunks.map(({ object }) => object))]
}

/** Deletes old builds with all that belongs to them. One of which something may still exist in a cluster stays. */
export async function deleteOldBuilds(tx: Tx, { before, limit }: Old): Promise<{ builds: number; objects: string[] }> {
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
  if (ids.length === 0) return { builds: 0, objects: [] }
  const objects = await deleteLogs(tx, ids)
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
  return { builds: ids.length, objects }
}

export async function deleteOldTasks(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('object_task')
    .where('task_id', 'in', (of) => of.selectFrom('task').select('task.id').where('task.done_at', '<', before))
    .execute()
  await tx.query.deleteFrom('task').where('done_at', '<', before).execute()
}

export async function deleteOldReplies(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('reply').where('created_at', '<', before).execute()
}

/** Those of the objects that no row refers to. */
export async function unreferenced(query: Query, objects: readonly string[]): Promise<string[]> {
  if (objects.length === 0) return []
  const used = await query
    .selectFrom('chunk')
    .select('object')
    .where('object', 'in', [...objects])
    .distinct()
    .execute()
  const kept = new Set(used.map(({ object }) => object))
  return objects.filter((object) => !kept.has(object))
}
