/** Tasks of agents. */
import { newId } from '@windlass/kit'
import { sql, type ExpressionBuilder } from 'kysely'
import type { Schema, TaskRow } from '../schema/schema.ts'
import { prepared, preparedOne, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** Statuses of open tasks. Literals, because SQLite does not use a partial index with parameters. */
const OPEN = sql<TaskRow['status']>`('queued', 'leased')`

/** What a task is about. Agents see a warm pair as an attempt with the id of the pair. */
export interface TaskSubject {
  readonly kind: 'attempt' | 'warm-pair'
  /** Id of the build of an attempt, or of the pair. */
  readonly id: string
  /** Number of the attempt; 1 for a pair. */
  readonly attempt: number
}

export interface TaskRecord extends Omit<TaskRow, 'subject_kind' | 'build_id' | 'attempt'> {
  readonly subject: TaskSubject
}

interface NewTask extends Pick<TaskRow, 'account_id' | 'agent_id' | 'kind' | 'runtime'> {
  readonly subject: TaskSubject
  /** Stored as JSON. */
  readonly payload: unknown
  readonly now: number
  /** Default: `queued`. */
  readonly status?: TaskRow['status']
}

/** Creates a task that is available at once. */
export function newTask({ now, payload, status = 'queued', ...of }: NewTask): TaskRecord {
  return {
    ...of,
    id: newId(now),
    status,
    revision: 0,
    failures: 0,
    available_at: now,
    leased_until: null,
    payload: JSON.stringify(payload),
    created_at: now,
    claimed_at: null,
    done_at: null,
  }
}

function toRow({ subject, ...task }: TaskRecord): TaskRow {
  return { ...task, subject_kind: subject.kind, build_id: subject.id, attempt: subject.attempt }
}

type ReadRow = Omit<TaskRow, 'subject_kind'> & { readonly subject_kind: TaskSubject['kind'] }

function toRecord({ subject_kind: kind, build_id: id, attempt, ...task }: ReadRow): TaskRecord {
  return { ...task, subject: { kind, id, attempt } }
}

/** The kind of the subject. Tasks of older servers do not say it. */
function subjectKind(of: ExpressionBuilder<Schema, 'task'>) {
  const pair = of.selectFrom('warm_pair').select('warm_pair.id').whereRef('warm_pair.id', '=', 'task.build_id')
  const found = of.case().when(of.exists(pair)).then(sql.lit('warm-pair')).else(sql.lit('attempt')).end()
  return of.fn.coalesce('task.subject_kind', found).$castTo<TaskSubject['kind']>().as('subject_kind')
}

/** Selects all columns of tasks in the form of `toRecord`. */
function selectTasks(query: Query) {
  return query
    .selectFrom('task')
    .select(['id', 'account_id', 'agent_id', 'build_id', 'attempt', 'kind', 'status', 'revision', 'failures', 'available_at'])
    .select(['leased_until', 'runtime', 'payload', 'created_at', 'claimed_at', 'done_at'])
    .select(subjectKind)
}

const insert = preparedWrite((tx, task: TaskRow) => tx.query.insertInto('task').values(task))

export async function insertTask(tx: Tx, task: TaskRecord): Promise<void> {
  await insert(tx, toRow(task))
  tx.wake(taskTopic(task.agent_id))
}

/** Returns the topic that an agent watches while it waits for tasks. */
export function taskTopic(agentId: string): string {
  return `tasks:${agentId}`
}

export interface Claim {
  readonly agentId: string
  readonly room: number
  readonly now: number
  readonly leaseMs: number
}

const selectFree = prepared((tx: Tx, agentId: string, now: number, room: number) =>
  selectTasks(tx.query)
    .where('agent_id', '=', agentId)
    .where('status', 'in', OPEN)
    .where('available_at', '<=', now)
    .where((expression) =>
      expression.or([
        expression('status', '=', 'queued'),
        expression.and([expression('status', '=', 'leased'), expression('leased_until', '<=', now)]),
      ]),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(room)
    .$call(tx.skipLocked),
)

/** Leases the oldest tasks that are queued or whose lease has expired, and increments their revision. No two callers get the same task. */
export async function claimTasks(tx: Tx, claim: Claim): Promise<TaskRecord[]> {
  const free = await selectFree(tx, claim.agentId, claim.now, claim.room)
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
  return free.map((task) => ({ ...toRecord(task), ...leased, revision: task.revision + 1 }))
}

const lock = preparedOne((tx: Tx, id: string) => selectTasks(tx.query).where('id', '=', id).$call(tx.forUpdate))

export async function lockTask(tx: Tx, id: string): Promise<TaskRecord | undefined> {
  const row = await lock(tx, id)
  return row && toRecord(row)
}

const update = preparedWrite((tx, changes: Partial<TaskRow>, id: string) =>
  tx.query.updateTable('task').set(changes).where('id', '=', id),
)

export async function updateTask(tx: Tx, id: string, changes: Partial<TaskRow>): Promise<void> {
  await update(tx, changes, id)
}

const find = preparedOne((query: Query, id: string) => selectTasks(query).where('id', '=', id))

export async function findTask(query: Query, id: string): Promise<TaskRecord | undefined> {
  const row = await find(query, id)
  return row && toRecord(row)
}

type Key = Pick<TaskSubject, 'id' | 'attempt'>

const lockOpen = prepared((tx: Tx, id: string, attempt: number) =>
  selectTasks(tx.query)
    .where('build_id', '=', id)
    .where('attempt', '=', attempt)
    .where('status', 'in', ['queued', 'leased'])
    .$call(tx.forUpdate),
)

/** Locks the open tasks of a subject; waits for a handover in progress. */
export async function lockOpenTasks(tx: Tx, { id, attempt }: Key): Promise<TaskRecord[]> {
  return (await lockOpen(tx, id, attempt)).map(toRecord)
}

export interface Lease {
  readonly agentId: string
  /** The tasks that the agent reports as its own. */
  readonly taskIds: readonly string[]
  readonly now: number
  readonly until: number
  /** Tasks handed out before this time that the agent does not report never reached it. */
  readonly settledBefore: number
}

/** Extends the leases of the given tasks, and ends those of tasks that never reached the agent. Returns the ids that the agent still holds. */
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

const findNext = preparedOne((query: Query, agentId: string) =>
  query
    .selectFrom('task')
    .select((expression) => [expression.fn.min(expression.fn.coalesce('leased_until', 'available_at')).as('at')])
    .where('agent_id', '=', agentId)
    .where('status', 'in', OPEN),
)

/** Returns when the next task of an agent becomes available: the next expiry or delay. */
export async function nextTaskAt(query: Query, agentId: string): Promise<number | undefined> {
  return (await findNext(query, agentId))?.at ?? undefined
}

const findStart = preparedOne((query: Query, id: string, attempt: number) =>
  selectTasks(query).where('build_id', '=', id).where('attempt', '=', attempt).where('kind', '=', 'start-attempt'),
)

/** Finds the task that starts an attempt or a pair. */
export async function findStartTask(query: Query, { id, attempt }: Key): Promise<TaskRecord | undefined> {
  const row = await findStart(query, id, attempt)
  return row && toRecord(row)
}

export async function countQueuedTasks(query: Query): Promise<number> {
  const { count } = await query
    .selectFrom('task')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('status', 'in', OPEN)
    .where('status', '=', 'queued')
    .executeTakeFirstOrThrow()
  return count
}

/** Returns since when the oldest task waits that an agent could take. */
export async function oldestQueuedTask(query: Query): Promise<number | undefined> {
  const { at } = await query
    .selectFrom('task')
    .select((of) => of.fn.min('available_at').as('at'))
    .where('status', 'in', OPEN)
    .where('status', '=', 'queued')
    .executeTakeFirstOrThrow()
  return at === null ? undefined : Number(at)
}

/** Counts the tasks that an agent has taken and not reported yet. */
export async function countHeldTasks(query: Query, agentId: string): Promise<number> {
  const { count } = await query
    .selectFrom('task')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('agent_id', '=', agentId)
    .where('status', 'in', OPEN)
    .where('status', '=', 'leased')
    .executeTakeFirstOrThrow()
  return Number(count)
}
