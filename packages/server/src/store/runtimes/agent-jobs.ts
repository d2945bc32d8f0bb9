/** Jobs of agents that belong to no build. */
import { newId } from '@windlass/kit'
import { sql } from 'kysely'
import { prepared, preparedOne } from '../database/prepared.ts'
import type { AgentJobRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'
import { taskTopic } from './tasks.ts'

const OPEN = sql<AgentJobRow['status']>`('queued', 'leased')`
/** How long an agent may take for a job. Milliseconds. */
const LEASE_MS = 120_000
/** Jobs that one call hands out. */
const LIMIT = 20

type NewJob = Pick<AgentJobRow, 'account_id' | 'agent_id' | 'kind' | 'subject' | 'requested_by'> & {
  /** Stored as JSON. */
  readonly payload: unknown
  readonly now: number
  readonly expiresAt?: number | undefined
}

/** Creates a job, or returns the open one of the same kind and subject. */
export async function ensureJob(tx: Tx, { now, payload, expiresAt, ...of }: NewJob): Promise<AgentJobRow> {
  const open = await tx.query
    .selectFrom('agent_job')
    .selectAll()
    .where('agent_id', '=', of.agent_id)
    .where('kind', '=', of.kind)
    .where('subject', '=', of.subject)
    .where('status', 'in', OPEN)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .$call(tx.forUpdate)
    .executeTakeFirst()
  if (open !== undefined) return open
  const job: AgentJobRow = {
    ...of,
    id: newId(now),
    status: 'queued',
    revision: 0,
    failures: 0,
    available_at: now,
    leased_until: null,
    expires_at: expiresAt ?? null,
    payload: JSON.stringify(payload),
    message: null,
    created_at: now,
    done_at: null,
  }
  await tx.query.insertInto('agent_job').values(job).execute()
  tx.wake(taskTopic(of.agent_id))
  return job
}

const selectFree = prepared((tx: Tx, agentId: string, now: number) =>
  tx.query
    .selectFrom('agent_job')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('status', 'in', OPEN)
    .where('available_at', '<=', now)
    .where((where) => where.or([where('leased_until', 'is', null), where('leased_until', '<=', now)]))
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .orderBy('id')
    .limit(LIMIT)
    .$call(tx.skipLocked),
)

/** Leases the oldest jobs that are queued or whose lease has expired. No two callers get the same job. */
export async function claimJobs(tx: Tx, agentId: string, now: number): Promise<AgentJobRow[]> {
  const free = await selectFree(tx, agentId, now)
  const leased = { status: 'leased', leased_until: now + LEASE_MS } as const
  for (const { id, revision } of free) await updateJob(tx, id, { ...leased, revision: revision + 1 })
  return free.map((job) => ({ ...job, ...leased, revision: job.revision + 1 }))
}

const findNext = preparedOne((query: Query, agentId: string, now: number) =>
  query
    .selectFrom('agent_job')
    .select((of) => of.fn.min(of.fn.coalesce('leased_until', 'available_at')).as('at'))
    .where('agent_id', '=', agentId)
    .where('status', 'in', OPEN)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)])),
)

/** Returns when the next job of an agent becomes available. */
export async function nextJobAt(query: Query, agentId: string, now: number): Promise<number | undefined> {
  const at = (await findNext(query, agentId, now))?.at
  return at === null || at === undefined ? undefined : Number(at)
}

export async function lockJob(tx: Tx, id: string): Promise<AgentJobRow | undefined> {
  return tx.query.selectFrom('agent_job').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function findJob(query: Query, id: string): Promise<AgentJobRow | undefined> {
  return query.selectFrom('agent_job').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the newest job of a kind and subject. */
export async function findLatestJob(
  query: Query,
  { agentId, kind, subject }: { readonly agentId: string; readonly kind: AgentJobRow['kind']; readonly subject: string },
): Promise<AgentJobRow | undefined> {
  return (
    query
      .selectFrom('agent_job')
      .selectAll()
      .where('agent_id', '=', agentId)
      .where('kind', '=', kind)
      .where('subject', '=', subject)
      // The ids of one second have no order.
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
  )
}

export async function updateJob(tx: Tx, id: string, changes: Partial<AgentJobRow>): Promise<void> {
  await tx.query.updateTable('agent_job').set(changes).where('id', '=', id).execute()
}

/** Returns the topic that is woken when a job ends. */
export function jobTopic(id: string): string {
  return `job:${id}`
}

/** Deletes jobs that ended or expired before a time. */
export async function deleteOldJobs(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('agent_job')
    .where((where) => where.or([where('done_at', '<', before), where('expires_at', '<', before)]))
    .execute()
}
