/** Tasks for agents of protocol v1, which get one object per task. */
import type { ObjectTaskRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertObjectTasks(tx: Tx, rows: readonly ObjectTaskRow[]): Promise<void> {
  if (rows.length > 0)
    await tx.query
      .insertInto('object_task')
      .values([...rows])
      .execute()
}

export async function listObjectTasks(query: Query, taskId: string): Promise<ObjectTaskRow[]> {
  return query.selectFrom('object_task').selectAll().where('task_id', '=', taskId).orderBy('position').execute()
}

export async function findObjectTask(query: Query, id: string): Promise<ObjectTaskRow | undefined> {
  return query.selectFrom('object_task').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function lockObjectTask(tx: Tx, id: string): Promise<ObjectTaskRow | undefined> {
  return tx.query.selectFrom('object_task').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function updateObjectTask(tx: Tx, id: string, changes: Partial<ObjectTaskRow>): Promise<void> {
  await tx.query.updateTable('object_task').set(changes).where('id', '=', id).execute()
}

export interface HandOut {
  readonly agentId: string
  readonly room: number
  readonly now: number
  readonly leaseMs: number
}

/** Leases the oldest object tasks of unfinished tasks that are queued, or that were handed out without a report in time. No two callers get the same one. */
export async function handOutObjectTasks(tx: Tx, { agentId, room, now, leaseMs }: HandOut): Promise<ObjectTaskRow[]> {
  const due = await tx.query
    .selectFrom('object_task')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('status', 'in', ['queued', 'handed'])
    .where((expression) => expression(expression.fn.coalesce('leased_until', 'available_at'), '<=', now))
    .where('task_id', 'in', (of) =>
      of.selectFrom('task').select('task.id').where('task.agent_id', '=', agentId).where('task.status', '=', 'leased'),
    )
    .orderBy('created_at')
    .orderBy('position')
    .limit(room)
    .$call(tx.skipLocked)
    .execute()
  if (due.length === 0) return []
  const ids = due.map(({ id }) => id)
  await tx.query
    .updateTable('object_task')
    .set((expression) => ({ status: 'handed', leased_until: now + leaseMs, handed: expression('handed', '+', 1) }))
    .where('id', 'in', ids)
    .execute()
  return due
}

/** Returns when the next object task of an agent is due; undefined if none is open. */
export async function nextObjectTaskAt(query: Query, agentId: string): Promise<number | undefined> {
  const row = await query
    .selectFrom('object_task')
    .innerJoin('task', 'task.id', 'object_task.task_id')
    .select((of) => [of.fn.min(of.fn.coalesce('object_task.leased_until', 'object_task.available_at')).as('at')])
    .where('object_task.agent_id', '=', agentId)
    .where('object_task.status', 'in', ['queued', 'handed'])
    .where('task.status', '=', 'leased')
    .executeTakeFirst()
  return row?.at ?? undefined
}

/** Finds a deletion of an object by a stop task that is not done. The deletion itself may be pending or done. */
export async function findOpenDeletion(
  query: Query,
  of: Pick<ObjectTaskRow, 'build_id' | 'name' | 'namespace'>,
): Promise<ObjectTaskRow | undefined> {
  return query
    .selectFrom('object_task')
    .innerJoin('task', 'task.id', 'object_task.task_id')
    .selectAll('object_task')
    .where('object_task.build_id', '=', of.build_id)
    .where('object_task.namespace', '=', of.namespace)
    .where('object_task.name', '=', of.name)
    .where('object_task.kind', 'in', ['DeletePod', 'DeletePvc'])
    .where('task.status', 'in', ['queued', 'leased'])
    .executeTakeFirst()
}
