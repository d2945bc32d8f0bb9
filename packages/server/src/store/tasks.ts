import type { TaskRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

export async function insertTask(tx: Tx, task: TaskRow): Promise<void> {
  await tx.query.insertInto('task').values(task).execute()
  tx.wake(taskTopic(task.agent_id))
}

/** What an agent that waits for tasks watches. */
export function taskTopic(agentId: string): string {
  return `tasks:${agentId}`
}

export interface Claim {
  readonly agentId: string
  readonly room: number
  readonly now: number
  readonly leaseMs: number
}

/** Leases the oldest tasks that wait, or whose lease ran out, with a higher revision. Two callers never get the same task. */
export async function claimTasks(tx: Tx, claim: Claim): Promise<TaskRow[]> {
  const free = await tx.query
    .selectFrom('task')
    .selectAll()
    .where('agent_id', '=', claim.agentId)
    .where('available_at', '<=', claim.now)
    .where((expression) =>
      expression.or([
        expression('status', '=', 'queued'),
        expression.and([expression('status', '=', 'leased'), expression('leased_until', '<=', claim.now)]),
      ]),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(claim.room)
    .$call(tx.skipLocked)
    .execute()
  if (free.length === 0) return []
  const leased = { status: 'leased', leased_until: claim.now + claim.leaseMs, claimed_at: claim.now } as const
  await tx.query
    .updateTable('task')
    .set((expression) => ({ ...leased, revision: expression('revision', '+', 1) }))
    .where(
      'id',
      'in',
      free.map(({ id }) => id),
    )
    .execute()
  return free.map((task) => ({ ...task, ...leased, revision: task.revision + 1 }))
}

export async function lockTask(tx: Tx, id: string): Promise<TaskRow | undefined> {
  return tx.query.selectFrom('task').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function updateTask(tx: Tx, id: string, changes: Partial<TaskRow>): Promise<void> {
  await tx.query.updateTable('task').set(changes).where('id', '=', id).execute()
}

export async function findTask(query: Query, id: string): Promise<TaskRow | undefined> {
  return query.selectFrom('task').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The tasks of an attempt that are not done yet, locked: a hand-over under way is waited for. */
export async function lockOpenTasks(tx: Tx, buildId: string, attempt: number): Promise<TaskRow[]> {
  return tx.query
    .selectFrom('task')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('status', 'in', ['queued', 'leased'])
    .$call(tx.forUpdate)
    .execute()
}

export interface Lease {
  readonly agentId: string
  /** What the agent has in its hands. */
  readonly taskIds: readonly string[]
  readonly now: number
  readonly until: number
  /** Tasks handed out before this time that the agent does not name never reached it. */
  readonly settledBefore: number
}

/** Extends the leases of the given tasks, and ends those of tasks whose hand-over was lost; answers the ids the agent still holds. */
export async function extendLeases(tx: Tx, { agentId, taskIds, now, until, settledBefore }: Lease): Promise<string[]> {
  const held =
    taskIds.length === 0
      ? []
      : await tx.query
          .updateTable('task')
          .set({ leased_until: until })
          .where('id', 'in', [...taskIds])
          .where('agent_id', '=', agentId)
          .where('status', '=', 'leased')
          .returning('id')
          .execute()
  let lost = tx.query
    .updateTable('task')
    .set({ leased_until: now })
    .where('agent_id', '=', agentId)
    .where('status', '=', 'leased')
    .where('leased_until', '>', now)
    .where('claimed_at', '<', settledBefore)
  if (taskIds.length > 0) lost = lost.where('id', 'not in', [...taskIds])
  const { numUpdatedRows } = await lost.executeTakeFirstOrThrow()
  if (numUpdatedRows > 0n) tx.wake(taskTopic(agentId))
  return held.map(({ id }) => id)
}

/** When the next task of an agent becomes available: the soonest lapse or delay. */
export async function nextTaskAt(query: Query, agentId: string): Promise<number | undefined> {
  const row = await query
    .selectFrom('task')
    .select((expression) => [expression.fn.min(expression.fn.coalesce('leased_until', 'available_at')).as('at')])
    .where('agent_id', '=', agentId)
    .where('status', 'in', ['queued', 'leased'])
    .executeTakeFirst()
  return row?.at ?? undefined
}

/** The task that starts an attempt. */
export async function findStartTask(query: Query, buildId: string, attempt: number): Promise<TaskRow | undefined> {
  return query
    .selectFrom('task')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('kind', '=', 'start-attempt')
    .executeTakeFirst()
}

export async function countQueuedTasks(query: Query): Promise<number> {
  const { count } = await query
    .selectFrom('task')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('status', '=', 'queued')
    .executeTakeFirstOrThrow()
  return count
}
